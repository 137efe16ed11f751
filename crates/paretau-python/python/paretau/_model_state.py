"""The contents of a model file as arrays and facts, for what is made from a model outside the compiled module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

_KINDS = {"F64": "<f8", "F32": "<f4", "U32": "<u4", "U16": "<u2", "U8": "u1"}


@dataclass(frozen=True)
class State:
    """Facts and named arrays of a model, or of a part of one."""

    facts: Any
    arrays: dict[str, np.ndarray]

    @classmethod
    def of(cls, model: Any) -> State:
        """The state of a fitted model of the compiled module."""
        raw = bytes(model.to_bytes())
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + length])
        facts = json.loads(header.pop("__metadata__")["paretau"])["model"]
        data = memoryview(raw)[8 + length :]
        arrays = {}
        for name, about in header.items():
            start, end = about["data_offsets"]
            arrays[name] = np.frombuffer(data[start:end], dtype=_KINDS[about["dtype"]]).reshape(about["shape"])
        return cls(facts, arrays)

    def __contains__(self, part: str) -> bool:
        return isinstance(self.facts, dict) and part in self.facts

    def part(self, *path: str) -> State:
        """The state of a part."""
        facts = self.facts
        for step in path:
            facts = facts[step]
        start = "/".join(path) + "/"
        return State(facts, {name[len(start) :]: a for name, a in self.arrays.items() if name.startswith(start)})

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]
