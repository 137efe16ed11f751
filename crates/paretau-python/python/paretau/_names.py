"""Names of columns that have none, and of those that stand beside the features."""

from __future__ import annotations


def numbered(n: int) -> list[str]:
    """`x1, x2, …`, for the columns of a matrix."""
    return [f"x{j}" for j in range(1, n + 1)]


def free_name(role: str, taken: list[str]) -> str:
    """A name for a role's column that no feature has."""
    name = role
    while name in taken:
        name = f"_{name}"
    return name
