"""What a worker of an executor does: one task, given as text, with the rows that the study sent or named."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

from . import _paretau


@dataclass(frozen=True)
class Rows:
    """Where a worker finds the rows of a study: an Arrow IPC stream that travels, or a file that it reads itself."""

    #: Names the study: a worker that has its rows already does not read them again.
    name: str
    #: The file, where workers read one.
    path: str | None = None


#: The rows of the last study, by name.
_held: dict[str, Any] = {}


def perform(task: str, rows: Rows | None, stream: Any, cpus: int, version: str) -> tuple[str, str]:
    """The record of a task, or the message of what keeps this machine from doing any: ("record" | "fault", text)."""
    where = f"worker {os.getpid()} on {platform.node()}"
    if version != _paretau.__version__:
        return "fault", (
            f"{where} has paretau {_paretau.__version__}, the study runs {version}; install the same version everywhere"
        )
    try:
        data = None
        if rows is not None:
            if rows.name not in _held:
                _held.clear()
                _held[rows.name] = _load(rows, stream)
            data = _held[rows.name]
        return "record", _paretau.perform_task(task, data, n_jobs=cpus)
    except MemoryError:
        raise
    except Exception as error:
        return "fault", f"{where}: {error}"


def _load(rows: Rows, stream: Any) -> Any:
    if rows.path is not None:
        return _paretau.TaskData.read(rows.path)
    return _paretau.TaskData.from_ipc(bytes(stream))
