"""Prints the tables of `reading.md`: python table.py

Lines of the example `default_fits` in `before.jsonl` (Γ learns through the weights alone) beside those of the same fits in `cross-entropy.jsonl`
and `separation.jsonl` (the one or the other alone) and `after.jsonl` (both): what the encoders read, the loss on held-out rows, cross-entropy, root-PEHE.
"""

import json
import math
from pathlib import Path

HERE = Path(__file__).parent
KINDS = {
    "before": "weights alone",
    "cross-entropy": "cross-entropy",
    "separation": "penalty",
    "after": "penalty and cross-entropy",
}
Fit = dict[str, float]


def load(name: str) -> dict[tuple[str, int], Fit]:
    """Fits by process and draw."""
    lines = (HERE / f"{name}.jsonl").read_text().replace("NaN", "null").splitlines()
    return {(fit["family"], fit["draw"]): fit for fit in map(json.loads, lines)}


def ratio(fits: dict, before: dict, keys: list, what: str) -> float:
    """Geometric mean of the ratios to the fits before."""
    return math.exp(sum(math.log(fits[k][what] / before[k][what]) for k in keys) / len(keys))


all_fits = {name: load(name) for name in KINDS}
before = all_fits["before"]
print("| features | draw | Γ learns by | Γ | Δ | Υ | held-out loss | cross-entropy | root-PEHE |")
print("|---|---|---|---|---|---|---|---|---|")
for key in sorted(k for k in before if k[0].startswith("synthetic")):
    for name, title in KINDS.items():
        if key in all_fits[name]:
            fit = all_fits[name][key]
            read = " | ".join(f"{100 * v:+.0f} %" for v in fit["encoders"])
            d = key[0].split("d=")[1].split(":")[0]
            print(f"| {d} | {key[1]} | {title} | {read} | {fit['loss']:.4f} | {fit['entropy']:.3f} | {fit['pehe_rel']:.3f} |")
print()
print("| process | fits | held-out loss | cross-entropy | root-PEHE | seconds |")
print("|---|---|---|---|---|---|")
after = all_fits["after"]
families = sorted({family for family, _ in before})
for family in [*families, "all"]:
    keys = [k for k in before if family in (k[0], "all") and k in after]
    cells = " | ".join(f"{ratio(after, before, keys, what):.3f}" for what in ("loss", "entropy", "pehe", "seconds"))
    print(f"| {family} | {len(keys)} | {cells} |")
