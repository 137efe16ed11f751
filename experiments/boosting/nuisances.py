"""Two builds of paretau side by side: how well the average effect is estimated, how often its interval holds it, CPU seconds.

`python experiments/boosting/nuisances.py old/paretau new/paretau [--rows 1000] [--draws 60]` prints a line per process and build.
Both fit the same draws with `lr-1`; the average is the doubly robust one, which stands on the stacked nuisances alone.
"""

import argparse
import csv
import json
import math
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

PROCESSES = {"causalml": ["causalml"], "overlap": ["overlap"], "grf nw3": ["grf", "--set", "design=nw3"]}


def estimate(paretau, file, model):
    """The average effect with its interval, and the CPU seconds of the fit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    roles = ["--treatment", "t", "--outcome", "y", "--truth", "mu0,mu1", "--ignore", "e"]
    command = [paretau, "--json", "fit", file, *roles, "--estimator", "lr-1", "--out", model, "--force", "--quiet", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return json.loads(done.stdout)["averages"]["ate"], seconds


def main():
    """Draws, fits and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs=2)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=60)
    options = parser.parse_args()
    print("| process | build | interval holds the truth | root mean squared error | bias | mean standard error | CPU seconds |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file, model = (str(Path(folder) / name) for name in ("draw.csv", "model.paretau"))
        for process, words in PROCESSES.items():
            records = {build: [] for build in options.builds}
            for draw in range(options.draws):
                command = ["simulate", *words, "--n", str(options.rows), "--seed", str(100 + draw), "--out", file, "--force", "--quiet"]
                subprocess.run([options.builds[1], *command], check=True, stdout=subprocess.DEVNULL)
                with open(file, newline="") as opened:
                    truth = statistics.mean(float(row["mu1"]) - float(row["mu0"]) for row in csv.DictReader(opened))
                for build in options.builds:
                    ate, seconds = estimate(build, file, model)
                    holds = ate["lo"] <= truth <= ate["hi"]
                    records[build].append((holds, ate["value"] - truth, ate["se"], seconds))
            for name, build in zip(("old", "new"), options.builds):
                holds, errors, ses, seconds = zip(*records[build])
                error = math.sqrt(statistics.mean(e * e for e in errors))
                figures = [statistics.mean(holds), error, statistics.mean(errors), statistics.mean(ses), statistics.mean(seconds)]
                print("|", " | ".join([process, name, *(f"{v:.4g}" for v in figures)]), "|", flush=True)


if __name__ == "__main__":
    main()
