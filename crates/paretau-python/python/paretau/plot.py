"""Pictures on matplotlib (`pip install paretau[plot]`). Each function draws on the axes it is given, or on new ones, and
returns them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _frames
from ._decisions import Policy, Roles
from ._errors import DataError, UsageError
from ._estimator import Estimator
from ._inference import Ranking

__all__ = [
    "calibration",
    "effect_by_feature",
    "effects",
    "groups",
    "love",
    "overlap",
    "policy_tree",
    "roles",
    "sensitivity",
    "toc",
    "training",
    "weights",
]

#: Control, treated, and a third for what matters most: told apart by people who see few colours, and in print.
_CONTROL, _TREATED, _ACCENT, _GREY = "#4477aa", "#cc6633", "#222222", "#999999"
_ROLES = {"confounder": "#cc6633", "instrument": "#4477aa", "adjuster": "#228833", "none": "#bbbbbb"}
#: Rows that a love plot shows.
_MOST_FEATURES = 30


def _axes(ax: Any, width: float = 6.0, height: float = 4.0) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise UsageError("pictures need matplotlib: pip install paretau[plot]") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _findings(model: Estimator) -> dict[str, Any]:
    model._check_fitted()
    found = json.loads(model.model_.findings())
    if found is None:
        raise DataError("the model's file is of an early version, which kept no findings; fit again")
    return found


def _plain(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _rows(ax: Any, names: list[str]) -> np.ndarray:
    """Heights of named rows, the first on top, with half a row of air at either end."""
    place = np.arange(len(names))[::-1]
    ax.set_yticks(place, names)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.tick_params(axis="y", length=0)
    return place


def _legend_below(ax: Any) -> None:
    """A legend under the axes, where it hides nothing however few rows there are."""
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles,
        labels,
        frameon=False,
        fontsize="small",
        ncols=len(labels),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=_below(ax),
        borderaxespad=0.0,
    )


def _below(ax: Any) -> Any:
    """Across the axes as they are; down from the axis and its label in points."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    figure = ax.figure
    down = ScaledTranslation(0, -38 / 72, figure.dpi_scale_trans)
    return blended_transform_factory(ax.transAxes, ax.transAxes + down)


def overlap(model: Estimator, ax: Any = None, *, arm: Any = None) -> Any:
    """Propensities of the rows without treatment (below) and with it (above): arms overlap where both have bars."""
    report = model.overlap_report(arm=arm)
    ax = _axes(ax)
    bins = report["histogram"]
    start, width = [b["from"] for b in bins], [b["to"] - b["from"] for b in bins]
    arms = [model.arms_[0], model.arms_[model._arm_place(arm)]]
    ax.bar(start, [b["treated"] for b in bins], width, align="edge", color=_TREATED, label=f"{arms[1]} (treated)")
    ax.bar(start, [-b["control"] for b in bins], width, align="edge", color=_CONTROL, label=f"{arms[0]} (control)")
    ax.axhline(0.0, color=_ACCENT, linewidth=0.8)
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    ax.set(xlabel="propensity", ylabel="rows", title="Overlap of the arms", xlim=(0, 1))
    ax.legend(frameon=False)
    return _plain(ax)


def weights(model: Estimator, ax: Any = None, *, arm: Any = None) -> Any:
    """Inverse weights of the training rows of an arm and the control by rank, before smoothing (open) and after (filled)."""
    raw, smooth = model.raw_weights_, model.weights_
    column = model._arm_place(arm) - 1
    if raw.ndim == 2:
        compared = ~np.isnan(raw[:, column])
        raw, smooth = raw[compared, column], smooth[compared, column]
    ax = _axes(ax)
    order = np.argsort(-raw, kind="stable")
    rank = np.arange(1, len(raw) + 1)
    ax.plot(rank, raw[order], "o", markersize=3.5, markerfacecolor="none", color=_TREATED, label="raw")
    ax.plot(rank, smooth[order], ".", markersize=3.5, color=_CONTROL, label="Pareto-smoothed")
    ax.set(xscale="log", yscale="log", xlabel="rank, largest first", ylabel="weight", title="Weights before and after smoothing")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    # Weights of less than two powers of ten would have one label.
    close = raw.max() < 30 * max(smooth.min(), 1e-300)
    ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if close and f"{value:e}"[0] in "235" else "")
    ax.legend(frameon=False)
    return _plain(ax)


