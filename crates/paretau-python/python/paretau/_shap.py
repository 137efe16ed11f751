"""Why a row's effect is as it is: Shapley values of the columns, which add up to the effect exactly.

A column's value is how much the predicted effect changes, on average, when the column goes from a background row's value to the
row's own, over background rows and orders in which columns go. Columns are those of the data, whatever the encoder makes of
them. Few columns are worked out over all their subsets; otherwise orders are drawn, each with its reverse, and since every order
leads from the background row to the row itself, the sum is exact with any number of them and only its division is estimated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import factorial
from typing import Any

import numpy as np

from ._errors import UsageError
from ._tables import Input

#: Rows of mixtures that are predicted at a time.
_ROWS_AT_A_TIME = 1 << 16
#: Background rows by default, and columns up to which all subsets are worked out by default.
BACKGROUND, EXACT = 50, 6


@dataclass(frozen=True)
class Explanation:
    """Shapley values of predicted effects; the attributes are those of `shap.Explanation`."""

    values: np.ndarray
    base_values: np.ndarray
    data: Any
    feature_names: list[str]
    standard_errors: np.ndarray

    def to_shap(self) -> Any:
        """As a `shap.Explanation`, for the plots of the shap package."""
        import shap

        return shap.Explanation(
            values=self.values, base_values=self.base_values, data=np.asarray(self.data), feature_names=self.feature_names
        )


def explain(
    effect: Callable[[Input], np.ndarray], rows: Input, background: Input, permutations: int | str | None, rng: np.random.Generator
) -> tuple[np.ndarray, float, np.ndarray]:
    """Values and standard errors per row and column, and the mean effect of the background rows."""
    d = rows.n_cols
    if permutations is None:
        permutations = "exact" if d <= EXACT else 2
    if permutations == "exact":
        if d > 16:
            raise UsageError(f"{d} columns have {2.0**d:.0f} subsets: pass permutations=, a number of orders per background row")
        return _over_all_subsets(effect, rows, background)
    if isinstance(permutations, bool) or not isinstance(permutations, (int, np.integer)) or permutations < 1:
        raise UsageError(f"permutations must be a whole number from 1 on, or 'exact', not {permutations!r}")
    return _over_orders(effect, rows, background, int(permutations), rng)


def _over_all_subsets(
    effect: Callable[[Input], np.ndarray], rows: Input, background: Input
) -> tuple[np.ndarray, float, np.ndarray]:
    n, m, d = rows.n_rows, background.n_rows, rows.n_cols
    subsets = np.array(list(product([False, True], repeat=d)), dtype=bool)
    # The mean effect of every row and subset of columns that are the row's own.
    worth = np.empty((n, len(subsets)))
    own, others = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    for s, subset in enumerate(subsets):
        mixed = _effects(effect, rows, background, own, others, np.broadcast_to(subset, (n * m, d)))
        worth[:, s] = mixed.reshape(n, m).mean(axis=1)
    sizes = subsets.sum(axis=1)
    values = np.zeros((n, d))
    for j in range(d):
        without = np.flatnonzero(~subsets[:, j])
        # Subsets are counted in binary, the last column in the last place.
        with_it = without + (1 << (d - 1 - j))
        weights = np.array([factorial(s) * factorial(d - 1 - s) / factorial(d) for s in sizes[without]])
        values[:, j] = (worth[:, with_it] - worth[:, without]) @ weights
    return values, float(worth[0, 0]), np.zeros((n, d))


def _over_orders(
    effect: Callable[[Input], np.ndarray], rows: Input, background: Input, permutations: int, rng: np.random.Generator
) -> tuple[np.ndarray, float, np.ndarray]:
    n, m, d = rows.n_rows, background.n_rows, rows.n_cols
    base = effect(background)
    own = effect(rows)
    total, squares, pairs = np.zeros((n, d)), np.zeros((n, d)), 0
    for b in range(m):
        for _ in range(permutations):
            order = rng.permutation(d)
            both = np.zeros((n, d))
            for path in (order, order[::-1]):
                # After k steps the first k columns of the path are the row's own; both ends are known.
                steps = np.zeros((d - 1, d), dtype=bool)
                for k in range(1, d):
                    steps[k - 1, path[:k]] = True
                mixed = _effects(
                    effect, rows, background, np.repeat(np.arange(n), d - 1), np.full(n * (d - 1), b), np.tile(steps, (n, 1))
                )
                levels = np.column_stack([np.full(n, base[b]), mixed.reshape(n, d - 1), own])
                both[:, path] += np.diff(levels, axis=1) / 2.0
            total += both
            squares += both**2
            pairs += 1
    values = total / pairs
    spread = np.maximum(squares / pairs - values**2, 0.0)
    errors = np.sqrt(spread / (pairs - 1)) if pairs > 1 else np.full((n, d), np.nan)
    return values, float(base.mean()), errors


def _effects(
    effect: Callable[[Input], np.ndarray], rows: Input, background: Input, own: np.ndarray, others: np.ndarray, is_own: np.ndarray
) -> np.ndarray:
    """Effects of rows that have some columns of `rows[own]` and the others of `background[others]`."""
    found = []
    for start in range(0, len(own), _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        found.append(effect(rows.mixed(background, own[part], others[part], is_own[part])))
    return np.concatenate(found) if found else np.zeros(0)
