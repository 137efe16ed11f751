"""A policy's tree as boxes and branches."""

from __future__ import annotations

from typing import Any

from ._decisions import Policy


def draw_tree(ax: Any, tree: dict[str, Any], policy: Policy, colours: tuple[str, str, str]) -> Any:
    """Draws the tree on the axes: leaves stand side by side, splits above the middle of theirs.

    A leaf's gain is that of treating a row of it; of leaves that are not treated, what treating would have gained.
    """
    names, columns = policy.arm_names, policy.details["columns"]
    control, treated, grey = colours
    places: list[float] = []

    def box(x: float, y: float, text: str, colour: str) -> None:
        ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": colour, "linewidth": 1.6},
            zorder=3,
        )

    def draw(node: dict[str, Any], depth: int) -> float:
        if "leaf" in node:
            leaf = node["leaf"]
            arm, x = leaf["arm"], float(len(places))
            places.append(x)
            what = "do not treat" if arm == 0 else ("treat" if len(names) == 2 else f"give {names[arm]}")
            gain = max(leaf["gains"][1:], default=0.0) if arm == 0 else leaf["gains"][arm]
            box(x, -depth, f"{what}\n{leaf['rows']} rows\ngain {gain:.3g}", control if arm == 0 else treated)
            return x
        split = node["split"]
        left, right = draw(split["left"], depth + 1), draw(split["right"], depth + 1)
        x = (left + right) / 2.0
        for child, word in ((left, "yes"), (right, "no")):
            ax.plot([x, child], [-depth, -depth - 1], color=grey, linewidth=1, zorder=1)
            ax.text((x + child) / 2.0, -depth - 0.5, word, ha="center", va="center", fontsize=8, color=grey, backgroundcolor="white")
        box(x, -depth, f"{columns[split['column']]} ≤ {split['threshold']:.4g}?", grey)
        return x

    def deepest(node: dict[str, Any]) -> int:
        return 0 if "leaf" in node else 1 + max(deepest(node["split"]["left"]), deepest(node["split"]["right"]))

    draw(tree, 0)
    ax.set(xlim=(-0.6, len(places) - 0.4), ylim=(-deepest(tree) - 0.5, 0.5))
    ax.set_title(f"Whom to treat: {100 * policy.share_treated:.0f} % of the rows")
    ax.set_axis_off()
    return ax