def love(model: Estimator, ax: Any = None, *, threshold: float = 0.1, arm: Any = None) -> Any:
    """Standardised mean differences of the features between the arms, before and after weighting, worst first."""
    balance = _findings(model)["arms"][model._arm_place(arm) - 1]["balance"]
    found = [b for b in balance if b["before"] is not None and b["after"] is not None][:_MOST_FEATURES]
    if not found:
        raise DataError("the fit found no balance to show")
    ax = _axes(ax, height=1.5 + 0.28 * len(found))
    place = _rows(ax, [b["name"] for b in found])
    before, after = [abs(b["before"]) for b in found], [abs(b["after"]) for b in found]
    ax.hlines(place, before, after, color=_GREY, linewidth=0.8)
    ax.plot(before, place, "o", markerfacecolor="none", color=_TREATED, label="before weighting")
    ax.plot(after, place, "o", color=_CONTROL, label="after weighting")
    ax.axvline(threshold, color=_ACCENT, linestyle="--", linewidth=0.8)
    ax.set(xlabel="absolute standardised difference of means", title="Balance of the features", xlim=(0, None))
    _legend_below(ax)
    return _plain(ax)


def effects(model: Estimator, X: Any, ax: Any = None, *, alpha: float = 0.05, T1: Any = None) -> Any:
    """Effects of the rows of `X`, sorted, with intervals where the estimator has them, and the average of the training rows."""
    tau = model.effect(X, T1=T1)
    order = np.argsort(tau, kind="stable")
    share = (np.arange(len(tau)) + 0.5) / len(tau)
    ax = _axes(ax)
    try:
        low, high = model.effect_interval(X, alpha=alpha, T1=T1)
        ax.fill_between(
            share, low[order], high[order], color=_CONTROL, alpha=0.25, linewidth=0, label=f"{100 * (1 - alpha):g} % intervals"
        )
    except UsageError:
        pass  # this estimator has none; the effects are worth a picture nevertheless
    ax.plot(share, tau[order], color=_CONTROL, label="effect")
    try:
        ax.axhline(model.ate(arm=T1), color=_TREATED, linestyle="--", linewidth=1, label="average effect")
    except DataError:
        pass  # too few rows carry an average
    ax.axhline(0.0, color=_ACCENT, linewidth=0.8)
    ax.set(xlabel="share of the rows", ylabel="effect", title="Effects, smallest first", xlim=(0, 1))
    ax.legend(frameon=False)
    return _plain(ax)


