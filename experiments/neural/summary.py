"""Makes the tables of `study.md`: python summary.py records.jsonl [METHOD ...]

Per kind of set: the geometric mean of `pehe_rel` over realisations and seeds, and in brackets the smallest and largest of the
seeds' own geometric means. A realisation counts only if every method has it with every seed, so that all columns are over the
same fits; realisations that are not counted are listed.
"""

import json
import math
import sys
from collections import defaultdict

METHODS = sys.argv[2:] or ["unweighted", "dpsw-norm", "drcfr-norm", "drcfr"]

Place = tuple[str, int]
relative: dict[Place, dict[tuple[str, int], float]] = defaultdict(dict)
root: dict[Place, dict[tuple[str, int], float]] = defaultdict(dict)
for line in open(sys.argv[1]):
    record = json.loads(line)
    cell = record["cell"]
    fit = (cell["method"].get("label") or cell["method"]["estimator"], cell["seed"])
    place = (cell["data"]["name"], cell["realisation"])
    if record["scores"].get("pehe_rel") is not None:
        relative[place][fit] = record["scores"]["pehe_rel"]
        root[place][fit] = record["scores"]["pehe"]
seeds = sorted({seed for fits in relative.values() for _, seed in fits})
whole = [place for place, fits in relative.items() if all((m, s) in fits for m in METHODS for s in seeds)]


def geometric(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def spread(one: list[float]) -> str:
    """The overall value and, with several seeds, the range of theirs."""
    overall = geometric(one)
    return f"{overall:.3f}" if len(one) == 1 else f"{overall:.3f} ({min(one):.3f}–{max(one):.3f})"


def row(label: str, places: list[Place], *count: str) -> None:
    if places:
        by_seed = [[geometric([relative[p][m, s] for p in places]) for s in seeds] for m in METHODS]
        print(f"| {' | '.join([label, *count, *map(spread, by_seed)])} |")


def head(*columns: str) -> None:
    names = [*columns, *METHODS]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")


print(f"{len(whole)} sets, {len(seeds)} seeds.\n")
head("data", "sets")
kinds = sorted({name for name, _ in whole}, key=lambda kind: (kind.startswith("overlap"), kind))
for kind in kinds:
    places = [place for place in whole if place[0] == kind]
    row(kind, places, str(len(places)))
for label, poor in [("all without overlap sets", False), ("overlap sets", True)]:
    places = [place for place in whole if place[0].startswith("overlap") == poor]
    row(label, places, str(len(places)))
ihdp = [place for place in whole if place[0] == "IHDP"]
if ihdp:
    fits = {m: [root[place][m, s] for place in ihdp for s in seeds] for m in METHODS}
    means = (f"{m} {sum(values) / len(values):.3f}" for m, values in fits.items())
    print(f"\nIHDP, mean root-PEHE over {len(ihdp)} sets and {len(seeds)} seeds: {', '.join(means)}.")
missing = sorted(f"{name} {i}" for (name, i) in relative if (name, i) not in whole)
if missing:
    print(f"\nNot counted, because a method or a seed is missing: {', '.join(missing)}.")
print()
head("set")
for place in sorted(whole):
    row(f"{place[0]} {place[1]}", [place])
