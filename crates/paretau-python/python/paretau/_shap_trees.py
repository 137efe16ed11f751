"""Shapley values by the trees themselves, for effects that are sums: of trees, of lines, or of both.

Boosted trees, regression forests, lines, stacks of them, and the meta-learners whose effect is a difference of such predictions or
one of them (T, S, R and DR) are sums. A causal forest is not, since its effect is a ratio of two sums over trees, nor is an
X-learner, whose effects are mixed by the propensity: there is no such walk for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._model_state import State
from ._paretau import tree_shapley

_LEAF, _MISSING_LEFT, _SET, _INDEX, _MISSING = 1 << 31, 1 << 30, 1 << 29, (1 << 29) - 1, 65535


@dataclass(frozen=True)
class Line:
    """`weight` times a line through the encoded columns, and what is added after the last of them."""

    weight: float
    coef: np.ndarray


@dataclass(frozen=True)
class Ensemble:
    """`weight` times the sum over trees; `arm` is the treatment's value in the column behind the features, if there is one."""

    weight: float
    forest: State
    bins: State
    arm: float | None


Part = Line | Ensemble


def parts(state: State, n_treated: int, place: int) -> list[Part] | None:
    """What the effect of an arm is the sum of; nothing where it is no such sum."""
    facts = state.facts
    if n_treated > 1:
        if "arms" in state or "n_arms" not in state:
            return None
        state = state.part(f"contrast{place - 1}")
    return _of(state) if isinstance(facts, dict) else None


def _of(state: State) -> list[Part] | None:
    facts = state.facts
    if isinstance(facts.get("shares"), list):
        return _together([(share, _of(state.part(f"block{k}"))) for k, share in enumerate(facts["shares"])])
    if facts.get("arms") == "shared":
        return []
    if facts.get("arms") == "separate":
        return [Line(1.0, state["1/coef"]), Line(-1.0, state["0/coef"])]
    recipe = facts.get("recipe")
    if recipe == "t":
        return _together([(1.0, _base(state, "mu1", None)), (-1.0, _base(state, "mu0", None))])
    if recipe == "s":
        return _together([(1.0, _base(state, "mu", 1.0)), (-1.0, _base(state, "mu", 0.0))])
    if recipe in ("r", "dr"):
        return _base(state, "tau", None)
    return None


def _base(state: State, name: str, arm: float | None) -> list[Part] | None:
    if name in state.facts.get("knots", {}):
        return None
    return _regression(state.facts["bases"][name], state.part(name), arm)


def _regression(base: str, state: State, arm: float | None) -> list[Part] | None:
    """The parts of a base learner's prediction; probabilities are no sums."""
    facts = state.facts
    if base == "ridge":
        return None if facts["probability"] else [Line(1.0, state["ridge/coef"])]
    if base == "lasso":
        return None if facts["probability"] else [Line(1.0, state["lasso/coef"])]
    if base == "forest":
        forest = state.part("means", "forest")
        # Where a tree may say nothing, the mean over those that do is no sum.
        speaks = _leaves(forest)[1].all()
        if facts["facts"]["target"] == "probability" or not speaks:
            return None
        return [Ensemble(1.0 / len(forest["roots"]), forest, state.part("bins"), arm)]
    if base == "boosting":
        own = facts["facts"]
        if str(own["loss"]).lower() == "logistic":
            return None
        return [Ensemble(own["scale"] / own["n_models"], state.part("trees"), state.part("bins"), arm)]
    if base == "stack":
        return _together([(w, _regression(name, state.part(name), arm)) for name, w in facts["stack"]["weights"]])
    return None


def _together(weighted: list[tuple[float, list[Part] | None]]) -> list[Part] | None:
    out: list[Part] = []
    for weight, own in weighted:
        if own is None:
            return None
        for part in own:
            if isinstance(part, Line):
                out.append(Line(weight * part.weight, part.coef))
            else:
                out.append(Ensemble(weight * part.weight, part.forest, part.bins, part.arm))
    return out


def values(found: list[Part], x: np.ndarray, background: np.ndarray, owners: np.ndarray, n_columns: int) -> np.ndarray:
    """Shapley values per row and column of the data, from encoded rows; `owners` says which column each encoded one is made of."""
    out = np.zeros((len(x), n_columns))
    for part in found:
        if isinstance(part, Line):
            # The treatment of an S-learner stands behind the features, and is the same in both rows.
            share = part.weight * part.coef[: x.shape[1]] * (x - background.mean(axis=0))
            np.add.at(out.T, owners, share.T)
        else:
            out += part.weight * _of_trees(part, x, background, owners, n_columns)
    return out


