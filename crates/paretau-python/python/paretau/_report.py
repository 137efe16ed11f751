"""Facts about a fit, for people."""

from __future__ import annotations

from typing import Any


class OverlapReport(dict):
    """How well the arms overlap: a dictionary that prints as sentences.

    Keys: `control` and `treated` (each with `n`, `khat` and its `khat_threshold`, `ess_raw`, `ess_truncated`,
    `ess_smoothed`, `max_raw`, `max_smoothed`, `at_risk`), `propensity_range`, `histogram`, `rows_at_risk` (the most
    extreme first, at most as many as a model file keeps), `warnings`.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        control, treated = facts["arms"]
        super().__init__(
            control=control,
            treated=treated,
            propensity_range=tuple(facts["range"]),
            histogram=facts["histogram"],
            rows_at_risk=facts["rows_at_risk"],
            warnings=[w["message"] for w in facts["warnings"]],
        )

    def lines(self) -> list[str]:
        """The report in sentences."""
        low, high = self["propensity_range"]
        out = [f"propensities from {low:.3f} to {high:.3f}"]
        for name in ("control", "treated"):
            arm = self[name]
            tail = "no tail" if arm["khat"] is None else f"k-hat {arm['khat']:.2f} (limit {arm['khat_threshold']:.2f})"
            out.append(
                f"{name} arm: {arm['n']} rows, {tail}, effective rows {arm['ess_raw']:.0f} raw, "
                f"{arm['ess_truncated']:.0f} truncated, {arm['ess_smoothed']:.0f} smoothed"
            )
        return out + [f"warning: {message}" for message in self["warnings"]]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    __str__ = __repr__


def summary_text(about: dict[str, Any]) -> str:
    """A fitted model in a dozen lines."""
    lines = [
        f"{about['estimator']}: {about['n_rows']} rows ({about['n_treated']} treated), {about['n_features']} features",
    ]
    for label, key in (("average effect", "ate"), ("average effect on the treated", "att")):
        a = about["averages"][key]
        lines.append(
            f"{label}: {a['value']:.4g} (standard error {a['se']:.2g}, 95 % interval {a['lo']:.4g} to {a['hi']:.4g})"
        )
    lines += OverlapReport(about["overlap"]).lines()
    for role in ("confounder", "instrument", "adjuster"):
        names = [r["name"] for r in about["diagnostics"]["roles"] if r["role"] == role]
        if names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            lines.append(f"{role}s: {', '.join(names[:8])}{more}")
    lines += [f"warning: {w['message']}" for w in about["diagnostics"]["warnings"]]
    lines += [f"note: {note}" for note in about["notes"]]
    return "\n".join(lines)
