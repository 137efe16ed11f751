"""Meta-learners over several base learners, on simulated data: losses that need no truth, and the error, on fresh rows.

`python experiments/boosting/bases.py path/to/paretau [--rows 1500] [--seed 1]` prints a table. The doubly robust and the R-loss
are what a choice may go by; `pehe_rel` (root-PEHE over the effect's standard deviation) is for scoring only.
"""

import argparse
import json
import resource
import subprocess
import tempfile
from pathlib import Path

PROCESSES = {"grf aw2": ["grf", "--set", "design=aw2"], "causalml": ["causalml"], "overlap": ["overlap"]}
LEARNERS = ["t-learner", "x-learner"]
BASES = ["forest", "boosting", "stack"]


def run(command, paretau):
    """The JSON that a command prints, and the CPU seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([paretau, "--json", *command, "--quiet", "--threads", "1"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def metric(node, name):
    """The first number of that name in a document."""
    if isinstance(node, dict):
        if isinstance(node.get(name), (int, float)):
            return node[name]
        if node.get("name") == name and isinstance(node.get("value"), (int, float)):
            return node["value"]
        node = list(node.values())
    if isinstance(node, list):
        found = (metric(part, name) for part in node)
        return next((value for value in found if value is not None), None)
    return None


def main():
    """Fits, scores and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paretau")
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| process | learner | base | dr_score | r_score | pehe_rel | CPU seconds of the fit |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (str(Path(folder) / name) for name in ("train.csv", "test.csv", "model.paretau"))
        for process, words in PROCESSES.items():
            for file, seed in ((train, options.seed), (test, options.seed + 1)):
                run(["simulate", *words, "--n", str(options.rows), "--seed", str(seed), "--out", file, "--force"], options.paretau)
            for learner in LEARNERS:
                for base in BASES:
                    roles = ["--treatment", "t", "--outcome", "y", "--truth", "mu0,mu1", "--ignore", "e"]
                    fit = ["fit", train, *roles, "--estimator", learner, "--set", f"base={base}", "--out", model, "--force"]
                    _, seconds = run(fit, options.paretau)
                    scores, _ = run(["evaluate", model, test, "--truth", "mu0,mu1"], options.paretau)
                    figures = [f"{metric(scores, name):.4g}" for name in ("dr_score", "r_score", "pehe_rel")]
                    print("|", " | ".join([process, learner, base, *figures, f"{seconds:.2f}"]), "|", flush=True)


if __name__ == "__main__":
    main()
