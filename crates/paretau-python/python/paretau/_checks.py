"""What goes with `X`: outcome, treatment, weights, propensities, groups. Everything is checked before any fit."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _frames
from ._errors import DataError, DataWarning, InputTypeError, UsageError
from ._warnings import warn

# Words that mean control and treated by themselves; everything else must be given as 0 and 1.
_PAIRS = (
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("control", "treated"),
    ("control", "treatment"),
    ("0", "1"),
)
#: Which of a pair's words comes first: the control.
_PAIR_ORDER = {word: place for pair in _PAIRS for place, word in enumerate(pair)}
_MOST_NUMBERED_ARMS = 10
# Words that mean control among several arms.
_CONTROLS = ("control", "placebo", "none", "no", "untreated")


def numbers(what: str, values: Any, n_rows: int | None = None) -> np.ndarray:
    """A vector of finite doubles."""
    if values is None:
        raise DataError(f"{what} is None: fit requires it; this estimator requires y to be passed, but the target y is None")
    column = _frames.series(values)
    if column is not None:
        if column[0] != "numbers":
            raise DataError(f"{what} holds {column[0]}; it must be numbers")
        array = column[1]
    else:
        array = _frames.as_array(values)
    if array.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {what} holds complex numbers")
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be numbers: {error}") from error
    array = _flat(what, array)
    _check_length(what, array, n_rows)
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise DataError(
            f"Input {what} contains NaN or infinity: row {row + 1} holds {array[row]}; remove the row or mend the value"
        )
    return np.ascontiguousarray(array)


def treatment_column(
    values: Any, n_rows: int, y: np.ndarray | None = None, *, several: bool = False
) -> np.ndarray:
    """The treatment as 0.0 (control) and 1.0 (treated); with `several` also 2.0 and so on, for further arms."""
    if values is None:
        raise InputTypeError("treatment is None: pass treatment=t with 0 for control and 1 for treated, one entry per row")
    column = _frames.series(values)
    if column is None:
        array = _flat("treatment", _frames.as_array(values))
        column = ("numbers", array) if array.dtype.kind in "biuf" else _frames.object_column("treatment", array.astype(object))
    kind, cells = column
    if kind == "text":
        levels, codes = cells
        _check_length("treatment", codes, n_rows)
        return _from_text(levels, codes, y)
    array = np.asarray(cells, dtype=np.float64)
    _check_length("treatment", array, n_rows)
    if np.isnan(array).any():
        row = int(np.flatnonzero(np.isnan(array))[0])
        raise DataError(f"treatment: row {row + 1} is missing; leave rows without a treatment out")
    distinct = np.unique(array)
    # More numbers than this are a dose or a count, and not arms, unless the control is named.
    arms = max(2, min(len(distinct), _MOST_NUMBERED_ARMS)) if several else 2
    if kind == "dates" or not np.isin(distinct, np.arange(arms)).all():
        raise _not_binary([f"{v:g}" for v in distinct[:6]], len(distinct), y)
    _check_both_arms(array)
    return np.ascontiguousarray(array)


def arms_column(
    values: Any,
    n_rows: int,
    y: np.ndarray | None = None,
    *,
    several: bool = False,
    control: Any = None,
    arms: list[str] | None = None,
) -> tuple[_frames.Column, str | None]:
    """The treatment as a column, and the value that means control where the column does not say so by itself.

    0, 1, … speak for themselves, and so do words of which one means control; other values need `control`. `arms` are those of a
    fit: where they are a pair of words that mean no and yes, 0 and 1 will do as well.
    """
    column = _treatment_cells(values, n_rows)
    kind, cells = column
    if arms is not None and kind == "numbers" and is_pair(arms) and np.isin(cells, (0.0, 1.0)).all():
        return ("text", (list(arms), np.asarray(cells, dtype=np.int64))), control
    if control is None and (kind != "text" or not _names_a_control(*cells)):
        return ("numbers", treatment_column(values, n_rows, y, several=several)), None
    if kind == "dates":
        raise DataError("treatment holds dates; it must be numbers or words")
    if kind == "text":
        levels, codes = cells
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            raise DataError(f"treatment: row {row + 1} is missing; leave rows without a treatment out")
        found = [levels[k] for k in np.unique(codes)]
    else:
        numbers_ = np.asarray(cells, dtype=np.float64)
        if not np.isfinite(numbers_).all():
            row = int(np.flatnonzero(~np.isfinite(numbers_))[0])
            raise DataError(f"treatment: row {row + 1} is missing; leave rows without a treatment out")
        column = ("numbers", numbers_)
        found = [arm_text(float(v)) for v in np.unique(numbers_)]
    if control is not None:
        name = arm_text(control)
    elif is_pair(found):
        name = min(found, key=lambda word: _PAIR_ORDER[word.strip().lower()])
        _warn_of_swap(y, next(word for word in found if word != name))
    else:
        name = next(w for w in found if w.strip().lower() in _CONTROLS)
    if name not in found:
        raise UsageError(f"control={control!r}: no row has this treatment; the values are {', '.join(map(repr, found[:8]))}")
    if len(found) < 2:
        raise DataError(f"treatment is {found[0]!r} in every row (only one class): the effect needs rows of both arms")
    if len(found) > 2 and not several:
        raise _not_binary([repr(w) for w in found[:6]], len(found), y)
    return column, name


def arm_text(arm: Any) -> str:
    """An arm's name as the library spells it: 1, 1.0 and True are `1`."""
    if isinstance(arm, (bool, np.bool_)):
        return str(int(arm))
    if isinstance(arm, (float, np.floating)) and float(arm).is_integer():
        return str(int(arm))
    return str(arm)


