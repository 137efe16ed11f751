"""Facts about a fit, for people."""

from __future__ import annotations

from typing import Any


class OverlapReport(dict):
    """How well the arms overlap: a dictionary that prints as sentences.

    Keys: `control` and `treated` (each with `n_rows, khat, khat_limit, ess_raw, ess_truncated, ess_smooth, max_raw,
    max_smooth`), `propensity_range`, `rows_at_risk`, `warnings`.
    """

    def __init__(self, facts: dict[str, Any], lines: list[str]) -> None:
        super().__init__(facts)
        self._lines = lines

    def __repr__(self) -> str:
        return "\n".join(self._lines)

    __str__ = __repr__


def summary_text(about: dict[str, Any], overlap: list[str]) -> str:
    """A fitted model in a dozen lines."""
    lines = [
        f"{about['estimator']}: {about['n_rows']} rows ({about['n_treated']} treated), {about['n_features']} features",
    ]
    for label, key in (("average effect", "ate"), ("average effect on the treated", "att")):
        a = about["averages"][key]
        lines.append(f"{label}: {a['value']:.4g} (standard error {a['se']:.2g}, 95 % interval {a['lo']:.4g} to {a['hi']:.4g})")
    lines += overlap
    roles = [r for r in about["diagnostics"]["roles"] if r["role"] != "none"]
    for role in ("confounder", "instrument", "adjuster"):
        names = [r["name"] for r in roles if r["role"] == role]
        if names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            lines.append(f"{role}s: {', '.join(names[:8])}{more}")
    lines += [f"warning: {w['message']}" for w in about["diagnostics"]["warnings"]]
    lines += [f"note: {note}" for note in about["notes"]]
    return "\n".join(lines)
