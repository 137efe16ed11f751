"""Fitted base learners as graphs: a column of predictions from a matrix of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import UsageError
from .._model_state import State
from .graph import Graph, Value
from .nets import Layers, standardised
from .trees import Trees

#: No logit of a line is taken to be beyond this, and no score of boosted trees.
_SUREST_LINE, _SUREST_SCORE = 30.0, 20.0
#: Standard deviations within which values are held before they are multiplied.
_FARTHEST_FACTOR = 3.0


def predict(graph: Graph, base: str, state: State, x: Value) -> Value:
    """Predictions of a base learner of that name."""
    if base not in _BASES:
        raise UsageError(f"to_onnx: base learner {base!r} is not paretau's own, so it cannot be written as ONNX")
    return _BASES[base](graph, state, x)


def ridge(graph: Graph, state: State, x: Value) -> Value:
    """Linear or logistic regression with a ridge penalty."""
    if state.facts["probability"]:
        return graph.sigmoid(graph.line(x, state["logistic/head"][0], state["logistic/coef"]))
    return graph.line(x, state["ridge/head"][0], state["ridge/coef"])


def lasso(graph: Graph, state: State, x: Value) -> Value:
    """The same with few coefficients."""
    line = graph.line(x, state["lasso/intercept"][0], state["lasso/coef"])
    if state.facts["probability"]:
        return graph.sigmoid(graph.clamped(line, -_SUREST_LINE, _SUREST_LINE))
    return line


def products(graph: Graph, state: State, x: Value) -> Value:
    """A lasso over columns and products of two of them, which are standardised and held within a range."""
    d, pairs = state.facts["n_features"], state.facts["pairs"]
    coef = state["lasso/coef"]
    line = graph.line(x, state["lasso/intercept"][0], coef[:d])
    if pairs:
        z = standardised(graph, x, state["products/mean"], state["products/inverse_sd"], clamps=False)
        z = graph.clamped(z, -_FARTHEST_FACTOR, _FARTHEST_FACTOR)
        left, right = (graph.columns(z, [pair[k] for pair in pairs]) for k in (0, 1))
        line = graph.add(line, graph.line(graph.multiply(left, right), 0.0, coef[d:]))
    if state.facts["probability"]:
        return graph.sigmoid(graph.clamped(line, -_SUREST_LINE, _SUREST_LINE))
    return line


def mean_forest(graph: Graph, means: State, bins: State, x: Value) -> Value:
    """Average of the leaves' means over the trees that say something."""
    trees = Trees.of(means.part("forest"), bins)
    count = trees.count(graph, x)
    # Where no tree says anything the sum is 0, too.
    mean = graph.op("Div", trees.statistic(graph, x, 0), graph.op("Max", count, graph.number(1.0)))
    return graph.shifted(mean, means.facts["offset"])


def forest(graph: Graph, state: State, x: Value) -> Value:
    """Regression or probability forest."""
    mean = mean_forest(graph, state.part("means"), state.part("bins"), x)
    facts = state.facts["facts"]
    if facts["target"] == "probability":
        n = facts["n_rows"]
        mean = graph.scaled(graph.shifted(graph.scaled(graph.clamped(mean, 0.0, 1.0), n), 0.5), 1.0 / (n + 1.0))
    return mean


def boosting(graph: Graph, state: State, x: Value) -> Value:
    """Boosted trees."""
    facts = state.facts["facts"]
    trees = Trees.of(state.part("trees"), state.part("bins"))
    score = graph.shifted(graph.scaled(trees.statistic(graph, x, 0), 1.0 / facts["n_models"]), facts["start"])
    if str(facts["loss"]).lower() == "logistic":
        least = 0.5 / (facts["n_rows"] + 1.0)
        return graph.clamped(graph.sigmoid(graph.clamped(score, -_SUREST_SCORE, _SUREST_SCORE)), least, 1.0 - least)
    return graph.shifted(graph.scaled(score, facts["scale"]), facts["offset"])


def mlp(graph: Graph, state: State, x: Value) -> Value:
    """The mean of a few nets."""
    about = state.facts
    parts = []
    for k in range(about["members"]):
        z = standardised(graph, x, state[f"mean{k}"], state[f"scale{k}"], clamps=about["clamps"])
        layers = Layers(graph, state[f"params{k}"])
        h = layers.net(z, about["d"], 1, [*about["hidden"], 1], about["activation"], "linear", "none")
        scale = about["scales"][k]
        if about["probability"]:
            parts.append(graph.clamped(graph.sigmoid(h), 1e-9, 1.0 - 1e-9))
        else:
            parts.append(graph.shifted(graph.scaled(h, scale["sd"]), scale["mean"]))
    return graph.scaled(graph.total(parts), 1.0 / len(parts))


def stack(graph: Graph, state: State, x: Value) -> Value:
    """A mixture of the others."""
    weights = state.facts["stack"]["weights"]
    return graph.total([graph.scaled(predict(graph, name, state.part(name), x), w) for name, w in weights])


def calibrated(graph: Graph, p: Value, knots: tuple[np.ndarray, np.ndarray]) -> Value:
    """A monotone map by its knots: straight between them, a step where two are at one place."""
    at, to = knots
    out = graph.number(float(to[0]))
    if len(at) == 1:
        return graph.add(graph.scaled(p, 0.0), out)
    width, rise = np.diff(at), np.diff(to)
    slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
    over = graph.subtract(p, graph.constant([at[:-1]]))
    run = graph.op("Min", graph.op("Max", over, graph.number(0.0)), graph.constant([width]))
    out = graph.add(graph.op("MatMul", run, graph.constant(slope.reshape(-1, 1))), out)
    step = np.where(width > 0, 0.0, rise)
    if step.any():
        beyond = graph.as_double(graph.op("Greater", p, graph.constant([at[:-1]])))
        out = graph.add(out, graph.op("MatMul", beyond, graph.constant(step.reshape(-1, 1))))
    return out


_BASES: dict[str, Any] = {
    "ridge": ridge,
    "lasso": lasso,
    "products": products,
    "forest": forest,
    "boosting": boosting,
    "mlp": mlp,
    "stack": stack,
}