def arm_names(column: _frames.Column) -> list[str]:
    """The arms that occur in a treatment column."""
    kind, cells = column
    if kind == "text":
        levels, codes = cells
        return [levels[k] for k in np.unique(codes)]
    return [arm_text(float(v)) for v in np.unique(cells)]


def is_pair(words: list[str]) -> bool:
    """Whether two words, and no digits, mean no and yes by themselves."""
    found = sorted(word.strip().lower() for word in words)
    return found != ["0", "1"] and found in [sorted(pair) for pair in _PAIRS]


def _names_a_control(levels: list[str], codes: np.ndarray) -> bool:
    """Whether one of the words means control."""
    used = [levels[k] for k in np.unique(codes[codes >= 0])]
    return is_pair(used) or sum(word.strip().lower() in _CONTROLS for word in used) == 1


def _warn_of_swap(y: np.ndarray | None, treated: str) -> None:
    """Warns of a yes/no outcome beside a treatment in words: which is which shows in neither."""
    if y is not None and _is_binary(y):
        warn(
            f"y is 0/1 and treatment is given in words; {treated!r} is taken as treated. "
            "Pass treatment as 0 and 1 to be sure that the two are not swapped",
        )


def _treatment_cells(values: Any, n_rows: int) -> _frames.Column:
    if values is None:
        raise InputTypeError("treatment is None: pass treatment=t with 0 for control and 1 for treated, one entry per row")
    column = _frames.series(values)
    if column is None:
        array = _frames.as_array(values)
        if array.dtype.kind in "biuf":
            column = ("numbers", array)
        else:
            column = _frames.object_column("treatment", array.astype(object).ravel())
    _check_length("treatment", column[1][1] if column[0] == "text" else column[1], n_rows)
    return column


def weights(what: str, values: Any, n_rows: int) -> np.ndarray | None:
    """Row weights or known propensities; `None` stays `None`. A single number goes for all rows."""
    if values is None:
        return None
    if isinstance(values, (int, float, np.number)):
        return np.full(n_rows, float(values))
    array = _frames.as_array(values) if _frames.series(values) is None else None
    if array is not None and array.ndim > 1:
        raise DataError(f"{what}: Sample weights must be 1D array or scalar, got an array of shape {array.shape}")
    checked = numbers(what, values, n_rows)
    if what == "sample_weight" and not checked.any():
        raise DataError("sample_weight: every weight is zero, so there is no row to learn from")
    return checked


