"""Prints the table of `reading.md`: python table.py [before.jsonl after.jsonl]

Both files are lines of the example `default_fits`. Fits that are in both are compared, family by family: geometric means of the ratios
after / before for the loss on held-out rows and for root-PEHE, of before / after for processor time.
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
Key = tuple[str, int, int, str]


def load(path: str | Path) -> dict[Key, dict[str, float]]:
    """Fits by family, rows, draw and estimator."""
    fits = {}
    for line in open(path):
        fit = json.loads(line.replace("NaN", "null"))
        fits[fit["family"], fit["rows"], fit["draw"], fit["estimator"]] = fit
    return fits


def mean(values: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


before, after = (load(p) for p in (sys.argv[1:3] or [HERE / "before.jsonl", HERE / "after.jsonl"]))
groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
for key in sorted(before.keys() & after.keys()):
    groups[key[3], key[0]].append(key)
    groups[key[3], "all"].append(key)

print("| estimator | process | fits | s before | s after | times quicker | held-out loss | root-PEHE | per fit |")
print("|---|---|---|---|---|---|---|---|---|")
for (estimator, family), keys in sorted(groups.items(), key=lambda g: (g[0][0], g[0][1] == "all", g[0][1])):
    seconds = [sum(fits[k]["seconds"] for k in keys) / len(keys) for fits in (before, after)]
    quicker = mean([before[k]["seconds"] / after[k]["seconds"] for k in keys])
    loss, pehe = ([after[k][what] / before[k][what] for k in keys] for what in ("loss", "pehe"))
    each = " ".join(f"{ratio:.2f}" for ratio in pehe) if family != "all" else ""
    print(
        f"| `{estimator}` | {family} | {len(keys)} | {seconds[0]:.1f} | {seconds[1]:.1f} | {quicker:.1f} "
        f"| {mean(loss):.3f} | {mean(pehe):.3f} | {each} |"
    )
for name, fits in (("before", before), ("after", after)):
    both = [k for k in before.keys() & after.keys() if k[3] == "dpsw-norm" and (*k[:3], "tarnet") in before.keys() & after.keys()]
    if both:
        ratio = mean([fits[k]["seconds"] / fits[*k[:3], "tarnet"]["seconds"] for k in both])
        print(f"\n`dpsw-norm` took {ratio:.2f} times `tarnet`'s processor time {name}.")
