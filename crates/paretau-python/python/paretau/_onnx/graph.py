"""An ONNX graph under construction: values are names of tensors, methods are operations on columns of doubles."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import proto

#: Operator sets: the standard one, and that of trees and label tables.
OPSET, ML_OPSET = 18, 5
ML = "ai.onnx.ml"
_IR_VERSION = 9

#: A tensor of the graph, by name.
Value = str


class Graph:
    """Nodes, constants, inputs and outputs."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0

    def _name(self, stem: str) -> Value:
        self._count += 1
        return f"{stem}_{self._count}"

    def op(self, op: str, *inputs: Value, domain: str = "", **attributes: Any) -> Value:
        """Adds an operation with one output."""
        out = self._name(op)
        self._nodes.append(proto.node(op, list(inputs), [out], domain, attributes))
        return out

    def constant(self, values: Any, dtype: Any = np.float64) -> Value:
        """Adds a constant array; equal ones are added once."""
        array = np.ascontiguousarray(values, dtype=dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self._name("constant")
            self._constants.append(proto.tensor(array, self._known[key]))
        return self._known[key]

    def input(self, name: str, kind: int, shape: list[int | str]) -> Value:
        """Adds an input."""
        self._inputs.append(proto.value_info(name, kind, shape))
        return name

    def output(self, name: str, value: Value, kind: int, shape: list[int | str]) -> None:
        """Makes a value an output under a name of its own."""
        self._nodes.append(proto.node("Identity", [value], [name], "", {}))
        self._outputs.append(proto.value_info(name, kind, shape))

    def model(self, about: dict[str, str]) -> bytes:
        """The whole model as a file's bytes."""
        graph = b"".join(proto.block(1, n) for n in self._nodes) + proto.block(2, "paretau")
        graph += b"".join(proto.block(5, c) for c in self._constants)
        graph += b"".join(proto.block(11, i) for i in self._inputs)
        graph += b"".join(proto.block(12, o) for o in self._outputs)
        out = proto.integer(1, _IR_VERSION) + proto.block(2, "paretau") + proto.block(3, about["version"])
        out += proto.block(7, graph)
        for domain, version in (("", OPSET), (ML, ML_OPSET)):
            out += proto.block(8, (proto.block(1, domain) if domain else b"") + proto.integer(2, version))
        return out + b"".join(proto.block(14, proto.block(1, k) + proto.block(2, v)) for k, v in about.items())

    # Arithmetic on columns of doubles.

    def number(self, value: float) -> Value:
        """A number, as a matrix of one cell."""
        return self.constant([[value]])

    def add(self, a: Value, b: Value) -> Value:
        """Sum."""
        return self.op("Add", a, b)

    def subtract(self, a: Value, b: Value) -> Value:
        """Difference."""
        return self.op("Sub", a, b)

    def multiply(self, a: Value, b: Value) -> Value:
        """Product, cell by cell."""
        return self.op("Mul", a, b)

    def scaled(self, a: Value, by: float) -> Value:
        """A multiple."""
        return a if by == 1.0 else self.multiply(a, self.number(by))

    def shifted(self, a: Value, by: float) -> Value:
        """A sum with a number."""
        return a if by == 0.0 else self.add(a, self.number(by))

    def total(self, parts: list[Value]) -> Value:
        """Sum of several."""
        out = parts[0]
        for part in parts[1:]:
            out = self.add(out, part)
        return out

    def clamped(self, a: Value, low: float, high: float) -> Value:
        """Held between two ends."""
        return self.op("Min", self.op("Max", a, self.number(low)), self.number(high))

    def sigmoid(self, a: Value) -> Value:
        """Logistic function, without overflow."""
        small = self.op("Exp", self.op("Neg", self.op("Abs", a)))
        upper = self.op("Div", self.number(1.0), self.shifted(small, 1.0))
        return self.where(self.op("GreaterOrEqual", a, self.number(0.0)), upper, self.multiply(small, upper))

    def logit(self, p: Value, surest: float = 1e-12) -> Value:
        """Log-odds of a probability that is kept that far from 0 and 1."""
        p = self.clamped(p, surest, 1.0 - surest)
        return self.op("Log", self.op("Div", p, self.subtract(self.number(1.0), p)))

    def where(self, condition: Value, a: Value, b: Value) -> Value:
        """One of two, cell by cell."""
        return self.op("Where", condition, a, b)

    def columns(self, a: Value, places: list[int]) -> Value:
        """Some columns, in that order."""
        return self.op("Gather", a, self.constant(places, np.int64), axis=1)

    def beside(self, parts: list[Value]) -> Value:
        """Matrices side by side."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=1)

    def is_nan(self, a: Value) -> Value:
        """Whether cells are missing."""
        return self.op("IsNaN", a)

    def as_double(self, a: Value) -> Value:
        """Numbers or truth values as doubles."""
        return self.op("Cast", a, to=proto.DOUBLE)

    def line(self, x: Value, intercept: float, coef: np.ndarray) -> Value:
        """An intercept and a product with coefficients, as a column."""
        return self.shifted(self.op("MatMul", x, self.constant(np.reshape(coef, (-1, 1)))), float(intercept))
