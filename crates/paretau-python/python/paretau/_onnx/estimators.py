"""Fitted estimators as graphs: the effect and the expected outcomes of each arm from a matrix of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._errors import UsageError
from .._model_state import State
from . import nets, regressors
from .graph import Graph, Value
from .trees import Trees


@dataclass(frozen=True)
class Answer:
    """Columns of an arm against the control; outcomes only where they were wanted."""

    tau: Value
    mu0: Value | None = None
    mu1: Value | None = None


def answers(graph: Graph, state: State, x: Value, *, n_treated: int, outcomes: bool) -> list[Answer]:
    """One answer per treated arm."""
    facts = state.facts
    if n_treated > 1 and "arms" not in state:
        parts = [state.part(f"contrast{k}") for k in range(facts["n_arms"])]
        return [_one(graph, part, x, outcomes) for part in parts]
    if isinstance(facts, dict) and isinstance(facts.get("arms"), dict):
        return _arms_forest(graph, state, x, outcomes)
    return [_one(graph, state, x, outcomes)]


def _one(graph: Graph, state: State, x: Value, outcomes: bool) -> Answer:
    facts = state.facts
    if isinstance(facts.get("shares"), list):
        parts = [_one(graph, state.part(f"block{k}"), x, outcomes) for k in range(len(facts["shares"]))]
        return _mean(graph, list(zip(facts["shares"], parts, strict=True)), outcomes)
    if "recipe" in facts:
        return _meta(graph, state, x, outcomes)
    if "forest" in facts:
        return _causal_forest(graph, state, x, outcomes)
    if "second" in facts:
        first = _of_outcomes(graph, *nets.outcomes(graph, state.part("nets"), x))
        second = facts["second"]
        more = regressors.predict(graph, second["base"], state.part("regression"), x)
        return Answer(graph.add(first.tau, graph.scaled(more, second["share"])), first.mu0, first.mu1)
    if "about" in facts:
        return _of_outcomes(graph, *nets.outcomes(graph, state, x))
    if isinstance(facts.get("members"), list):
        return _auto(graph, state, x, outcomes)
    if facts.get("arms") in ("shared", "separate"):
        return _lines(graph, state, x)
    raise UsageError("to_onnx: this kind of model cannot be written as ONNX")


def _of_outcomes(graph: Graph, mu0: Value, mu1: Value) -> Answer:
    return Answer(graph.subtract(mu1, mu0), mu0, mu1)


def _lines(graph: Graph, state: State, x: Value) -> Answer:
    mu0 = graph.line(x, state["0/head"][0], state["0/coef"])
    if state.facts["arms"] == "shared":
        effect = graph.add(graph.scaled(mu0, 0.0), graph.number(float(state["0/head"][1])))
        return Answer(effect, mu0, graph.add(mu0, effect))
    return _of_outcomes(graph, mu0, graph.line(x, state["1/head"][0], state["1/coef"]))


def _meta(graph: Graph, state: State, x: Value, outcomes: bool) -> Answer:
    facts = state.facts

    def model(name: str, features: Value = x) -> Value:
        out = regressors.predict(graph, facts["bases"][name], state.part(name), features)
        if name in facts.get("knots", {}):
            knots = (state[f"{name}-calibration/from"], state[f"{name}-calibration/to"])
            out = regressors.calibrated(graph, out, knots)
        return out

    recipe = facts["recipe"]
    if recipe == "t":
        return _of_outcomes(graph, model("mu0"), model("mu1"))
    if recipe == "s":
        constant = graph.scaled(graph.as_double(graph.is_nan(graph.columns(x, [0]))), 0.0)
        arms = [graph.beside([x, graph.shifted(constant, arm)]) for arm in (0.0, 1.0)]
        return _of_outcomes(graph, model("mu", arms[0]), model("mu", arms[1]))
    if recipe == "x":
        e = model("e")
        tau0, tau1 = model("tau0"), model("tau1")
        # The treated arm's effects count as much as there are controls to compare with, and the other way round.
        tau = graph.add(graph.multiply(e, tau0), graph.multiply(graph.subtract(graph.number(1.0), e), tau1))
    elif recipe in ("r", "dr"):
        tau = model("tau")
        if not outcomes:
            return Answer(tau)
        e = model("e")
    else:
        raise UsageError(f"to_onnx: meta-learner {recipe!r} cannot be written as ONNX")
    if not outcomes:
        return Answer(tau)
    if recipe == "r":
        mean = model("m")
    else:
        mu0, mu1 = model("mu0"), model("mu1")
        mean = graph.add(mu0, graph.multiply(e, graph.subtract(mu1, mu0)))
    return _around(graph, mean, e, tau)


def _around(graph: Graph, mean: Value, e: Value, tau: Value) -> Answer:
    """Both outcomes around the mean outcome."""
    mu0 = graph.subtract(mean, graph.multiply(e, tau))
    return Answer(tau, mu0, graph.add(mu0, tau))


def _causal_forest(graph: Graph, state: State, x: Value, outcomes: bool) -> Answer:
    trees = Trees.of(state.part("forest"), state.part("bins"))
    count = trees.count(graph, x)
    safe = graph.op("Max", count, graph.number(1.0))
    y, z, zy, zz = (graph.op("Div", trees.statistic(graph, x, k), safe) for k in range(4))
    variance = graph.subtract(zz, graph.multiply(z, z))
    covariance = graph.subtract(zy, graph.multiply(z, y))
    varies = graph.op("Greater", variance, graph.number(0.0))
    slope = graph.op("Div", covariance, graph.where(varies, variance, graph.number(1.0)))
    tau = graph.where(varies, slope, graph.number(state.facts["facts"]["overall"]))
    if not outcomes:
        return Answer(tau)
    m, e = (_nuisance(graph, state.part(name), state.part("bins"), x) for name in ("m", "e"))
    return _around(graph, m, e, tau)


def _nuisance(graph: Graph, state: State, bins: State, x: Value) -> Value:
    return _centre(graph, state, bins, x) if "centre" in state else _folds(graph, state, x)


def _folds(graph: Graph, state: State, x: Value) -> Value:
    """The mean of one model per fold."""
    facts = state.facts["facts"]
    parts = [regressors.predict(graph, facts["base"], state.part(f"fold{k}"), x) for k in range(facts["n_folds"])]
    return graph.scaled(graph.total(parts), 1.0 / len(parts))


def _centre(graph: Graph, state: State, bins: State, x: Value) -> Value:
    """An expected value: a level, a line, a forest, or a forest of what a line leaves over."""
    facts = state.facts["centre"]
    parts = []
    if facts["linear"]:
        expanded = _expanded(graph, state.facts["linear"]["expansion"], x)
        parts.append(_folds(graph, state.part("linear", "models"), expanded))
    if facts["forest"]:
        parts.append(regressors.mean_forest(graph, state.part("forest"), bins, x))
    if not parts:
        parts.append(graph.scaled(graph.as_double(graph.is_nan(graph.columns(x, [0]))), 0.0))
    out = graph.shifted(graph.total(parts), facts["level"])
    return graph.clamped(out, 0.0, 1.0) if facts["binary"] else out


def _expanded(graph: Graph, expansion: list[dict[str, dict[str, float]]], x: Value) -> Value:
    """Features without gaps: means in their place, and an indicator per level."""
    parts = []
    for j, column in enumerate(expansion):
        cells = graph.columns(x, [j])
        if "Number" in column:
            parts.append(graph.where(graph.is_nan(cells), graph.number(column["Number"]["mean"]), cells))
        else:
            levels = graph.constant([np.arange(column["Levels"]["count"], dtype=np.float64)])
            parts.append(graph.as_double(graph.op("Equal", cells, levels)))
    return graph.beside(parts)


def _arms_forest(graph: Graph, state: State, x: Value, outcomes: bool) -> list[Answer]:
    """All arms of one forest: a small system of equations per row, solved by elimination."""
    trees = Trees.of(state.part("forest"), state.part("bins"))
    overall = state.facts["arms"]["overall"]
    dim = len(overall)
    safe = graph.op("Max", trees.count(graph, x), graph.number(1.0))
    stats = [graph.op("Div", trees.statistic(graph, x, k), safe) for k in range(trees.stats.shape[1])]
    y, z, zy = stats[0], stats[1 : 1 + dim], stats[1 + dim : 1 + 2 * dim]
    matrix: list[list[Value]] = [[""] * dim for _ in range(dim)]
    at = 1 + 2 * dim
    for a in range(dim):
        for b in range(a, dim):
            matrix[a][b] = matrix[b][a] = graph.subtract(stats[at], graph.multiply(z[a], z[b]))
            at += 1
    right = [graph.subtract(zy[a], graph.multiply(z[a], y)) for a in range(dim)]
    tau, good = _solved(graph, matrix, right)
    tau = [graph.where(good, tau[k], graph.number(overall[k])) for k in range(dim)]
    if not outcomes:
        return [Answer(t) for t in tau]
    bins = state.part("bins")
    e = [_nuisance(graph, state.part(f"e{k}"), bins, x) for k in range(dim)]
    mu0 = _nuisance(graph, state.part("m"), bins, x)
    for own, effect in zip(e, tau, strict=True):
        mu0 = graph.subtract(mu0, graph.multiply(own, effect))
    return [Answer(t, mu0, graph.add(mu0, t)) for t in tau]


def _solved(graph: Graph, matrix: list[list[Value]], right: list[Value]) -> tuple[list[Value], Value]:
    """The solution of a positive definite system for each row, and whether it has one."""
    dim = len(right)
    matrix, right = [list(row) for row in matrix], list(right)
    scale = matrix[0][0]
    for k in range(1, dim):
        scale = graph.op("Max", scale, matrix[k][k])
    least = graph.scaled(scale, 1e-10)
    good = graph.op("Greater", scale, graph.number(0.0))
    for k in range(dim):
        above = graph.op("Greater", matrix[k][k], least)
        good = graph.op("And", good, above)
        pivot = graph.where(above, matrix[k][k], graph.number(1.0))
        for i in range(k + 1, dim):
            factor = graph.op("Div", matrix[i][k], pivot)
            for j in range(k + 1, dim):
                matrix[i][j] = graph.subtract(matrix[i][j], graph.multiply(factor, matrix[k][j]))
            right[i] = graph.subtract(right[i], graph.multiply(factor, right[k]))
        matrix[k][k] = pivot
    out = list(right)
    for k in reversed(range(dim)):
        for j in range(k + 1, dim):
            out[k] = graph.subtract(out[k], graph.multiply(matrix[k][j], out[j]))
        out[k] = graph.op("Div", out[k], matrix[k][k])
    return out, good


def _auto(graph: Graph, state: State, x: Value, outcomes: bool) -> Answer:
    """A weighted mean of several estimators."""
    parts: list[tuple[float, Answer]] = []
    for k, member in enumerate(state.facts["members"]):
        constant = member["constant"]
        own = _one(graph, state.part(f"member{k}"), x, outcomes)
        if constant is not None:
            own = _constant(graph, own, constant, outcomes)
        parts.append((member["weight"], own))
    return _mean(graph, parts, outcomes)


def _mean(graph: Graph, parts: list[tuple[float, Answer]], outcomes: bool) -> Answer:
    """The mean of several answers by their shares."""

    def mean(of: str) -> Value:
        return graph.total([graph.scaled(getattr(own, of), weight) for weight, own in parts])

    return Answer(mean("tau"), mean("mu0"), mean("mu1")) if outcomes else Answer(mean("tau"))


def _constant(graph: Graph, own: Answer, constant: dict[str, float], outcomes: bool) -> Answer:
    """One effect for everyone, around the mean outcome that the model expects."""
    effect, treated = constant["effect"], constant["treated"]
    tau = graph.shifted(graph.scaled(own.tau, 0.0), effect)
    if not outcomes:
        return Answer(tau)
    assert own.mu0 is not None and own.mu1 is not None
    mean = graph.add(own.mu0, graph.scaled(graph.subtract(own.mu1, own.mu0), treated))
    mu0 = graph.shifted(mean, -treated * effect)
    if constant["binary"]:
        mu0 = graph.clamped(graph.op("Max", graph.op("Min", mu0, graph.number(1.0 - effect)), graph.number(-effect)), 0.0, 1.0)
    return Answer(tau, mu0, graph.shifted(mu0, effect))
