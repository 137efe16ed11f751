"""Progress of a fit: in the log of `logging.getLogger("paretau")`, on stderr for `verbose=True`, and for callbacks."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._callbacks import Tasks

_LOG = logging.getLogger("paretau")


def listener(verbose: bool, tasks: Tasks | None = None) -> Progress | None:
    """Who hears of a fit's progress: nobody, unless it was asked for, callbacks were set or the log takes it."""
    return Progress(verbose, tasks) if verbose or tasks is not None or _LOG.isEnabledFor(logging.INFO) else None


class Progress:
    """Tells stages and notes as they come, and epochs at most once a second."""

    def __init__(self, verbose: bool = True, tasks: Tasks | None = None) -> None:
        self._last = 0.0
        self._verbose = verbose
        self._tasks = tasks

    def __call__(self, text: str) -> None:
        event = json.loads(text)
        kind = event["event"]
        if self._tasks is not None:
            self._tasks.event(event)
        if kind == "stage":
            total = f" ({event['total']} steps)" if event.get("total") else ""
            self._tell(f"{event['name']}{total}")
        elif kind == "note":
            self._tell(event["message"])
        elif time.monotonic() - self._last >= 1.0:
            self._last = time.monotonic()
            if kind == "epoch":
                numbers = ", ".join(f"{name} {value:.5g}" for name, value in event["values"].items())
                self._tell(f"epoch {event['epoch']}: {numbers}")
            elif kind == "progress":
                self._tell(f"{event['done']} done")

    def _tell(self, message: str) -> None:
        _LOG.info(message)
        if self._verbose:
            print(f"paretau: {message}", file=sys.stderr, flush=True)
