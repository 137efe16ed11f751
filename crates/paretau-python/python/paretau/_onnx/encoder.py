"""From the columns of a table to the matrix that a model reads, as the model's own encoder does it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import proto
from .graph import ML, Graph, Value


def features(graph: Graph, encoder: dict[str, Any], *, named: bool, kind: int) -> Value:
    """Adds the graph's inputs, one per column or one matrix `X`, and gives the encoded matrix."""
    numbers = [column for column in encoder["inputs"] if column["encoding"]["as"] == "number"]
    texts = [column for column in encoder["inputs"] if column["encoding"]["as"] != "number"]
    sparse = encoder["sparse"]["names"] if encoder.get("sparse") else []
    blocks: list[Value] = []
    places: list[int | None] = []
    width = len(encoder["columns"])
    if named:
        cells = [graph.input(c["name"], kind, ["rows", 1]) for c in numbers]
        if cells:
            blocks.append(_numbers(graph, graph.as_double(graph.beside(cells)), numbers, places))
        for column in texts:
            text = graph.input(column["name"], proto.STRING, ["rows", 1])
            blocks.append(_text(graph, text, column["encoding"], len(column["places"])))
            places.extend(column["places"])
    else:
        n_inputs = _n_inputs(encoder)
        x = graph.as_double(graph.input("X", kind, ["rows", n_inputs]))
        if numbers:
            own = [_number_of(c["name"]) for c in numbers]
            blocks.append(_numbers(graph, graph.columns(x, own), numbers, places))
        if sparse:
            blocks.append(graph.columns(x, [_number_of(name) for name in sparse]))
            places.extend(range(width - len(sparse), width))
    order = [places.index(k) for k in range(width)]
    matrix = graph.beside(blocks)
    return matrix if order == list(range(len(places))) else graph.columns(matrix, order)


def _number_of(name: str) -> int:
    """The place of a column of an array, which was named x1, x2, …"""
    return int(name[1:]) - 1


def _n_inputs(encoder: dict[str, Any]) -> int | str:
    return encoder.get("n_inputs", "features")


def _numbers(graph: Graph, x: Value, columns: list[dict[str, Any]], places: list[int | None]) -> Value:
    """Numbers with gaps filled where the estimator takes none, then marks of the gaps."""
    rules = [c["encoding"] for c in columns]
    missing = graph.is_nan(x)
    if not all(rule["keep_missing"] for rule in rules):
        fill = [np.nan if rule["keep_missing"] else rule["fill"] for rule in rules]
        x = graph.where(missing, graph.constant([fill]), x)
    places.extend(c["places"][0] for c in columns)
    marked = [j for j, rule in enumerate(rules) if rule["indicator"]]
    if not marked:
        return x
    places.extend(columns[j]["places"][1] for j in marked)
    return graph.beside([x, graph.columns(graph.as_double(missing), marked)])


def _text(graph: Graph, text: Value, rule: dict[str, Any], width: int) -> Value:
    """Each level's outputs are a row of a table; texts find their row by name."""
    known = list(rule["shares"]) if rule["as"] == "frequency" else list(rule["levels"])
    keys: dict[str, int] = {}
    for place, level in enumerate(known):
        keys[level] = place
    folded: dict[str, str] = {}
    for level in sorted(known, reverse=True):
        folded[level.strip().lower()] = level
    for fold, level in folded.items():
        # The encoder reads any case; a table cannot, so the usual ones stand in it.
        for spelled in (fold, fold.upper(), fold.capitalize(), fold.title()):
            keys.setdefault(spelled, keys[level])
    unseen, gap = len(known), len(known) + 1
    keys.setdefault("", gap)
    rows = [_outputs(rule, place, width) for place in range(len(known))]
    rows += [_outputs(rule, None, width), _outputs(rule, "missing", width)]
    codes = graph.op(
        "LabelEncoder",
        text,
        domain=ML,
        keys_strings=list(keys),
        values_int64s=list(keys.values()),
        default_int64=unseen,
    )
    flat = graph.op("Reshape", codes, graph.constant([-1], np.int64))
    return graph.op("Gather", graph.constant(rows), flat, axis=0)


def _outputs(rule: dict[str, Any], place: int | str | None, width: int) -> list[float]:
    """Outputs of a level by its place, of one that was not seen (`None`), or of a gap."""
    if rule["as"] == "frequency":
        if place == "missing":
            return [rule["missing"]]
        return [list(rule["shares"].values())[place] if isinstance(place, int) else 0.0]
    n, other, missing = len(rule["levels"]), rule["other"], rule["missing"]
    if rule["as"] == "codes":
        pool = float(n) if other else 0.0
        if isinstance(place, int):
            return [float(place)]
        if place == "missing":
            return [np.nan if rule["keep_missing"] else float(n + other) if missing else pool]
        return [np.nan if rule["keep_missing"] and not other else pool]
    at: int | None = place if isinstance(place, int) else n if other else None
    if place == "missing":
        at = n + other if missing else None
    # The first of two complementary indicators is left out.
    skipped = 1 if n + other + missing == 2 else 0
    out = [0.0] * width
    if at is not None and at >= skipped:
        out[at - skipped] = 1.0
    return out