def group_column(values: Any, n_rows: int) -> _frames.Column | None:
    """Groups as codes of whatever they are."""
    if values is None:
        return None
    column = _frames.series(values)
    if column is None:
        array = _flat("groups", _frames.as_array(values))
        _, codes = np.unique(array.astype(str) if array.dtype.kind == "O" else array, return_inverse=True)
        column = ("numbers", codes.astype(np.float64))
    _check_length("groups", column[1][1] if column[0] == "text" else column[1], n_rows)
    return column


def _from_text(levels: list[str], codes: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise DataError(f"treatment: row {row + 1} is missing; leave rows without a treatment out")
    used = np.unique(codes)
    words = [levels[k] for k in used]
    lower = [w.strip().lower() for w in words]
    for no, yes in _PAIRS:
        if sorted(lower) == sorted((no, yes)):
            treated = used[lower.index(yes)]
            _warn_of_swap(y, words[lower.index(yes)])
            return (codes == treated).astype(np.float64)
    raise _not_binary([repr(w) for w in words[:6]], len(words), y)


def _not_binary(shown: list[str], n_values: int, y: np.ndarray | None) -> DataError:
    more = ", …" if n_values > len(shown) else ""
    hint = " y holds only 0 and 1: have y and treatment been swapped?" if y is not None and _is_binary(y) else ""
    return DataError(
        f"treatment must be 0 (control) or 1 (treated), or 0, 1, 2, … for several arms, but it has {n_values} values: "
        f"{', '.join(shown)}{more}. For other codes pass a comparison such as treatment=(t == 'drug'), "
        f"with the rows of other arms left out, or name the control with control='placebo'.{hint}"
    )


def _check_both_arms(array: np.ndarray) -> None:
    if array.size and (array == array[0]).all():
        raise DataError(
            f"treatment is {array[0]:g} in every row (only one class): the effect needs rows of both arms"
        )


def _is_binary(y: np.ndarray) -> bool:
    return bool(np.isin(y, (0.0, 1.0)).all())


def _flat(what: str, array: np.ndarray) -> np.ndarray:
    if array.ndim == 2 and array.shape[1] == 1:
        warn(
            f"A column-vector {what} was passed when a 1d array was expected. "
            f"Please change the shape of {what} to (n_samples,), for example using ravel().",
            _conversion_warning(),
        )
        return array.ravel()
    if array.ndim != 1:
        raise DataError(f"{what} should be a 1d array, got an array of shape {array.shape} instead.")
    return array


def _check_length(what: str, array: np.ndarray, n_rows: int | None) -> None:
    if n_rows is not None and len(array) != n_rows:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, {what} has {len(array)}"
        )


def _conversion_warning() -> type[Warning]:
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return DataWarning
    return DataConversionWarning


def refuse_search_without_treatment() -> None:
    """Refuses a fit inside a scikit-learn search that will not hand the treatment on to `score`.

    The search would swallow the scorer's complaint, score NaN, and choose at random; what a fit raises it passes on.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_fit_and_score" and frame.f_globals.get("__name__", "").startswith("sklearn."):
            scorer = frame.f_locals.get("scorer")
            inner = getattr(scorer, "_scorers", None)
            scorers = list(inner.values()) if isinstance(inner, dict) else [scorer]
            by_us = any(type(s).__name__ == "_PassthroughScorer" for s in scorers)
            if by_us and "treatment" not in (frame.f_locals.get("score_params") or {}):
                raise UsageError(
                    "the search would have to score without the treatment: use "
                    "sklearn.set_config(enable_metadata_routing=True), with which it hands the treatment on by itself, or "
                    "fit with treatment='name of a column of X'"
                )
            return
        frame = frame.f_back
