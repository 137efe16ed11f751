"""Metrics of predicted effects, on arrays: what type checkers know of functions that are made from the library's list."""

from typing import Any, Literal, overload

METRICS: list[dict[str, str]]
__all__: list[str]

@overload
def pehe(true_effect: Any, effect: Any, *, with_error: Literal[False] = ...) -> float: ...
@overload
def pehe(true_effect: Any, effect: Any, *, with_error: Literal[True]) -> tuple[float, float | None]: ...
@overload
def pehe_rel(true_effect: Any, effect: Any, *, with_error: Literal[False] = ...) -> float: ...
@overload
def pehe_rel(true_effect: Any, effect: Any, *, with_error: Literal[True]) -> tuple[float, float | None]: ...
@overload
def ate(effect: Any, *, with_error: Literal[False] = ...) -> float: ...
@overload
def ate(effect: Any, *, with_error: Literal[True]) -> tuple[float, float | None]: ...
@overload
def ate_error(true_effect: Any, effect: Any, *, with_error: Literal[False] = ...) -> float: ...
@overload
def ate_error(true_effect: Any, effect: Any, *, with_error: Literal[True]) -> tuple[float, float | None]: ...
@overload
def dr_score(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[False] = ...,
) -> float: ...
@overload
def dr_score(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[True],
) -> tuple[float, float | None]: ...
@overload
def r_score(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[False] = ...,
) -> float: ...
@overload
def r_score(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[True],
) -> tuple[float, float | None]: ...
@overload
def t_score(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[False] = ...,
) -> float: ...
@overload
def t_score(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[True],
) -> tuple[float, float | None]: ...
@overload
def autoc(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[False] = ...,
) -> float: ...
@overload
def autoc(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[True],
) -> tuple[float, float | None]: ...
@overload
def qini(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[False] = ...,
) -> float: ...
@overload
def qini(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[True],
) -> tuple[float, float | None]: ...
@overload
def auuc(
    effect: Any, y: Any, *, treatment: Any, sample_weight: Any = ..., random_state: Any = ..., with_error: Literal[False] = ...
) -> float: ...
@overload
def auuc(
    effect: Any, y: Any, *, treatment: Any, sample_weight: Any = ..., random_state: Any = ..., with_error: Literal[True]
) -> tuple[float, float | None]: ...
@overload
def calibration(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[False] = ...,
) -> float: ...
@overload
def calibration(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[True],
) -> tuple[float, float | None]: ...
@overload
def calibration_mean(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[False] = ...,
) -> float: ...
@overload
def calibration_mean(
    effect: Any,
    y: Any,
    *,
    treatment: Any,
    propensity: Any,
    mu0: Any = ...,
    mu1: Any = ...,
    m: Any = ...,
    sample_weight: Any = ...,
    random_state: Any = ...,
    with_error: Literal[True],
) -> tuple[float, float | None]: ...
@overload
def encoder_instrument(feature_roles: list[dict[str, Any]], *, with_error: Literal[False] = ...) -> float: ...
@overload
def encoder_instrument(feature_roles: list[dict[str, Any]], *, with_error: Literal[True]) -> tuple[float, float | None]: ...
@overload
def encoder_confounder(feature_roles: list[dict[str, Any]], *, with_error: Literal[False] = ...) -> float: ...
@overload
def encoder_confounder(feature_roles: list[dict[str, Any]], *, with_error: Literal[True]) -> tuple[float, float | None]: ...
@overload
def encoder_adjuster(feature_roles: list[dict[str, Any]], *, with_error: Literal[False] = ...) -> float: ...
@overload
def encoder_adjuster(feature_roles: list[dict[str, Any]], *, with_error: Literal[True]) -> tuple[float, float | None]: ...
