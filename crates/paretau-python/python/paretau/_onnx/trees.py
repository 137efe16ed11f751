"""Forests as ONNX's tree ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._model_state import State
from .graph import ML, Graph, Value

_LEAF, _MISSING_LEFT, _SET, _INDEX = 1 << 31, 1 << 30, 1 << 29, (1 << 29) - 1
_LEQ, _MEMBER = 0, 6
_SUM = 1


@dataclass(frozen=True)
class Trees:
    """The nodes of a forest in the order that ONNX wants, and the statistics of its leaves."""

    attributes: dict[str, Any]
    #: Which row of `stats` each leaf has; -1 where it has none.
    leaf_stats: np.ndarray
    stats: np.ndarray
    n_trees: int

    @classmethod
    def of(cls, forest: State, bins: State) -> Trees:
        """Reads a forest whose columns were binned by `bins`."""
        child = forest["child"].astype(np.int64)
        feature, cut = forest["feature"].astype(np.int64), forest["cut"].astype(np.int64)
        roots = forest["roots"].astype(np.int64)
        is_leaf = (child & _LEAF) != 0
        index = child & _INDEX
        inner = np.flatnonzero(~is_leaf)
        # A tree that is a leaf becomes a node whose both sides are that leaf.
        lone = np.array([r for r in roots if is_leaf[r]], dtype=np.int64)
        node_of = np.full(len(child), -1)
        node_of[inner] = np.arange(len(inner))
        node_of[lone] = len(inner) + np.arange(len(lone))
        leaf_of = np.full(len(child), -1)
        leaf_of[is_leaf] = np.arange(int(is_leaf.sum()))
        left, right = index[inner], index[inner] + 1
        ends = [np.concatenate([ends, lone]) for ends in (left, right)]
        is_end = [is_leaf[side] for side in ends]
        targets = [np.where(end, leaf_of[side], node_of[side]) for side, end in zip(ends, is_end, strict=True)]
        modes, splits, members = _conditions(forest, bins, roots, inner, child, feature, cut)
        n_lone = len(lone)
        attributes = {
            "aggregate_function": _SUM,
            "n_targets": 1,
            "nodes_featureids": feature[inner].tolist() + [0] * n_lone,
            "nodes_splits": np.concatenate([splits, np.zeros(n_lone)]),
            "nodes_modes": np.concatenate([modes, np.zeros(n_lone)]).astype(np.uint8),
            "nodes_truenodeids": targets[0].tolist(),
            "nodes_falsenodeids": targets[1].tolist(),
            "nodes_trueleafs": is_end[0].astype(int).tolist(),
            "nodes_falseleafs": is_end[1].astype(int).tolist(),
            "nodes_missing_value_tracks_true": ((child[inner] & _MISSING_LEFT) != 0).astype(int).tolist() + [0] * n_lone,
            "tree_roots": node_of[roots].tolist(),
            "leaf_targetids": [0] * int(is_leaf.sum()),
        }
        if len(members):
            attributes["membership_values"] = members
        leaves = index[is_leaf]
        leaf_stats = np.where(leaves == _INDEX, -1, leaves)
        return cls(attributes, leaf_stats, forest["leaves"].astype(np.float64), len(roots))

    def sum_of(self, graph: Graph, x: Value, values: np.ndarray) -> Value:
        """Sum over the trees of a number per leaf, as a column."""
        return graph.op("TreeEnsemble", x, domain=ML, leaf_weights=values.astype(np.float64), **self.attributes)

    def statistic(self, graph: Graph, x: Value, k: int) -> Value:
        """Sum over the trees of the k-th statistic of the leaves."""
        found = self.leaf_stats >= 0
        return self.sum_of(graph, x, np.where(found, self.stats[np.where(found, self.leaf_stats, 0), k], 0.0))

    def count(self, graph: Graph, x: Value) -> Value:
        """Number of trees that say something about a row."""
        if (self.leaf_stats >= 0).all():
            return graph.number(float(self.n_trees))
        return self.sum_of(graph, x, (self.leaf_stats >= 0).astype(np.float64))


def _conditions(
    forest: State, bins: State, roots: np.ndarray, inner: np.ndarray, child: np.ndarray, feature: np.ndarray, cut: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kind of each condition, its threshold, and the members of the sets, each followed by NaN."""
    sizes = bins.facts["sizes"]
    cuts, codes = [], []
    at_cut = at_code = 0
    for size in sizes:
        n = size if size >= 0 else -1 - size
        cuts.append(np.append(bins["cuts"][at_cut : at_cut + n], np.inf) if size >= 0 else None)
        codes.append(bins["level_codes"][at_code : at_code + n] if size < 0 else None)
        at_cut, at_code = (at_cut + n, at_code) if size >= 0 else (at_cut, at_code + n)
    words = forest["sets"].reshape(-1, 8)
    tree_of = np.searchsorted(roots, inner, side="right") - 1
    first_set = forest["first_set"].astype(np.int64)
    modes, splits = np.zeros(len(inner)), np.zeros(len(inner))
    members: list[float] = []
    for k, node in enumerate(inner):
        bounds, levels = cuts[feature[node]], codes[feature[node]]
        if bounds is not None:
            splits[k] = bounds[min(cut[node], len(bounds) - 1)]
            continue
        assert levels is not None
        if child[node] & _SET:
            word = words[first_set[tree_of[k]] + cut[node]]
            chosen = [level for level, code in enumerate(levels) if word[code >> 5] >> (code & 31) & 1]
        else:
            chosen = [level for level, code in enumerate(levels) if code <= cut[node]]
        modes[k] = _MEMBER
        # No level is -1: a set that only missing values decide about must not be empty.
        members += [*map(float, chosen or [-1]), np.nan]
    return modes, splits, np.array(members)
