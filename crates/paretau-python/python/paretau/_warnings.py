"""Warnings that point at the line of the caller, however deep inside the package they arise."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ._errors import DataWarning

#: Modules whose lines are never the caller's.
_OURS = ("paretau", "sklearn.callback")


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Warns at the innermost line that is not the package's own."""
    frame: Any = sys._getframe(1)
    level = 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return any(module == own or module.startswith(f"{own}.") for own in _OURS)
