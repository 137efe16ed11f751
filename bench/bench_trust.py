"""What answers stand on, beside DoubleML: doubly robust scores from stacked, cross-fitted nuisances, and exact policy trees.

The scores are those of the average effect over everyone. Ours stack ridge, lasso, forest and boosting by held-out loss, as every
command does with more than 10 000 rows; with fewer, ours have `products` on top. The peer is DoubleML's interactive regression model
with the same kinds of learners from scikit-learn, in two ways:

- `short`: each learner is cross-fitted once on DoubleML's folds and mixed by its held-out loss, as ours are; the mixtures go into
  DoubleML as external predictions. The same number of fits as ours.
- `nested`: scikit-learn's stacking inside every fold, the usual way with these packages; asked for with `--nested`.

Policy trees of depth 2 have no peer in Python that is exact; their time is printed alone.

`python bench/bench_trust.py [--rows 100000] [--columns 50] [--threads 2] [--nested] [--alone] [--binary FILE]` prints a table and
one JSON line. Ratios are of processor time, which a busy machine hardly changes; clock time stands beside it. `--alone` leaves the
peers out, `--binary` takes an example `trust_times` that is built already, such as the development profile's.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FOLDS = 5


def processor():
    """Processor time of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def draw(n, columns, seed=0):
    """Confounded rows with curved outcomes; the average effect is 1."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, columns))
    e = 1 / (1 + np.exp(-(0.7 * x[:, 0] - 0.5 * x[:, 1])))
    t = (rng.random(n) < e).astype(float)
    tau = 1 + 0.5 * np.tanh(x[:, 1])
    y = 2 * x[:, 0] + x[:, 2] ** 2 + t * tau + rng.standard_normal(n)
    return x, t, y, tau


def ours(binary, what, numbers, columns, threads):
    """Our figures, from the example `trust_times`."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "rows")
        np.ascontiguousarray(numbers).astype("<f8").tofile(file)
        environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
        before = processor()
        run = subprocess.run([binary, what, file, str(columns)], env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout) | {"processor": processor() - before}


def learners(classify, threads):
    """Ridge, lasso, forest and boosting as scikit-learn has them, with settings as near to ours as theirs allow."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    boosting = {"max_iter": 300, "max_leaf_nodes": 8, "early_stopping": True, "n_iter_no_change": 15}
    trees = {"n_estimators": 500, "min_samples_leaf": 5, "n_jobs": threads, "random_state": 0}
    if classify:
        lasso = LogisticRegressionCV(Cs=10, l1_ratios=(1,), solver="saga", cv=3, scoring="neg_log_loss", n_jobs=threads, use_legacy_attributes=False)
        return [
            make_pipeline(StandardScaler(), LogisticRegression()),
            make_pipeline(StandardScaler(), lasso),
            RandomForestClassifier(max_features="sqrt", **trees),
            HistGradientBoostingClassifier(**boosting),
        ]
    return [
        make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        make_pipeline(StandardScaler(), LassoCV(cv=3, n_jobs=threads)),
        RandomForestRegressor(max_features=1 / 3, **trees),
        HistGradientBoostingRegressor(**boosting),
    ]


def short(rows, threads):
    """DoubleML with mixtures of learners that were cross-fitted once."""
    import doubleml as dml
    from doubleml.utils import DMLDummyClassifier, DMLDummyRegressor
    from scipy.optimize import nnls
    from sklearn.base import clone

    x, t, y = rows
    start, before = time.perf_counter(), processor()
    data = dml.DoubleMLData.from_arrays(x, y, t)
    model = dml.DoubleMLIRM(data, DMLDummyRegressor(), DMLDummyClassifier(), n_folds=FOLDS)
    folds = model.smpls[0]

    def mixed(target, learned, classify):
        held_out = []
        for learner in learners(classify, threads):
            predicted = np.zeros(len(y))
            for train, test in folds:
                own = train[learned[train]]
                fitted = clone(learner).fit(x[own], target[own])
                predicted[test] = fitted.predict_proba(x[test])[:, 1] if classify else fitted.predict(x[test])
            held_out.append(predicted)
        held_out = np.column_stack(held_out)
        shares, _ = nnls(held_out[learned], target[learned])
        return (held_out @ (shares / shares.sum())).reshape(-1, 1)

    everyone = np.ones(len(y), bool)
    predictions = {
        "ml_g0": mixed(y, t == 0, False),
        "ml_g1": mixed(y, t == 1, False),
        "ml_m": np.clip(mixed(t, everyone, True), 0.01, 0.99),
    }
    model.fit(external_predictions={"d": predictions})
    return {"seconds": time.perf_counter() - start, "processor": processor() - before, "ate": float(model.coef[0]), "se": float(model.se[0])}


def nested(rows, threads):
    """DoubleML with scikit-learn's stacking inside every fold."""
    import doubleml as dml
    from sklearn.ensemble import StackingClassifier, StackingRegressor

    x, t, y = rows
    named = lambda classify: [(str(k), learner) for k, learner in enumerate(learners(classify, threads))]
    start, before = time.perf_counter(), processor()
    data = dml.DoubleMLData.from_arrays(x, y, t)
    model = dml.DoubleMLIRM(data, StackingRegressor(named(False)), StackingClassifier(named(True)), n_folds=FOLDS)
    model.fit()
    return {"seconds": time.perf_counter() - start, "processor": processor() - before, "ate": float(model.coef[0]), "se": float(model.se[0])}


def main():
    """Runs both and prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--binary")
    options = parser.parse_args()
    binary = options.binary
    if binary is None:
        subprocess.run(["cargo", "build", "-q", "--release", "-p", "paretau-study", "--example", "trust_times"], cwd=ROOT, check=True)
        binary = str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "trust_times")
    x, t, y, _ = draw(options.rows, options.columns)
    found = {"ours": ours(binary, "scores", np.column_stack([x, t, y]), options.columns, options.threads)}
    if not options.alone:
        found["short"] = short((x, t, y), options.threads)
        if options.nested:
            found["nested"] = nested((x, t, y), options.threads)
    print(f"| scores of {options.rows} x {options.columns} | processor seconds | ours takes less by | clock | average effect (truth 1) | standard error |")
    print("|---|---|---|---|---|---|")
    for name, result in found.items():
        ratio = result["processor"] / found["ours"]["processor"]
        figures = f"{result['processor']:.1f} | {ratio:.1f} | {result['seconds']:.1f} | {result['ate']:.4f} | {result['se']:.4f}"
        print(f"| {name} | {figures} |", flush=True)
    x, t, y, tau = draw(options.rows, 20, seed=1)
    gains = tau - 1 + 2 * np.random.default_rng(2).standard_normal(options.rows)
    tree = ours(binary, "policy", np.column_stack([x, gains]), 20, options.threads)
    print(f"\npolicy tree of depth 2, {options.rows} x 20: {tree['seconds']:.2f} s, {tree['processor']:.2f} s of processor time with reading")
    print(json.dumps({"rows": options.rows, "threads": options.threads, "scores": found, "policy": tree}), file=sys.stderr)


if __name__ == "__main__":
    main()
