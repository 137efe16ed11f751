"""Progress of a fit on stderr, for `verbose=True`."""

from __future__ import annotations

import json
import sys
import time


class Progress:
    """Prints stages and notes as they come, and epochs at most once a second."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, text: str) -> None:
        event = json.loads(text)
        kind = event["event"]
        if kind == "stage":
            total = f" ({event['total']} steps)" if event.get("total") else ""
            _print(f"{event['name']}{total}")
        elif kind == "note":
            _print(event["message"])
        elif time.monotonic() - self._last >= 1.0:
            self._last = time.monotonic()
            if kind == "epoch":
                numbers = ", ".join(f"{name} {value:.5g}" for name, value in event["values"].items())
                _print(f"epoch {event['epoch']}: {numbers}")
            elif kind == "progress":
                _print(f"{event['done']} done")


def _print(message: str) -> None:
    print(f"paretau: {message}", file=sys.stderr, flush=True)