def effect_by_feature(
    model: Estimator, X: Any, feature: Any, ax: Any = None, *, bins: int = 10, alpha: float = 0.05, T1: Any = None
) -> Any:
    """Effects of the rows of `X` against one feature, by name or place: each row, and means within quantile bins (or levels)
    with the mean interval where the estimator has intervals."""
    tau = model.effect(X, T1=T1)
    kind, values, name = _feature(model, X, feature)
    low: Any = None
    high: Any = None
    try:
        low, high = model.effect_interval(X, alpha=alpha, T1=T1)
    except UsageError:
        pass  # this estimator has none
    ax = _axes(ax)
    parts: list[tuple[float, np.ndarray]]
    if kind == "text":
        levels, codes = values
        used = np.unique(codes[codes >= 0])
        parts = [(float(k), codes == level) for k, level in enumerate(used)]
        jitter = np.random.default_rng(0).uniform(-0.15, 0.15, len(tau))
        place = np.full(len(tau), np.nan)
        for k, part in parts:
            place[part] = k
        ax.plot(place + jitter, tau, ".", markersize=3, color=_GREY, alpha=0.5)
        ax.set_xticks(range(len(used)), [levels[level] for level in used])
    else:
        known = np.isfinite(values)
        edges = np.unique(np.quantile(values[known], np.linspace(0, 1, bins + 1)))
        if len(edges) < 2:
            raise DataError(f"{name} is the same in every row")
        which = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        inside = [known & (which == k) for k in range(len(edges) - 1)]
        parts = [(float(values[part].mean()), part) for part in inside if part.any()]
        ax.plot(values, tau, ".", markersize=3, color=_GREY, alpha=0.5)
    at = [place for place, _ in parts]
    means = [tau[part].mean() for _, part in parts]
    if low is not None:
        ends = [[low[part].mean() for _, part in parts], [high[part].mean() for _, part in parts]]
        if kind == "text":
            ax.vlines(at, *ends, color=_CONTROL, linewidth=2, label=f"mean {100 * (1 - alpha):g} % interval")
        else:
            ax.fill_between(at, *ends, color=_CONTROL, alpha=0.25, linewidth=0, label=f"mean {100 * (1 - alpha):g} % interval")
    ax.plot(at, means, "o" if kind == "text" else "o-", color=_CONTROL, label="mean effect")
    ax.axhline(0.0, color=_ACCENT, linewidth=0.8)
    ax.set(xlabel=name, ylabel="effect", title=f"Effect against {name}")
    if kind == "text":
        ax.set_xlim(-0.6, len(at) - 0.4)
        _legend_below(ax)
    else:
        ax.legend(frameon=False)
    return _plain(ax)


def _feature(model: Estimator, X: Any, feature: Any) -> tuple[str, Any, str]:
    if _frames.is_frame(X):
        names = _frames.column_names(X)
        name = feature if isinstance(feature, str) else names[feature]
        if name not in names:
            raise UsageError(f"X has no column {name!r}")
        kind, values = dict(_frames.columns(X, {name}))[name]
        return kind, values, name
    matrix = np.asarray(X, dtype=np.float64)
    place = model._names.index(feature) if isinstance(feature, str) and feature in model._names else feature
    if not isinstance(place, (int, np.integer)) or not -matrix.shape[1] <= place < matrix.shape[1]:
        raise UsageError(f"X has no column {feature!r}")
    return "numbers", matrix[:, place], model._names[place]


def groups(model: Estimator, by: Any, ax: Any = None, *, arm: Any = None) -> Any:
    """Average effects of groups as a forest plot: each with its interval (thick) and its part of the band over all (thin)."""
    found = [group for group in model.group_effects(by, arm=arm) if group["effect"] is not None]
    if not found:
        raise DataError("no group has enough rows in both arms to carry an effect")
    several = len({group["column"] for group in found}) > 1
    ax = _axes(ax, height=1.5 + 0.35 * len(found))
    named = [f"{g['column']}: {_short(g['level'])}" if several else _short(g["level"]) for g in found]
    place = _rows(ax, [f"{name}  ({sum(g['n'])})" for name, g in zip(named, found, strict=True)])
    ax.hlines(place, [g["band"][0] for g in found], [g["band"][1] for g in found], color=_GREY, linewidth=1, label="95 % band over all groups")
    low, high = [g["effect"]["lo"] for g in found], [g["effect"]["hi"] for g in found]
    ax.hlines(place, low, high, color=_CONTROL, linewidth=3, label="95 % interval")
    ax.plot([g["effect"]["value"] for g in found], place, "s", color=_ACCENT, markersize=5)
    ax.axvline(0.0, color=_ACCENT, linewidth=0.8)
    ax.set(xlabel="average effect", title="Groups (rows)" if several else f"Groups by {found[0]['column']} (rows)")
    _legend_below(ax)
    return _plain(ax)


def _short(level: str) -> str:
    """Numbers in the name of a quantile bin with four digits."""
    words = []
    for word in level.split(" "):
        bare = word.rstrip(",")
        try:
            words.append(f"{float(bare):.4g}{word[len(bare):]}")
        except ValueError:
            words.append(word)
    return " ".join(words)


