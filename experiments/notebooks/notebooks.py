"""Four notebooks of other packages on data of ours: `python notebooks.py` prints a table of paretau's numbers beside theirs.

The notebooks' shapes are kept (who is asked what, which columns, how outcome and treatment come about in words), the data are
drawn here, so that there is a truth to stand beside both. What is not installed is left out of the table.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Line = tuple[str, str, str, float, str]


def customers(n: int = 4000, seed: int = 0) -> dict[str, Any]:
    """EconML's customer segmentation: whom does a discount move? Demand is the more elastic the lower the income."""
    rng = np.random.default_rng(seed)
    names = ["age", "account_age", "hours", "visits", "friends", "membership", "us", "songs", "income"]
    x = np.column_stack(
        [
            rng.integers(18, 60, n),
            rng.integers(0, 8, n),
            rng.gamma(2, 2, n),
            rng.poisson(4, n),
            rng.poisson(6, n),
            rng.integers(0, 2, n),
            rng.integers(0, 2, n),
            rng.poisson(3, n),
            rng.lognormal(0, 0.5, n),
        ]
    ).astype(float)
    income, hours = x[:, 8], x[:, 2]
    effect = np.where(income < 1, 2.5, 1.0)
    e = 1 / (1 + np.exp(-(0.5 * (x[:, 5] - 0.5) + 0.15 * (hours - 4))))
    t = rng.binomial(1, e)
    y = 3 + 0.5 * hours + 0.3 * x[:, 7] + effect * t + rng.normal(size=n)
    return {"x": x, "t": t, "y": y, "effect": effect, "names": names, "poor": income < 1}


def forest_curve(n: int = 2000, seed: int = 0) -> dict[str, Any]:
    """EconML's causal-forest notebook: ten features, an effect that jumps along the first, and controls."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 10))
    e = 1 / (1 + np.exp(-x[:, 1]))
    t = rng.binomial(1, e)
    effect = np.where(x[:, 0] > 0, 2.0, 0.5)
    y = x[:, 1] + 0.5 * x[:, 2] + effect * t + 0.7 * rng.normal(size=n)
    grid = np.zeros((41, 10))
    grid[:, 0] = np.linspace(-0.95, 0.95, 41)
    return {"x": x, "t": t, "y": y, "grid": grid, "truth": np.where(grid[:, 0] > 0, 2.0, 0.5)}


def conversions(n: int = 6000, seed: int = 0) -> dict[str, Any]:
    """CausalML's uplift notebook: a campaign at random, a yes/no conversion, uplift in a few of many columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, 12))
    t = rng.binomial(1, 0.5, 2 * n)
    base = 1 / (1 + np.exp(-(-1.5 + 0.6 * x[:, 3] + 0.4 * x[:, 4])))
    effect = 0.18 * (x[:, 0] > 0.3) * (x[:, 1] > -0.5)
    y = rng.binomial(1, np.minimum(base + effect * t, 1.0))
    first = np.arange(2 * n) < n
    return {"train": (x[first], t[first], y[first]), "new": x[~first], "effect": effect[~first]}


def savings(n: int = 6000, seed: int = 0) -> dict[str, Any]:
    """DoubleML's 401(k): what does eligibility for a pension plan do to net financial assets (in thousands)?"""
    rng = np.random.default_rng(seed)
    names = ["age", "income", "education", "family", "married", "two_earners", "defined_benefit", "ira", "home"]
    age, education = rng.integers(25, 65, n), rng.integers(8, 18, n)
    income = np.exp(rng.normal(3.2 + 0.04 * (education - 12), 0.6, n))
    married = rng.binomial(1, 0.6, n)
    both = married * rng.binomial(1, 0.6, n)
    x = np.column_stack(
        [
            age,
            income,
            education,
            rng.integers(1, 7, n),
            married,
            both,
            rng.binomial(1, 0.27, n),
            rng.binomial(1, 1 / (1 + np.exp(-(income - 40) / 20))),
            rng.binomial(1, 1 / (1 + np.exp(-(age - 38) / 10))),
        ]
    ).astype(float)
    e = 1 / (1 + np.exp(-(-0.9 + 0.03 * (income - 25) - 0.0003 * np.maximum(income - 25, 0) ** 2 + 0.01 * (age - 40))))
    t = rng.binomial(1, e)
    effect = 4 + 0.1 * np.minimum(income, 80)
    y = -20 + 0.5 * (age - 25) + 0.6 * income + 8 * x[:, 7] + 5 * x[:, 8] + effect * t + 15 * rng.normal(size=n)
    return {"x": x, "t": t, "y": y, "names": names, "ate": effect.mean(), "att": effect[t == 1].mean()}


