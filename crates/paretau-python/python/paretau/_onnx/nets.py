"""Nets as products, sums and activations."""

from __future__ import annotations

import numpy as np

from .._model_state import State
from .graph import Graph, Value

_FARTHEST = 10.0
_EPS = 1e-5
_LEAK = 0.01


def standardised(graph: Graph, x: Value, mean: np.ndarray, scale: np.ndarray, *, clamps: bool) -> Value:
    """Features as nets read them."""
    z = graph.multiply(graph.subtract(x, graph.constant([mean])), graph.constant([scale]))
    return graph.clamped(z, -_FARTHEST, _FARTHEST) if clamps else z


def with_pieces(graph: Graph, x: Value, z: Value, state: State) -> Value:
    """Standardised features with the piecewise-linear inputs of their columns beside them."""
    edges, scales = state["piece_edges"], state["piece_scales"]
    columns: list[int] = []
    starts: list[float] = []
    halves: list[float] = []
    at = 0
    for column, bins in state["piece_columns"].tolist():
        own = edges[at : at + bins + 1]
        columns += [column] * bins
        starts += own[:-1].tolist()
        halves += (0.5 * own[1:] - 0.5 * own[:-1]).tolist()
        at += bins + 1
    # Halves, so that the two ends of all numbers are no overflow apart.
    above = graph.subtract(graph.scaled(graph.columns(x, columns), 0.5), graph.constant([0.5 * np.array(starts)]))
    share = graph.clamped(graph.op("Div", above, graph.constant([np.array(halves)])), 0.0, 1.0)
    pieces = graph.add(graph.multiply(share, graph.constant([scales[:, 0]])), graph.constant([scales[:, 1]]))
    return graph.beside([z, pieces])


class Layers:
    """Parameters in their order, and the nets that are made of them."""

    def __init__(self, graph: Graph, params: np.ndarray) -> None:
        self._graph = graph
        self._params = params.astype(np.float64)
        self._at = 0

    def _take(self, *shape: int) -> np.ndarray:
        n = int(np.prod(shape))
        out = self._params[self._at : self._at + n].reshape(shape)
        self._at += n
        return out

    def net(
        self, x: Value, inputs: int, groups: int, widths: list[int], hidden: str, last: str, norm: str
    ) -> Value:
        """The next net: `groups` of one shape side by side, which read the same features."""
        graph = self._graph
        for index, units in enumerate(widths):
            is_last = index + 1 == len(widths)
            if index == 0:
                weights = self._take(inputs, groups * units)
            else:
                weights = np.zeros((groups * inputs, groups * units))
                for g in range(groups):
                    weights[g * inputs : (g + 1) * inputs, g * units : (g + 1) * units] = self._take(inputs, units)
            bias = self._take(groups * units)
            x = graph.op("MatMul", x, graph.constant(weights))
            if not is_last and norm == "batch":
                mean, variance = self._take(groups * units), self._take(groups * units)
                x = graph.multiply(graph.subtract(x, graph.constant([mean])), graph.constant([1 / np.sqrt(variance + _EPS)]))
            elif not is_last and norm == "layer":
                x = self._layer_normed(x, groups, units)
            x = activated(graph, graph.add(x, graph.constant([bias])), last if is_last else hidden)
            inputs = units
        return x

    def _layer_normed(self, x: Value, groups: int, units: int) -> Value:
        """Every net's sums of a row at mean zero and variance one; means over a net's units are a product."""
        graph = self._graph
        mean_of = graph.constant(np.kron(np.eye(groups), np.full((units, units), 1.0 / units)))
        centred = graph.subtract(x, graph.op("MatMul", x, mean_of))
        variance = graph.op("MatMul", graph.multiply(centred, centred), mean_of)
        return graph.op("Div", centred, graph.op("Sqrt", graph.shifted(variance, _EPS)))


