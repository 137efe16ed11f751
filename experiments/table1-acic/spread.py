"""Rows, and the spread of outcome and effect, of LBIDD's sets with a varying effect: python spread.py DATA_FOLDER"""

import csv
import statistics
import sys
from pathlib import Path

for number, path in enumerate(sorted(Path(sys.argv[1], "lbidd", "heterogeneous").glob("*_cf.csv")), start=1):
    effects = [float(row["y1"]) - float(row["y0"]) for row in csv.DictReader(path.open())]
    observed = path.with_name(path.name.replace("_cf.csv", ".csv"))
    outcomes = [float(row["y"]) for row in csv.DictReader(observed.open()) if row["y"]]
    of_effect, of_outcome = statistics.stdev(effects), statistics.stdev(outcomes)
    print(f"set {number}: {len(outcomes)} rows, sd of the effect {of_effect:.3g}, of the outcome {of_outcome:.3g}")
