"""What changed between two runs of a study: python gain.py BEFORE AFTER

Each is a `records.jsonl`, or `before.csv:STUDY` for one of the earlier runs of which only the errors are kept. For every data
set and method, the geometric mean of the later error over the earlier one within realisations and seeds, with a 95 % bootstrap
interval over them. Of a tuned study only the methods that were searched are listed.
"""

import csv
import json
import math
import random
import sys
from collections import defaultdict


def errors(path: str) -> dict[tuple, float]:
    path, _, study = path.partition(":")
    if study:
        rows = [row for row in csv.DictReader(open(path, newline="")) if row["study"] == study]
        if not rows:
            sys.exit(f"{path} has no study `{study}`")
        return {(r["data"], r["method"], int(r["realisation"]), int(r["seed"])): float(r["pehe"]) for r in rows}
    records = [json.loads(line) for line in open(path)]
    if any("found" in record for record in records):
        records = [record for record in records if "found" in record]
    found = {}
    for record in records:
        if "pehe" in record["scores"]:
            cell = record["cell"]
            method = cell["method"].get("label") or cell["method"]["estimator"]
            found[cell["data"]["name"], method, cell["realisation"], cell["seed"]] = record["scores"]["pehe"]
    return found


before, after = errors(sys.argv[1]), errors(sys.argv[2])
logs: dict[tuple[str, str], list[float]] = defaultdict(list)
for key, error in sorted(after.items()):
    if key in before:
        ratio = math.log(error / before[key])
        logs[key[0], key[1]].append(ratio)
        logs["all", key[1]].append(ratio)
random.seed(1)
print("| data | method | later over earlier | 95 % interval | cells |\n|---|---|---|---|---|")
for (data, method), values in logs.items():
    means = sorted(sum(random.choice(values) for _ in values) / len(values) for _ in range(2000))
    mean, low, high = (math.exp(v) for v in (sum(values) / len(values), means[50], means[1949]))
    print(f"| {data} | {method} | {mean:.3f} | {low:.3f} to {high:.3f} | {len(values)} |")