def _of_trees(part: Ensemble, x: np.ndarray, background: np.ndarray, owners: np.ndarray, n_columns: int) -> np.ndarray:
    child, (index, _) = part.forest["child"].astype(np.int64), _leaves(part.forest)
    is_leaf = (child & _LEAF) != 0
    places = np.arange(len(child))
    left = np.where(is_leaf, places, child & _INDEX)
    right = np.where(is_leaf, places, (child & _INDEX) + 1)
    # A treatment that both rows share never parts them; it needs a column of its own all the same.
    column = np.append(owners, n_columns)[np.where(is_leaf, 0, part.forest["feature"].astype(np.int64))]
    stats = part.forest["leaves"].astype(np.float64)
    value = np.zeros(len(child))
    value[is_leaf] = stats[index, 0]
    whole = [rows if part.arm is None else np.column_stack([rows, np.full(len(rows), part.arm)]) for rows in (x, background)]
    turns = [_turns(part, rows, is_leaf).ravel() for rows in whole]
    found = tree_shapley(
        part.forest["roots"].astype(np.uint32),
        left.astype(np.uint32),
        right.astype(np.uint32),
        column.astype(np.uint32),
        value,
        *turns,
        n_columns=n_columns + 1,
    )
    return found.reshape(len(x), n_columns + 1)[:, :n_columns]


def _leaves(forest: State) -> tuple[np.ndarray, np.ndarray]:
    """The statistics' row of each leaf, and whether it has one."""
    child = forest["child"].astype(np.int64)
    index = child[(child & _LEAF) != 0] & _INDEX
    return index, index != _INDEX


def _turns(part: Ensemble, rows: np.ndarray, is_leaf: np.ndarray) -> np.ndarray:
    """Whether each row goes right at each node, as bytes."""
    forest, child = part.forest, part.forest["child"].astype(np.int64)
    feature, cut = forest["feature"].astype(np.int64), forest["cut"].astype(np.int64)
    codes = _codes(part.bins, rows)
    out = np.zeros((len(rows), len(child)), dtype=np.uint8)
    plain = np.flatnonzero(~is_leaf)
    own = codes[:, feature[plain]]
    missing_right = (child[plain] & _MISSING_LEFT) == 0
    out[:, plain] = np.where(own == _MISSING, missing_right, own > cut[plain])
    sets = plain[(child[plain] & _SET) != 0]
    if len(sets):
        words = forest["sets"].reshape(-1, 8).astype(np.int64)
        tree = np.searchsorted(forest["roots"].astype(np.int64), sets, side="right") - 1
        word = words[forest["first_set"].astype(np.int64)[tree] + cut[sets]]
        own = codes[:, feature[sets]]
        known = np.where(own == _MISSING, 0, own)
        member = word[np.arange(len(sets)), known >> 5 & 7] >> (known & 31) & 1
        out[:, sets] = np.where(own == _MISSING, (child[sets] & _MISSING_LEFT) == 0, member == 0)
    return out


def _codes(bins: State, rows: np.ndarray) -> np.ndarray:
    """The bin of each cell, as the forest codes it."""
    out = np.empty(rows.shape, dtype=np.int64)
    at_cut = at_code = 0
    for j, size in enumerate(bins.facts["sizes"]):
        cells = rows[:, j]
        missing = np.isnan(cells)
        if size >= 0:
            out[:, j] = np.searchsorted(bins["cuts"][at_cut : at_cut + size], cells, side="left")
            at_cut += size
        else:
            levels = bins["level_codes"][at_code : at_code - 1 - size].astype(np.int64)
            at_code += -1 - size
            missing |= ~((cells >= 0) & (cells == np.floor(cells)) & (cells < len(levels)))
            out[:, j] = levels[np.where(missing, 0, cells).astype(np.int64)]
        out[missing, j] = _MISSING
    return out


def encoded(model: Any, tables: Any) -> np.ndarray:
    """Rows as the model reads them."""
    width = len(model.encoded_names())
    return np.concatenate([np.asarray(model.encoded(table)).reshape(-1, width) for table in tables])