def calibration(model: Estimator, ax: Any = None, *, k: int = 5, **rows: Any) -> Any:
    """Predicted effects against estimated ones of rows of similar prediction; perfect predictions lie on the line.

    Of the training rows, or of rows `X`, `y`, `treatment` that were kept aside, as `Estimator.test_calibration`.
    """
    found = model.calibration_groups(k, **rows)
    ax = _axes(ax, 4.6, 4.4)
    predicted, seen = np.array([g["predicted"] for g in found]), np.array([g["seen"] for g in found])
    half = 1.96 * np.array([g["se"] if g["se"] is not None else 0.0 for g in found])
    ends = np.array([min(predicted.min(), seen.min()), max(predicted.max(), seen.max())])
    ax.plot(ends, ends, color=_GREY, linestyle="--", linewidth=1)
    ax.errorbar(predicted, seen, half, fmt="o", color=_CONTROL, capsize=3)
    ax.set(xlabel="mean predicted effect", ylabel="estimated effect (doubly robust, 95 %)", title="Calibration")
    return _plain(ax)


def toc(ranking: Ranking, ax: Any = None) -> Any:
    """The targeting curve of a ranking (`Estimator.rank_average_treatment_effect`): how much larger the effect of the first share is
    than everyone's. With `target="QINI"` it is the Qini curve, what treating that share gains over treating as many at random."""
    ax = _axes(ax)
    known = np.isfinite(ranking.toc_stderr)
    # The area under the curve is the ranking's number: a gain counts those who are treated.
    is_gain = ranking.target == "QINI"
    share = ranking.q if is_gain else np.ones_like(ranking.q)
    curve, errors = share * ranking.toc, share * np.where(known, ranking.toc_stderr, 0.0)
    if ranking.one_sided:
        low, high, label = curve - 1.645 * errors, curve, "above its lower end: 95 %, pointwise"
    else:
        low, high, label = curve - 1.96 * errors, curve + 1.96 * errors, "95 %, pointwise"
    ax.fill_between(ranking.q, low, high, color=_CONTROL, alpha=0.25, linewidth=0, label=label)
    ax.plot(ranking.q, curve, "o-", markersize=3, color=_CONTROL)
    ax.axhline(0.0, color=_ACCENT, linewidth=0.8)
    lower, upper = ranking.conf_int()
    interval = f"at least {lower:.3g}" if ranking.one_sided else f"{lower:.3g} to {upper:.3g}"
    title = f"{'Qini' if is_gain else 'Targeting'} curve: {ranking.target} {ranking.estimate:.3g} ({interval})"
    gain = "gain over as many at random, per person" if is_gain else "effect of the share minus that of all"
    ax.set(xlabel="share treated, highest priority first", ylabel=gain, title=title, xlim=(0, 1))
    ax.legend(frameon=False)
    return _plain(ax)


def policy_tree(policy: Policy, ax: Any = None) -> Any:
    """The tree of a policy: follow the left branch where the condition holds."""
    from ._plot_tree import draw_tree

    nodes = policy.details["tree"]
    return draw_tree(_axes(ax, 8.0, 4.2), nodes, policy, (_CONTROL, _TREATED, _GREY))


