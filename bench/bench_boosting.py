"""Boosting beside LightGBM and scikit-learn's forest: error on rows kept aside, time to fit, size of the model.

Tasks are regressions and classifications made from simulators, the same rows for everyone. Two comparisons:

- `same`: one model of 200 rounds, 31 leaves, learning rate 0.1 and leaves of 20 rows at least, so that the engines are compared;
- `stopped`: each as it would be used: ours with its defaults, LightGBM with five folds, rounds by early stopping over the folds
  together and the mean of the five models, the better of 4 and 16 leaves by the held-out loss (`lightgbm.cv`).

`python bench/bench_boosting.py [--threads 2] [--rows 1000 20000] [--repeats 3]` prints a table and one JSON line per task.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def smooth(x):
    """A smooth sum with one interaction (Friedman's)."""
    return 10 * np.sin(math.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def steps(x):
    """Steps and interactions of several columns."""
    deep = (x[:, 0] > 0.5) * (x[:, 1] > 0.3) * (x[:, 2] < 0.7)
    return 4 * deep + 2 * np.floor(4 * x[:, 3]) * (x[:, 4] > 0.5) - 3 * (x[:, 5] > 0.8)


def linear(x):
    """A line in ten columns."""
    return x[:, :10] @ np.linspace(3, 0.3, 10)


TASKS = {
    "smooth": (smooth, "mean", 0.5),
    "steps": (steps, "mean", 0.7),
    "linear": (linear, "mean", 1.0),
    "noisy": (smooth, "mean", 3.0),
    "smooth 0/1": (smooth, "probability", 1.0),
    "steps 0/1": (steps, "probability", 1.0),
    "noisy 0/1": (smooth, "probability", 3.0),
}


def draw(name, n, columns, seed):
    """Rows of a task: features, outcome."""
    surface, target, noise = TASKS[name]
    rng = np.random.default_rng(seed)
    x = rng.random((n, columns))
    # Some columns of few values, as tables have.
    x[:, columns // 2 :: 3] = np.floor(4 * x[:, columns // 2 :: 3]) / 4
    clean = surface(x)
    spread = surface(np.random.default_rng(0).random((20000, columns)))
    level, sd = spread.mean(), spread.std()
    if target == "mean":
        return x, clean + noise * sd * rng.standard_normal(n)
    chance = 1 / (1 + np.exp(-3 * (clean - level) / sd / noise))
    return x, (rng.random(n) < chance).astype(float)


def error(target, predicted, y):
    """Mean squared error or log-loss."""
    if target == "mean":
        return float(np.mean((predicted - y) ** 2))
    p = np.clip(predicted, 1e-12, 1 - 1e-12)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))


def ours(binary, train, test, columns, target, threads, words):
    """Our figures, from the example `boost_file`."""
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    command = [binary, train, test, str(columns), target, *words]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.replace("NaN", "null"))


def lightgbm_same(rows, test, target, threads):
    """One model of LightGBM with the shared settings."""
    import lightgbm as lgb

    params = settings(target, threads) | {"num_leaves": 31}
    start, cpu = time.perf_counter(), time.process_time()
    model = lgb.train(params, lgb.Dataset(rows[0], rows[1]), 200)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    size = len(model.model_to_string())
    return {"fit": seconds, "cpu": cpu, "error": error(target, model.predict(test[0]), test[1]), "bytes": size}


def lightgbm_stopped(rows, test, target, threads):
    """Five folds of LightGBM, rounds and leaves by the held-out loss."""
    import lightgbm as lgb

    start, cpu = time.perf_counter(), time.process_time()
    best = None
    for leaves in (4, 16):
        params = settings(target, threads) | {"num_leaves": leaves}
        stop = lgb.early_stopping(30, verbose=False)
        data = lgb.Dataset(rows[0], rows[1], free_raw_data=False)
        result = lgb.cv(params, data, 1000, nfold=5, stratified=target == "probability", seed=1, callbacks=[stop], return_cvbooster=True)
        loss = next(v for k, v in result.items() if k.endswith("-mean"))
        if best is None or loss[-1] < best[0]:
            best = (loss[-1], result["cvbooster"], len(loss))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    models = best[1].boosters
    predicted = np.mean([m.predict(test[0], num_iteration=best[2]) for m in models], axis=0)
    size = sum(len(m.model_to_string(num_iteration=best[2])) for m in models)
    return {"fit": seconds, "cpu": cpu, "error": error(target, predicted, test[1]), "bytes": size, "rounds": best[2]}


