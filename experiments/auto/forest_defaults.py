"""Columns tried and leaf size of `base=forest` inside meta-learners, on development draws.

`python experiments/auto/forest_defaults.py path/to/paretau [--rows 2000] [--draws 3] [--stage effect]` prints a table: for each
process and learner, ratios of the held-out doubly robust and R-loss and of `pehe_rel` to those of the first setting, geometric
means over draws. `--stage effect` changes the forests of the effect alone. Losses are what a default may be chosen by; `pehe_rel` is for scoring. Seeds are 501 and after, used by no other study.
"""

import argparse
import csv
import json
import math
import subprocess
import tempfile
from pathlib import Path

PROCESSES = {
    "grf aw2": ["grf", "--set", "design=aw2", "--d", "20"],
    "grf ai2": ["grf", "--set", "design=ai2", "--d", "20"],
    "causalml 2": ["causalml", "--set", "mode=2", "--d", "20"],
    "acic": ["acic"],
    "overlap": ["overlap", "--d", "20"],
}
ROLES = ["--treatment", "t", "--outcome", "y", "--truth", "mu0,mu1", "--ignore", "e"]


def settings(columns, stage):
    """Name to words of the settings compared, the first of them being what the others are measured by."""
    every, third = columns, -(-columns // 3)
    if stage == "effect":
        # Honest trees, as DR- and R-learners have them; outcomes and propensities keep their defaults.
        words = lambda tried, leaf, honest: [  # noqa: E731
            "effect_base=forest",
            f"effect_base.max_features={tried}",
            f"effect_base.min_node_size={leaf}",
            f"effect_base.honest={honest}",
        ]
        kinds = {"honest ": "true", "": "false"}
        return {f"{kind}{name}, 20": words(tried, 20, flag) for kind, flag in kinds.items() for name, tried in (("a third", third), ("all", every))}
    return {
        f"{name}, {leaf}": [f"base.max_features={tried}", f"base.min_node_size={leaf}"]
        for leaf in (5, 20)
        for name, tried in (("a third", third), ("all", every))
    }


def run(program, words):
    """JSON of a command."""
    done = subprocess.run([program, "--json", *words, "--quiet", "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}


def metric(node, name):
    """The first number of that name in a document."""
    if isinstance(node, dict):
        if isinstance(node.get(name), (int, float)):
            return node[name]
        if node.get("name") == name and isinstance(node.get("value"), (int, float)):
            return node["value"]
        node = list(node.values())
    found = (metric(part, name) for part in node) if isinstance(node, list) else ()
    return next((value for value in found if value is not None), None)


def main():
    """Fits, scores and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--stage", choices=["both", "effect"], default="both")
    parser.add_argument("--learners", nargs="+", default=["t-learner", "x-learner", "dr-learner"])
    options = parser.parse_args()
    names = list(settings(3, options.stage))
    print("| process | learner | figure |", " | ".join(names), "|\n|---|---|---|" + "---|" * len(names))
    totals = {}
    for process, words in PROCESSES.items():
        sums = {}
        with tempfile.TemporaryDirectory() as folder:
            train, test, model = (str(Path(folder) / name) for name in ("train.csv", "test.csv", "model.paretau"))
            for draw in range(options.draws):
                for file, seed in ((train, 501 + 2 * draw), (test, 501 + 2 * draw)):
                    rows = options.rows * (3 if file == test else 1)
                    # One seed, so that both have the process's coefficients; the first rows of the larger draw are left out.
                    run(options.program, ["simulate", *words, "--n", str(rows), "--seed", str(seed), "--out", file, "--force"])
                with open(test, newline="") as opened:
                    lines = opened.read().splitlines()
                Path(test).write_text("\n".join([lines[0], *lines[1 + options.rows :]]) + "\n")
                columns = sum(name.startswith("x") for name in next(csv.reader([lines[0]])))
                for learner in options.learners:
                    for name, sets in settings(columns, options.stage).items():
                        flags = [word for value in sets for word in ("--set", value)]
                        run(options.program, ["fit", train, *ROLES, "--estimator", learner, *flags, "--out", model, "--force"])
                        scores = run(options.program, ["evaluate", model, test, "--truth", "mu0,mu1", "--in-sample"])
                        for figure in ("dr_score", "r_score", "pehe_rel"):
                            sums.setdefault((learner, figure), {}).setdefault(name, []).append(metric(scores, figure))
        for (learner, figure), found in sums.items():
            ratios = {}
            for name in names:
                pairs = zip(found[name], found[names[0]])
                ratios[name] = sum(math.log(a / b) for a, b in pairs) / options.draws
                totals.setdefault((learner, figure), {}).setdefault(name, []).append(ratios[name])
            print("|", " | ".join([process, learner, figure, *(f"{math.exp(ratios[name]):.3f}" for name in names)]), "|", flush=True)
    for (learner, figure), found in totals.items():
        means = [math.exp(sum(found[name]) / len(found[name])) for name in names]
        print("|", " | ".join(["**all**", learner, figure, *(f"{v:.3f}" for v in means)]), "|")


if __name__ == "__main__":
    main()
