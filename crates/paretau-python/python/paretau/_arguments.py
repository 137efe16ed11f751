"""Arguments as the library takes them: parameters as JSON knows them, threads, seeds."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._errors import UsageError


def plain(value: Any) -> Any:
    """A parameter's value as JSON knows it: numpy scalars and tuples come out of searches."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def threads(n_jobs: int | None) -> int | None:
    """A number of threads, counted from the end when negative; None for all cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    if n_jobs == 0:
        raise UsageError("n_jobs must be a number of threads, or None for all cores, not 0")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def seed_from(random_state: Any) -> int:
    """A seed: the number itself, or drawn from a generator; None draws from numpy's global one."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise UsageError(f"random_state must not be negative, not {random_state}")
        return int(random_state)
    if random_state is None:
        return int(np.random.randint(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    raise UsageError(f"random_state must be a whole number, a numpy generator or None, not {random_state!r}")