def settings(target, threads):
    """The settings of LightGBM in either comparison."""
    objective = "regression" if target == "mean" else "binary"
    return {"objective": objective, "learning_rate": 0.1, "min_data_in_leaf": 20, "num_threads": threads, "verbose": -1, "deterministic": True}


def forest(rows, test, target, threads):
    """scikit-learn's forest with its defaults but 200 trees."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestRegressor if target == "mean" else RandomForestClassifier
    start = time.perf_counter()
    model = kind(n_estimators=200, n_jobs=threads, random_state=0, min_samples_leaf=1 if target == "mean" else 5).fit(*rows)
    seconds = time.perf_counter() - start
    predicted = model.predict(test[0]) if target == "mean" else model.predict_proba(test[0])[:, 1]
    return {"fit": seconds, "error": error(target, predicted, test[1])}


def main():
    """Runs the tasks and prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 20000])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--profile", default="release", help="profile that the example is built with: dev or release")
    parser.add_argument("--set", nargs="*", default=[], help="parameters of ours, KEY=VALUE")
    parser.add_argument("--skip-peers", action="store_true")
    options = parser.parse_args()
    build = ["cargo", "build", "-q", "--workspace", "--example", "boost_file", "--profile", options.profile]
    subprocess.run(build, cwd=ROOT, check=True)
    folder = "debug" if options.profile == "dev" else "release"
    target_folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = str(target_folder / folder / "examples" / "boost_file")
    print("| task | rows | comparison | our error | LightGBM's | our seconds | LightGBM's | our CPU seconds | LightGBM's | our kB | LightGBM's | our forest | scikit-learn's |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for n in options.rows:
        for name in options.tasks:
            target = TASKS[name][1]
            gathered = {}
            for repeat in range(options.repeats):
                rows, test = draw(name, n, options.columns, 10 + repeat), draw(name, 20000, options.columns, 1000 + repeat)
                with tempfile.TemporaryDirectory() as temporary:
                    files = []
                    for part, (x, y) in (("train", rows), ("test", test)):
                        files.append(os.path.join(temporary, part))
                        np.column_stack([x, y]).astype("<f8").tofile(files[-1])
                    run = lambda words: ours(binary, *files, options.columns, target, options.threads, words)
                    same = ["folds=1", "max_leaves=31", "n_estimators=200", "min_leaf_size=20", "l2=0"]
                    results = {"same": [run(same)], "stopped": [run(options.set)], "forest": [run(["forest"])]}
                if not options.skip_peers:
                    results["same"].append(lightgbm_same(rows, test, target, options.threads))
                    results["stopped"].append(lightgbm_stopped(rows, test, target, options.threads))
                    results["forest"].append(forest(rows, test, target, options.threads))
                for comparison, pair in results.items():
                    gathered.setdefault(comparison, []).append(pair)
            mean = lambda comparison, k, key: float(np.mean([pair[k].get(key) or 0 for pair in gathered[comparison] if k < len(pair)] or [math.nan]))
            for comparison in ("same", "stopped"):
                cells = [f"{mean(comparison, k, key) / scale:.4g}" for key, scale in (("error", 1), ("fit", 1), ("cpu", 1), ("bytes", 1000)) for k in (0, 1)]
                forests = [f"{mean('forest', k, 'error'):.4g}" for k in (0, 1)] if comparison == "stopped" else ["", ""]
                print("|", " | ".join([name, str(n), comparison, *cells, *forests]), "|", flush=True)
            print(json.dumps({"task": name, "rows": n, "results": gathered}), file=sys.stderr)


if __name__ == "__main__":
    main()
