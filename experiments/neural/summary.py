"""Makes the tables of `study.md`: python summary.py records.jsonl

Per kind of set: the geometric mean of `pehe_rel` over realisations. A realisation counts only if every method has it, so that
all columns are over the same fits; realisations that are not counted are listed.
"""

import json
import math
import sys
from collections import defaultdict

METHODS = ["unweighted", "dpsw-norm", "drcfr-norm", "drcfr"]

found: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
root: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
for line in open(sys.argv[1]):
    record = json.loads(line)
    cell = record["cell"]
    method = cell["method"].get("label") or cell["method"]["estimator"]
    key = (cell["data"]["name"], cell["realisation"])
    if "scores" in record and record["scores"].get("pehe_rel") is not None:
        found[key][method] = record["scores"]["pehe_rel"]
        root[key][method] = record["scores"]["pehe"]
whole = {key: fits for key, fits in found.items() if all(m in fits for m in METHODS)}


def geometric(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def row(label: str, keys: list[tuple[str, int]]) -> None:
    if keys:
        cells = [f"{geometric([whole[key][m] for key in keys]):.3f}" for m in METHODS]
        print(f"| {label} | {len(keys)} | {' | '.join(cells)} |")


print(f"| data | sets | {' | '.join(METHODS)} |\n|---|---|{'---|' * len(METHODS)}")
kinds = sorted({name for name, _ in whole}, key=lambda k: (k.startswith("overlap"), k))
for kind in kinds:
    row(kind, [key for key in whole if key[0] == kind])
row("all without overlap sets", [key for key in whole if not key[0].startswith("overlap")])
row("overlap sets", [key for key in whole if key[0].startswith("overlap")])
ihdp = [key for key in whole if key[0] == "IHDP"]
if ihdp:
    means = (f"{m} {sum(root[key][m] for key in ihdp) / len(ihdp):.3f}" for m in METHODS)
    print(f"\nIHDP, mean root-PEHE over {len(ihdp)} sets: {', '.join(means)}.")
missing = sorted(f"{name} {i}" for (name, i) in found if (name, i) not in whole)
if missing:
    print(f"\nNot counted, because a method is missing: {', '.join(missing)}.")
print(f"\n| set | {' | '.join(METHODS)} |\n|---|{'---|' * len(METHODS)}")
for name, i in sorted(whole):
    print(f"| {name} {i} | {' | '.join(f'{whole[name, i][m]:.3f}' for m in METHODS)} |")
