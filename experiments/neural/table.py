"""Makes the tables of `study.md` from `records.csv`: python table.py records.csv

Per kind of set: the geometric mean of `pehe_rel` over sets and seeds, and how far one seed's mean lies from the other's. A fit
counts only if every method has its set and seed, so that all columns are over the same fits.
"""

import csv
import math
import sys
from collections import defaultdict

METHODS = ["unweighted", "dpsw-norm", "drcfr-norm", "drcfr", "psw", "tarnet"]
GOOD = ["ihdp", "acic", "lbidd", "news", "synthetic"]


def kind(name: str) -> str:
    head = name.split(":")[0]
    return head.split("-")[0] if head.startswith("synthetic") else "-".join(head.split("-")[:2])


def geometric(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


records = list(csv.DictReader(open(sys.argv[1])))
found: dict[tuple[str, str], dict[str, dict[str, str]]] = defaultdict(dict)
for r in records:
    found[r["set"], r["seed"]][r["method"]] = r
methods = [m for m in METHODS if any(m in fits for fits in found.values())]
whole = {key: fits for key, fits in found.items() if all(m in fits for m in methods)}
kinds = sorted({kind(name) for name, _ in whole}, key=lambda k: (k.startswith("overlap"), k))


def row(label: str, wanted: list[str]) -> None:
    cells, keys = [], [key for key in whole if kind(key[0]) in wanted]
    if not keys:
        return
    for m in methods:
        value = lambda keys: geometric([float(whole[key][m]["pehe_rel"]) for key in keys])
        by_seed = [value([k for k in keys if k[1] == s]) for s in sorted({k[1] for k in keys})]
        spread = f" ({min(by_seed):.3f} to {max(by_seed):.3f})" if len(by_seed) > 1 else ""
        cells.append(f"{value(keys):.3f}{spread}")
    print(f"| {label} | {len(keys)} | {' | '.join(cells)} |")


print(f"| kind | fits | {' | '.join(methods)} |\n|---|---|{'---|' * len(methods)}")
for k in kinds:
    row(k, [k])
row("all without overlap sets", [k for k in kinds if k in GOOD])
row("overlap sets", [k for k in kinds if k.startswith("overlap")])

print("\n| kind | share of the weighted nets | largest share of tail fits left as they were |\n|---|---|---|")
for k in kinds:
    fits = [f["dpsw-norm"] for key, f in whole.items() if kind(key[0]) == k]
    shares = sorted(float(f["gamma"]) for f in fits)
    left = [float(f["tail_fits_left_share"] or 0) for f in fits]
    print(f"| {k} | {shares[0]:.2f} to {shares[-1]:.2f} | {100 * max(left):.1f} % |")

print(f"\n| set | seed | {' | '.join(methods)} |\n|---|---|{'---|' * len(methods)}")
for (name, seed), fits in sorted(found.items(), key=lambda item: (kind(item[0][0]), item[0])):
    cells = [f"{float(fits[m]['pehe_rel']):.3f}" if m in fits else "–" for m in methods]
    print(f"| {name} | {seed} | {' | '.join(cells)} |")