def activated(graph: Graph, x: Value, activation: str) -> Value:
    """What units do with their sums."""
    if activation == "linear":
        return x
    if activation == "tanh":
        return graph.op("Tanh", x)
    zero = graph.number(0.0)
    positive = graph.op("Greater", x, zero)
    if activation == "elu":
        return graph.where(positive, x, graph.shifted(graph.op("Exp", graph.op("Min", x, zero)), -1.0))
    if activation == "leaky-relu":
        return graph.where(positive, x, graph.scaled(x, _LEAK))
    if activation == "softplus":
        rest = graph.op("Log", graph.shifted(graph.op("Exp", graph.op("Neg", graph.op("Abs", x))), 1.0))
        return graph.add(graph.op("Max", x, zero), rest)
    raise ValueError(f"unknown activation {activation!r}")


def outcomes(graph: Graph, state: State, x: Value) -> tuple[Value, Value]:
    """Expected outcomes of both arms by an ensemble of nets."""
    about = state.facts["about"]
    sums: list[list[Value]] = [[], []]
    for k in range(about["members"]):
        for c, share in enumerate(about["shares"]):
            pair = _net_outcomes(graph, state.part(f"member{k}", f"net{c}"), x)
            for arm in range(2):
                sums[arm].append(graph.scaled(pair[arm], share / about["members"]))
    mu0, mu1 = graph.total(sums[0]), graph.total(sums[1])
    shift = about["shift"]
    mu0, mu1 = (_shifted(graph, mu, by, shift["logit"]) for mu, by in zip((mu0, mu1), shift["arms"], strict=True))
    return _shrunk(graph, mu0, mu1, about["shrink"])


def _net_outcomes(graph: Graph, state: State, x: Value) -> tuple[Value, Value]:
    info = state.facts
    spec = info["spec"]
    stored = spec.get("norm", spec.get("layer_norm", "none"))
    norm = ("layer" if stored else "none") if isinstance(stored, bool) else str(stored)
    r, groups, hidden = spec["representation"], spec["groups"], spec["activation"]
    layers = Layers(graph, state["params"])
    z = standardised(graph, x, state["mean"], state["scale"], clamps=info["clamps"])
    if info.get("pieces"):
        z = with_pieces(graph, x, z, state)
    codes = layers.net(z, spec["d"], groups, [*spec["encoder"], r], hidden, spec["representation_activation"], norm)
    if spec["propensity"] is not None:
        widths, reads = spec["propensity"]
        layers.net(_stripe(graph, codes, reads, r), (reads["end"] - reads["start"]) * r, 1, [*widths, 1], hidden, "linear", norm)
    reads = spec["head_reads"]
    read = _stripe(graph, codes, reads, r)
    width = (reads["end"] - reads["start"]) * r
    heads = [layers.net(read, width, 1, [*spec["heads"], 1], hidden, "linear", norm) for _ in range(2)]
    if str(info["outcome"]).lower() == "binary":
        return graph.sigmoid(heads[0]), graph.sigmoid(heads[1])
    scale = info["scale"]
    mu0, mu1 = (graph.shifted(graph.scaled(h, scale["sd"]), scale["mean"]) for h in heads)
    return mu0, mu1


def _stripe(graph: Graph, codes: Value, reads: dict[str, int], r: int) -> Value:
    return graph.columns(codes, list(range(reads["start"] * r, reads["end"] * r)))


def _shifted(graph: Graph, mu: Value, by: float, logit: bool) -> Value:
    if by == 0.0:
        return mu
    return graph.sigmoid(graph.shifted(graph.logit(mu), by)) if logit else graph.shifted(mu, by)


def _shrunk(graph: Graph, mu0: Value, mu1: Value, shrink: dict[str, float]) -> tuple[Value, Value]:
    """Effects drawn towards their centre as far as held-out rows asked for."""
    if shrink["kept"] >= 1.0:
        return mu0, mu1
    a, b = (graph.logit(mu0), graph.logit(mu1)) if shrink["logit"] else (mu0, mu1)
    back = graph.scaled(graph.shifted(graph.subtract(b, a), -shrink["centre"]), 1.0 - shrink["kept"])
    a = graph.add(a, graph.scaled(back, shrink["treated"]))
    b = graph.subtract(b, graph.scaled(back, 1.0 - shrink["treated"]))
    return (graph.sigmoid(a), graph.sigmoid(b)) if shrink["logit"] else (a, b)
