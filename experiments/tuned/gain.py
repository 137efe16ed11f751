"""What a search changed: python gain.py UNTUNED/records.jsonl TUNED/records.jsonl

For every data set and method that was searched, the geometric mean of the tuned error over the untuned one within realisations, with a
95 % bootstrap interval over realisations.
"""

import json
import math
import random
import sys
from collections import defaultdict


def errors(path: str, searched: bool) -> dict[tuple[str, str, int], float]:
    found = {}
    for line in open(path):
        record = json.loads(line)
        if ("found" in record) == searched and "pehe" in record["scores"]:
            cell = record["cell"]
            method = cell["method"].get("label") or cell["method"]["estimator"]
            found[cell["data"]["name"], method, cell["realisation"]] = record["scores"]["pehe"]
    return found


before, after = errors(sys.argv[1], False), errors(sys.argv[2], True)
logs: dict[tuple[str, str], list[float]] = defaultdict(list)
for (data, method, realisation), error in sorted(after.items()):
    if (data, method, realisation) in before:
        ratio = math.log(error / before[data, method, realisation])
        logs[data, method].append(ratio)
        logs["all", method].append(ratio)
random.seed(1)
print("| data | method | tuned over untuned | 95 % interval | sets |\n|---|---|---|---|---|")
for (data, method), values in logs.items():
    means = sorted(sum(random.choice(values) for _ in values) / len(values) for _ in range(2000))
    mean, low, high = (math.exp(v) for v in (sum(values) / len(values), means[50], means[1949]))
    print(f"| {data} | {method} | {mean:.3f} | {low:.3f} to {high:.3f} | {len(values)} |")
