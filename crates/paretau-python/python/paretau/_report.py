"""Facts about a fit, for people."""

from __future__ import annotations

from html import escape
from typing import Any


class Report(str):
    """The page about a fit: the text of its HTML, which a notebook shows in a frame of its own.

    A frame keeps the page's style and the notebook's apart; the page asks no network.
    """

    #: Height of the frame in pixels; the page scrolls in it.
    height = 640

    def _repr_html_(self) -> str:
        return f'<iframe title="paretau report" style="width:100%;height:{self.height}px;border:0" srcdoc="{escape(self)}"></iframe>'

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"<report: a page of {len(self)} characters; report(path) writes it>")


class OverlapReport(dict):
    """How well the arms overlap: a dictionary that prints as sentences.

    Keys: `control` and `treated` (each with `n`, `khat` and its `khat_threshold`, `ess_raw`, `ess_truncated`,
    `ess_smoothed`, `max_raw`, `max_smoothed`, `at_risk`), `propensity_range`, `histogram`, `rows_at_risk` (the most
    extreme first, at most as many as a model file keeps), `warnings`.
    """

    def __init__(self, facts: dict[str, Any], lines: list[str]) -> None:
        control, treated = facts["arms"]
        super().__init__(
            control=control,
            treated=treated,
            propensity_range=tuple(facts["range"]),
            histogram=facts["histogram"],
            rows_at_risk=facts["rows_at_risk"],
            warnings=[w["message"] for w in facts["warnings"]],
        )
        self._lines = tuple(lines)

    def lines(self) -> list[str]:
        """The report in sentences."""
        return list(self._lines)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    __str__ = __repr__
