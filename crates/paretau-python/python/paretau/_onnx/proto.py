"""Messages of ONNX's protobuf, as far as a model needs them, written field by field: no other package is needed."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np

#: Numbers of element types.
FLOAT, UINT8, INT64, STRING, BOOL, DOUBLE = 1, 2, 7, 8, 9, 11
_TYPES = {"f4": FLOAT, "u1": UINT8, "i8": INT64, "b1": BOOL, "f8": DOUBLE}


def varint(value: int) -> bytes:
    """An integer, seven bits per byte; negative ones as 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A field that holds an integer."""
    return varint(field << 3) + varint(int(value))


def block(field: int, content: bytes | str) -> bytes:
    """A field that holds text, bytes or a message."""
    raw = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def integers(field: int, values: Iterable[int]) -> bytes:
    """A field that holds a list of integers."""
    return block(field, b"".join(map(varint, map(int, values))))


def tensor(values: np.ndarray | list[str], name: str = "") -> bytes:
    """TensorProto."""
    if isinstance(values, list):
        out = integer(1, len(values)) + integer(2, STRING) + b"".join(block(6, text) for text in values)
    else:
        raw = np.ascontiguousarray(values)
        raw = raw.astype(raw.dtype.newbyteorder("<"), copy=False)
        out = b"".join(integer(1, n) for n in raw.shape) + integer(2, _TYPES[raw.dtype.str[1:]])
        out += block(9, raw.tobytes())
    return out + (block(8, name) if name else b"")


def attribute(name: str, value: object) -> bytes:
    """AttributeProto of a number, text, array, or list of integers or texts."""
    head = block(1, name)
    if isinstance(value, (bool, int, np.integer)):
        return head + integer(3, int(value)) + integer(20, 2)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, str):
        return head + block(4, value) + integer(20, 3)
    if isinstance(value, np.ndarray):
        return head + block(5, tensor(value)) + integer(20, 4)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return head + b"".join(block(9, text) for text in value) + integer(20, 8)
    if isinstance(value, list):
        return head + integers(8, value) + integer(20, 7)
    raise TypeError(f"{name}: {type(value).__name__} is no attribute")


def node(op: str, inputs: list[str], outputs: list[str], domain: str, attributes: dict[str, object]) -> bytes:
    """NodeProto."""
    out = b"".join(block(1, name) for name in inputs) + b"".join(block(2, name) for name in outputs)
    out += block(3, outputs[0]) + block(4, op)
    out += b"".join(block(5, attribute(name, value)) for name, value in attributes.items())
    return out + (block(7, domain) if domain else b"")


def value_info(name: str, kind: int, shape: list[int | str]) -> bytes:
    """ValueInfoProto of a tensor; sizes that are not known have a name."""
    dims = b"".join(block(1, integer(1, n) if isinstance(n, int) else block(2, n)) for n in shape)
    return block(1, name) + block(2, block(1, integer(1, kind) + block(2, dims)))