def top_tenth(predicted: np.ndarray, effect: np.ndarray) -> float:
    """True mean uplift of the tenth with the largest predictions."""
    return float(effect[np.argsort(-predicted)[: len(effect) // 10]].mean())


def of_customers(package: str) -> Iterator[Line]:
    """Average effects of the two segments."""
    d = customers()
    if package == "paretau":
        from paretau.compat.econml import CausalForestDML

        est: Any = CausalForestDML(n_estimators=200, random_state=0).fit(d["y"], d["t"], X=d["x"])
    else:
        from econml.dml import CausalForestDML
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        est = CausalForestDML(
            model_y=RandomForestRegressor(min_samples_leaf=20, random_state=0),
            model_t=RandomForestClassifier(min_samples_leaf=20, random_state=0),
            discrete_treatment=True,
            n_estimators=200,
            random_state=0,
        ).fit(d["y"], d["t"], X=d["x"])
    found = est.effect(d["x"])
    for name, rows in (("income below 1", d["poor"]), ("income from 1 on", ~d["poor"])):
        yield "customer segmentation", package, f"mean effect, {name}", float(found[rows].mean()), f"{d['effect'][rows].mean():.2f}"
    yield "customer segmentation", package, "root mean square error", float(np.sqrt(np.mean((found - d["effect"]) ** 2))), "0"


def of_forest(package: str) -> Iterator[Line]:
    """Error and coverage along the first feature."""
    d = forest_curve()
    if package == "paretau":
        from paretau.compat.econml import CausalForestDML

        est: Any = CausalForestDML(n_estimators=400, random_state=0).fit(d["y"], d["t"], X=d["x"])
    else:
        from econml.dml import CausalForestDML
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        est = CausalForestDML(
            model_y=RandomForestRegressor(min_samples_leaf=20, random_state=0),
            model_t=RandomForestClassifier(min_samples_leaf=20, random_state=0),
            discrete_treatment=True,
            n_estimators=400,
            random_state=0,
        ).fit(d["y"], d["t"], X=d["x"])
    found, (low, high) = est.effect(d["grid"]), est.effect_interval(d["grid"], alpha=0.1)
    far = np.abs(d["grid"][:, 0]) > 0.2
    error = float(np.sqrt(np.mean((found - d["truth"]) ** 2)))
    inside = (low.ravel() <= d["truth"]) & (d["truth"] <= high.ravel())
    yield "causal forest", package, "root mean square error on the grid", error, "0"
    yield "causal forest", package, "90 % intervals that hold the truth, away from the jump", float(inside[far].mean()), "0.90"


def of_conversions(package: str) -> Iterator[Line]:
    """What the best tenth gains."""
    d = conversions()
    x, t, y = d["train"]
    if package == "paretau":
        from paretau.compat.causalml import BaseXRegressor
    else:
        from causalml.inference.meta import BaseXRegressor
    from sklearn.ensemble import GradientBoostingRegressor

    learner = BaseXRegressor(learner=GradientBoostingRegressor(max_depth=3, n_estimators=60, random_state=0), control_name=0)
    share = np.full(len(t), 0.5)
    if package == "paretau":
        ate, low, high = (float(np.ravel(v)[0]) for v in learner.estimate_ate(x, t, y))
    else:
        ate, low, high = (float(np.ravel(v)[0]) for v in learner.estimate_ate(x, t, y, p=share))
    predicted = np.ravel(learner.predict(d["new"]) if package == "paretau" else learner.predict(d["new"], p=share[: len(d["new"])]))
    yield "uplift", package, "average uplift", ate, f"{d['effect'].mean():.3f}"
    yield "uplift", package, "half its 95 % interval", (high - low) / 2, ""
    yield "uplift", package, "uplift of the best tenth", top_tenth(predicted, d["effect"]), f"{np.sort(d['effect'])[-len(d['effect']) // 10 :].mean():.3f}"


def of_savings(package: str) -> Iterator[Line]:
    """Average effects over everyone and over the eligible."""
    d = savings()
    if package == "paretau":
        import paretau

        est = paretau.DRLearner(base="boosting", random_state=0).fit(d["x"], d["y"], treatment=d["t"])
        found = {"ate": (est.ate(), est.ate_interval()), "att": (est.att(), est.att_interval())}
    else:
        import doubleml
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        data = doubleml.DoubleMLData.from_arrays(d["x"], d["y"], d["t"])
        found = {}
        for score, name in (("ATE", "ate"), ("ATTE", "att")):
            np.random.seed(0)
            model = doubleml.DoubleMLIRM(
                data,
                RandomForestRegressor(n_estimators=200, min_samples_leaf=10, random_state=0),
                RandomForestClassifier(n_estimators=200, min_samples_leaf=10, random_state=0),
                score=score,
            ).fit()
            interval = model.confint().to_numpy()[0]
            found[name] = (float(model.coef[0]), (float(interval[0]), float(interval[1])))
    for name, (value, (low, high)) in found.items():
        yield "401(k)", package, name.upper(), value, f"{d[name]:.2f}"
        yield "401(k)", package, f"half the 95 % interval of the {name.upper()}", (high - low) / 2, ""


NOTEBOOKS: list[tuple[Callable[[str], Iterator[Line]], str]] = [
    (of_customers, "econml"),
    (of_forest, "econml"),
    (of_conversions, "causalml"),
    (of_savings, "doubleml"),
]


def main() -> None:
    """Prints the table."""
    import importlib.util

    warnings.simplefilter("ignore")
    print("| notebook | package | number | value | truth |\n|---|---|---|---:|---:|")
    for notebook, peer in NOTEBOOKS:
        for package in ("paretau", peer):
            if importlib.util.find_spec(package) is None:
                continue
            start = time.process_time()
            for shape, who, what, value, truth in notebook(package):
                print(f"| {shape} | {who} | {what} | {value:.3f} | {truth} |", flush=True)
            print(f"| | {package} | seconds of processor time | {time.process_time() - start:.0f} | |", flush=True)


if __name__ == "__main__":
    main()
