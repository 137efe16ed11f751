"""Forests beside scikit-learn's and EconML's in one run, with the same threads and the same trees: Markdown tables.

Times on a shared machine wander and only their ratio means something. Every fit that is timed runs in a fresh process,
which also reports the peak of its memory as the operating system counts it. The tables of errors need the data folder
that PARETAU_DATA names (default: `data` in the repository); a set that is absent is skipped and the output says so.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """A Markdown table."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def clock(call: Callable[[], object]) -> tuple[float, object]:
    """Seconds of a call and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def peak_mb() -> float:
    """Largest resident memory of this process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


# --- regression ---------------------------------------------------------------------------------------------------


def regression_rows(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's function of five features, the rest noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, p))
    mean = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, mean + rng.normal(size=n)


def regression_beside_sklearn(n: int, p: int, trees: int, threads: int) -> None:
    """Regression forest: a third of the columns at a node."""
    train, test = regression_rows(n, p, 0), regression_rows(n // 2, p, 1)
    tried = -(-p // 3)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, (x, y) in (("train", train), ("test", test)):
            files.append(os.path.join(folder, name))
            np.column_stack([x, y]).astype("<f8").tofile(files[-1])
        cargo = ["cargo", "build", "--release", "--quiet", "-p", "paretau-forest", "--example", "regress_file"]
        subprocess.run(cargo, check=True, cwd=ROOT)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        program = target / "release" / "examples" / "regress_file"

        def ours(leaf: int) -> dict[str, float]:
            words = [str(program), *files, str(p), str(trees), str(tried), str(leaf)]
            done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment(threads))
            return json.loads(done.stdout)

        theirs = child("sklearn", threads, folder=folder, columns=p, trees=trees, tried=tried)
        for name, result in (("paretau, leaves of 5", ours(5)), ("paretau, leaves of 1", ours(1)), ("scikit-learn", theirs)):
            seconds = [f"{result['fit']:.1f}", f"{theirs['fit'] / result['fit']:.1f}x", f"{result['predict']:.2f}"]
            rows.append([name, *seconds, f"{result['r2']:.4f}"])
    title = f"Regression forest, n={n:,}, p={p}, {tried} columns tried at a node, {trees} trees"
    table(title, ["forest", "fit s", "ratio", "predict s", "R² held out"], rows)


def sklearn_child(options: argparse.Namespace) -> dict[str, float]:
    """Fits and scores scikit-learn's forest on the files of the parent."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.metrics import r2_score

    train, test = (np.fromfile(os.path.join(options.folder, f)).reshape(-1, options.columns + 1) for f in ("train", "test"))
    forest = RandomForestRegressor(
        n_estimators=options.trees, max_features=options.tried, n_jobs=options.threads, random_state=0
    )
    fit, _ = clock(lambda: forest.fit(train[:, :-1], train[:, -1]))
    predict, predicted = clock(lambda: forest.predict(test[:, :-1]))
    return {"fit": fit, "predict": predict, "r2": r2_score(test[:, -1], predicted)}


# --- causal forests -----------------------------------------------------------------------------------------------


def causal_rows(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Confounded rows whose effect varies: features, treatment, outcome, effect."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    t = (rng.uniform(size=n) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
    tau = 1 + np.maximum(x[:, 1], 0)
    return x, t, x[:, 0] + np.sin(x[:, 2]) + t * tau + rng.normal(size=n), tau


def causal_beside_econml(n: int, p: int, trees: int, few: int, threads: int) -> None:
    """Causal forest with intervals: time, memory, file, prediction."""
    kinds = {"paretau `causal-forest`": "paretau", "EconML `grf.CausalForest`": "econml"}
    results = {name: child(kind, threads, rows=n, columns=p, trees=trees) for name, kind in kinds.items()}
    peer = results["EconML `grf.CausalForest`"]
    rows = []
    for name, r in results.items():
        rows.append(
            [
                name,
                f"{r['fit']:.1f}",
                f"{peer['fit'] / r['fit']:.1f}x",
                f"{r['peak']:.0f}",
                f"{r['added']:.0f}",
                f"{r['file']:.1f}",
                f"1/{peer['file'] / r['file']:.1f}",
                f"{1e3 * r['one']:.2f}",
                f"{r['bulk']:,.0f}",
                f"{r['pehe']:.3f}",
            ]
        )
    header = ["forest", "fit s", "ratio", "peak MB", "of which the fit", "file MB", "file ratio"]
    header += ["one row with interval ms", "bulk rows/s", "PEHE"]
    table(f"Causal forest with intervals, n={n:,}, p={p}, {trees} trees", header, rows)
    print("\nOurs also grows the two centering forests; EconML's is given the raw treatment and outcome.")
    r = child("paretau", threads, rows=n, columns=p, trees=few)
    row = ["paretau `causal-forest`", f"{r['fit']:.1f}", f"{r['file']:.1f}", f"{1e3 * r['one']:.2f}", f"{r['bulk']:,.0f}"]
    table(f"The same with {few} trees", ["forest", "fit s", "file MB", "one row ms", "bulk rows/s"], [row])


def causal_child(options: argparse.Namespace) -> dict[str, float]:
    """Fits one causal forest and measures it."""
    n, p = options.rows, options.columns
    x, t, y, _ = causal_rows(n, p, 0)
    many, _, _, tau = causal_rows(100_000, p, 1)
    if options.child == "paretau":
        from paretau import CausalForest

        make = lambda trees: CausalForest(n_estimators=trees, n_jobs=options.threads, random_state=0)  # noqa: E731
        fit = lambda model, rows: model.fit(x[:rows], y[:rows], treatment=t[:rows])  # noqa: E731
        predict = lambda model, rows: model.effect_interval(rows)  # noqa: E731
        effect = lambda model, rows: model.effect(rows)  # noqa: E731
    else:
        from econml.grf import CausalForest

        make = lambda trees: CausalForest(n_estimators=trees, n_jobs=options.threads, random_state=0)  # noqa: E731
        fit = lambda model, rows: model.fit(x[:rows], t[:rows], y[:rows])  # noqa: E731
        predict = lambda model, rows: model.predict(rows, interval=True)  # noqa: E731
        effect = lambda model, rows: model.predict(rows).ravel()  # noqa: E731
    predict(fit(make(8), 200), x[:1])  # loads everything that is loaded once
    before = peak_mb()
    model = make(options.trees)
    seconds, _ = clock(lambda: fit(model, n))
    peak = peak_mb()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        if options.child == "paretau":
            model.save(path)
        else:
            with open(path, "wb") as file:
                pickle.dump(model, file)
        size = os.path.getsize(path) / 1e6
    predict(model, x[:1])
    repeats = 200 if options.child == "paretau" else 3
    one = min(clock(lambda: predict(model, x[k : k + 1]))[0] for k in range(repeats))
    # The peer needs minutes for as many rows; a rate is a rate.
    bulk = many if options.child == "paretau" else many[:5_000]
    slow, _ = clock(lambda: predict(model, bulk))
    error = float(np.sqrt(np.mean((effect(model, many[:5_000]) - tau[:5_000]) ** 2)))
    return {
        "fit": seconds,
        "peak": peak,
        "added": peak - before,
        "file": size,
        "one": one,
        "bulk": len(bulk) / slow,
        "pehe": error,
    }


# --- errors -------------------------------------------------------------------------------------------------------


class Study(NamedTuple):
    """A data set with its truth."""

    family: str
    x: object  # a pandas frame
    t: np.ndarray
    y: np.ndarray
    tau: np.ndarray


def data_folder() -> Path:
    """Where real data are looked for."""
    return Path(os.environ.get("PARETAU_DATA", ROOT / "data"))


def studies(quick: bool) -> Iterator[Study]:
    """All data sets, those that are absent named and skipped."""
    yield from synthetic(quick)
    for name, read in (("ihdp", ihdp), ("acic2016", acic), ("lbidd", lbidd)):
        folder = data_folder() / name
        if folder.is_dir():
            yield from read(folder, quick)
        else:
            print(f"\nSkipped {name}: there is no folder {name} in the data folder (set PARETAU_DATA).")


def synthetic(quick: bool) -> Iterator[Study]:
    """grf's and CausalML's designs; mode 5 has a hidden confounder, which nobody can take out."""
    import pandas as pd
    import paretau

    names = ["simple", "aw1", "aw2", "aw3", "aw3reverse", "ai1", "ai2"]
    processes = [("grf", {"design": name, "d": 10}) for name in names]
    processes += [("causalml", {"mode": mode, "d": 10}) for mode in (1, 2, 3, 4)]
    for process, params in processes:
        for seed in range(1 if quick else 3):
            made = paretau.simulate(process, n=1_000 if quick else 2_000, random_state=seed, **params)
            x = pd.DataFrame(made.X, columns=made.feature_names)
            yield Study("synthetic designs", x, made.treatment.astype(float), made.y, made.effect)


def ihdp(folder: Path, quick: bool) -> Iterator[Study]:
    """IHDP: t, y, y counterfactual, mu0, mu1, features; no header."""
    import pandas as pd

    for k in range(1, 4 if quick else 26):
        path = folder / f"ihdp_npci_{k}.csv"
        if path.exists():
            rows = pd.read_csv(path, header=None).to_numpy(float)
            yield Study("IHDP", pd.DataFrame(rows[:, 5:]).rename(columns="x{}".format), rows[:, 0], rows[:, 1], rows[:, 4] - rows[:, 3])


def acic(folder: Path, quick: bool) -> Iterator[Study]:
    """ACIC 2016: shared features with text columns; the second set has a constant effect."""
    import pandas as pd

    x = pd.read_csv(folder / "x.csv")
    for path in sorted(folder.glob("zymu_*.csv"))[: 1 if quick else None]:
        rows = pd.read_csv(path)
        y = np.where(rows.z == 1, rows.y1, rows.y0)
        yield Study("ACIC 2016", x, rows.z.to_numpy(float), y, (rows.mu1 - rows.mu0).to_numpy())


def lbidd(folder: Path, quick: bool) -> Iterator[Study]:
    """LBIDD sets whose effect varies."""
    import pandas as pd

    features = pd.read_parquet(folder / "covariates.parquet")
    for path in sorted((folder / "heterogeneous").glob("*_cf.csv"))[: 1 if quick else None]:
        truth = pd.read_csv(path, usecols=["sample_id", "y0", "y1"])  # there is a row number too
        rows = pd.read_csv(str(path).replace("_cf.csv", ".csv")).merge(truth, on="sample_id").merge(features, on="sample_id")
        rows = rows[rows.y.notna()].reset_index(drop=True)  # some sets hide outcomes
        x = rows.drop(columns=["sample_id", "z", "y", "y0", "y1"])
        yield Study("LBIDD heterogeneous", x, rows.z.to_numpy(float), rows.y.to_numpy(), (rows.y1 - rows.y0).to_numpy())


def errors_beside_econml(trees: int, threads: int, quick: bool) -> None:
    """PEHE on rows held out, of all data sets."""
    import pandas as pd

    names = ["causal-forest", "causal-forest-dml", "EconML grf.CausalForest", "EconML CausalForestDML"]
    found: dict[str, list[list[float]]] = {}
    for study in studies(quick):
        order = np.random.default_rng(0).permutation(len(study.y))
        train, test = np.split(order, [int(0.7 * len(order))])
        # Peers take numbers only: text columns become indicators for them, categories for us.
        numbers = pd.get_dummies(study.x).to_numpy(float)
        scores = []
        for name in names:
            x = numbers if name.startswith("EconML") else study.x
            predicted = forest_effects(name, x, study, train, test, trees, threads)
            scores.append(float(np.sqrt(np.mean((predicted - study.tau[test]) ** 2))))
        found.setdefault(study.family, []).append(scores)
        print(study.family, len(study.y), *(f"{score:.4f}" for score in scores), file=sys.stderr, flush=True)
    rows = []
    everything = []
    for family, scores in found.items():
        values = np.array(scores)
        everything.append(values)
        rows.append([family, str(len(values)), *(f"{v:.3f}" for v in values.mean(axis=0))])
    means = np.array([values.mean(axis=0) for values in everything])
    rows.append(["**mean of the families**", "", *(f"{v:.3f}" for v in means.mean(axis=0))])
    # Outcomes are on very different scales: ratios on the same set, averaged by logarithms.
    logs = np.array([np.log(values / values[:, [0]]).mean(axis=0) for values in everything])
    rows.append(["**error over `causal-forest`'s**, geometric mean", "", *(f"{v:.3f}" for v in np.exp(logs.mean(axis=0)))])
    table(f"PEHE on the 30 % of rows held out, {trees} trees", ["data", "sets", *names], rows)


def forest_effects(
    name: str, x: object, study: Study, train: np.ndarray, test: np.ndarray, trees: int, threads: int
) -> np.ndarray:
    """Effects of the test rows by one forest fitted on the training rows."""
    t, y = study.t[train], study.y[train]
    if not name.startswith("EconML"):
        import paretau

        model = paretau.make_estimator(name, n_estimators=trees, n_jobs=threads, random_state=0)
        return model.fit(x.iloc[train], y, treatment=t).effect(x.iloc[test])
    if name.endswith("DML"):
        from econml.dml import CausalForestDML

        model = CausalForestDML(n_estimators=trees, discrete_treatment=True, n_jobs=threads, random_state=0)
        return model.fit(y, t, X=x[train]).effect(x[test]).ravel()
    from econml.grf import CausalForest

    return CausalForest(n_estimators=trees, n_jobs=threads, random_state=0).fit(x[train], t, y).predict(x[test]).ravel()


# --- the whole ----------------------------------------------------------------------------------------------------


def environment(threads: int) -> dict[str, str]:
    """The environment of a process that may use so many threads."""
    count = str(threads)
    return {**os.environ, "RAYON_NUM_THREADS": count, "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}


def child(kind: str, threads: int, **words: object) -> dict[str, float]:
    """One measurement in a fresh process."""
    command = [sys.executable, __file__, "--child", kind, "--threads", str(threads)]
    command += [text for name, value in words.items() for text in (f"--{name}", str(value))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment(threads))
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Everything, or with `--child` one measurement for the parent process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="smaller, to see that everything works")
    parser.add_argument("--only", choices=("regression", "causal", "errors"))
    parser.add_argument("--child", choices=("sklearn", "paretau", "econml"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    for name in ("rows", "columns", "trees", "tried"):
        parser.add_argument(f"--{name}", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps((sklearn_child if options.child == "sklearn" else causal_child)(options)))
        return
    # The peers' own warnings about each other would bury the tables.
    warnings.simplefilter("ignore", FutureWarning)
    os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning"
    quick, threads = options.quick, options.threads
    print(f"{threads} threads")
    if options.only in (None, "regression"):
        regression_beside_sklearn(4_000 if quick else 20_000, 50, 50 if quick else 500, threads)
    if options.only in (None, "causal"):
        causal_beside_econml(4_000 if quick else 20_000, 20, 200 if quick else 2_000, 50 if quick else 500, threads)
    if options.only in (None, "errors"):
        errors_beside_econml(100 if quick else 500, threads, quick)


if __name__ == "__main__":
    main()