def sensitivity(found: dict[str, Any], ax: Any = None, *, limit: float | None = None) -> Any:
    """What a hidden cause of each strength could leave of the average effect (`sensitivity_analysis`), with observed features
    as measures; beyond the thick line it could erase the effect."""
    ax = _axes(ax, 5.4, 4.4)
    theta, value = found["ate"]["value"], found["robustness_value"]
    if theta == 0 or value <= 0:
        raise DataError("the average effect is 0: there is nothing to overturn")
    # The robustness value solves v / sqrt(1 - v) = |theta| / largest.
    largest = abs(theta) * np.sqrt(1.0 - value) / value
    measures = found["benchmarks"]
    strongest = max([*found["strength"], *(max(b["cf_y"], b["cf_d"]) for b in measures)])
    # A feature that all but determines the treatment would press everything else into a corner; it stands at the edge.
    top = min(0.99, max(1.6 * value, min(1.3 * strongest, 4.0 * value))) if limit is None else limit
    cf_d, cf_y = np.meshgrid(np.linspace(0, top, 201), np.linspace(0, top, 201))
    left = theta - np.sign(theta) * largest * np.sqrt(cf_y * cf_d / (1.0 - cf_d))
    lines = ax.contour(cf_d, cf_y, left, levels=10, colors=_GREY, linewidths=0.8)
    # Labels stand along the diagonal, away from the edges that would cut them.
    share = np.linspace(0.04, 0.94, 400) * top
    along = theta - np.sign(theta) * largest * share / np.sqrt(1.0 - share)
    crossings = [share[np.argmin(np.abs(along - level))] for level in lines.levels]
    inside = [(float(v), float(v)) for v in crossings if share[0] < v < share[-1] and abs(v - value) > 0.05 * top]
    ax.clabel(lines, fontsize=7, manual=inside, inline_spacing=3)
    ax.contour(cf_d, cf_y, left, levels=[0.0], colors=_TREATED, linewidths=2)
    ax.plot([value], [value], "D", color=_TREATED, label=f"robustness value {value:.3g}")
    for measure in measures:
        at = (min(measure["cf_d"], top), min(measure["cf_y"], top))
        outside = at != (measure["cf_d"], measure["cf_y"])
        ax.plot(*at, ">" if outside else "o", color=_CONTROL, clip_on=False)
        words = f"{measure['name']} (beyond)" if outside else measure["name"]
        ax.annotate(words, at, xytext=(-5, 5) if outside else (4, 4), textcoords="offset points", fontsize=8, ha="right" if outside else "left")
    ax.set(
        xlabel="share of the treatment's variation explained",
        ylabel="share of the outcome's residual variance explained",
        title=f"What a hidden cause leaves of {theta:.3g}",
        xlim=(0, top),
        ylim=(0, top),
    )
    ax.legend(loc="upper right", frameon=True, facecolor="white", edgecolor="none", framealpha=0.9)
    return _plain(ax)


def roles(found: Roles, ax: Any = None) -> Any:
    """Columns by how much they explain of the treatment and of the outcome (`paretau.roles`), coloured by role."""
    ax = _axes(ax, 5.6, 4.6)
    for role, colour in _ROLES.items():
        own = [c for c in found.columns if c["role"] == role]
        if own:
            x, y = [c["strength_treatment"] for c in own], [c["strength_outcome"] for c in own]
            ax.plot(x, y, "o", color=colour, label=f"{role} ({len(own)})")
    for column in found.columns[:40]:
        if column["role"] != "none":
            at = (column["strength_treatment"], column["strength_outcome"])
            ax.annotate(column["name"], at, xytext=(4, 3), textcoords="offset points", fontsize=8)
    ax.set(xlabel="explains of the treatment", ylabel="explains of the outcome", title="Roles of the columns")
    ax.margins(0.12)
    ax.legend(frameon=False)
    return _plain(ax)


def training(model: Estimator, ax: Any = None) -> Any:
    """Losses over the epochs of a net's training."""
    model._check_fitted()
    history = model.history_
    if not history:
        raise UsageError(f"{type(model).__name__} keeps no training history")
    ax = _axes(ax)
    names = [name for name in history[0] if name.startswith(("train", "valid"))]
    for order, name in enumerate(names):
        points = [(epoch.get("step", k), epoch[name]) for k, epoch in enumerate(history, 1) if name in epoch]
        # Losses that coincide are all seen: later lines have gaps.
        dashes = "-" if order == 0 else (0, (6, 2 * order))
        ax.plot([k for k, _ in points], [v for _, v in points], label=name.replace("_", " "), linewidth=1.4, linestyle=dashes)
    ax.set(xlabel="step" if "step" in history[0] else "epoch", ylabel="loss", title="Training")
    ax.legend(frameon=False, fontsize="small")
    return _plain(ax)
