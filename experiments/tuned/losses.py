"""How far searches lowered their own loss: python losses.py STUDY/records.jsonl ...

For every study and method, the geometric mean of the best trial's loss over the first one's, on rows that no fit of the search saw, and
how many searches found something better than the first trial.
"""

import json
import math
import sys
from collections import defaultdict

print("| study | method | best over first | better | searches |\n|---|---|---|---|---|")
for path in sys.argv[1:]:
    ratios: dict[str, dict[tuple, float]] = defaultdict(dict)
    for record in map(json.loads, open(path)):
        found, cell = record.get("found"), record["cell"]
        if found and found.get("default_value"):
            method = cell["method"].get("label") or cell["method"]["estimator"]
            # Cells that share a search tell it once.
            search = (cell["data"]["name"], found["realisation"], cell["seed"])
            ratios[method][search] = found["value"] / found["default_value"]
    for method, found in ratios.items():
        values = list(found.values())
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"| {path.split('/')[-2]} | {method} | {mean:.3f} | {sum(v < 1 for v in values)} | {len(values)} |")
