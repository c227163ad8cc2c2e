"""Thrift's compact protocol, as far as the footers of Parquet files need it.

Structs are read without knowing their fields, so that everything of a newer writer is kept, and
written again equal in every byte (Apache Thrift, "Thrift Compact protocol encoding").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_DEEPEST = 32
_SHORT_LIST = 15


@dataclass(slots=True)
class ThriftStruct:
    """A Thrift struct: the type and value of each field, by field number."""

    fields: dict[int, tuple[int, Any]]

    def get(self, number: int, default: Any = None) -> Any:
        """Return the value of a field, or `default`."""
        return self.fields[number][1] if number in self.fields else default

    def set(self, number: int, value: Any) -> None:
        """Change the value of an existing field."""
        self.fields[number] = (self.fields[number][0], value)


@dataclass(slots=True)
class ThriftList:
    """A Thrift list or set of values of one type."""

    kind: int
    values: list[Any]


def read_struct(data: bytes | memoryview, at: int = 0) -> tuple[ThriftStruct, int]:
    """Parse the struct at a position; returns it and the position after it.

    Raises:
        ValueError: The bytes are not a struct.
    """
    reader = _Reader(memoryview(data), at)
    try:
        return reader.struct(0), reader.at
    except IndexError as error:
        raise ValueError("a Thrift struct that ends too early") from error


def write_struct(struct: ThriftStruct) -> bytes:
    """Encode a struct as bytes."""
    out = bytearray()
    _put_struct(out, struct)
    return bytes(out)


class _Reader:
    def __init__(self, data: memoryview, at: int) -> None:
        self._data, self.at = data, at

    def struct(self, depth: int) -> ThriftStruct:
        if depth > _DEEPEST:
            raise ValueError("Thrift structs within too many others")
        fields: dict[int, tuple[int, Any]] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 0x0F
            number = number + step if step else self._zigzag()
            fields[number] = (kind, self._field(kind, depth))
        return ThriftStruct(fields)

    def _field(self, kind: int, depth: int) -> Any:
        return kind == TRUE if kind in {TRUE, FALSE} else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in {I16, I32, I64}:
            return self._zigzag()
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in {LIST, SET}:
            return self._list(depth)
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in {TRUE, FALSE, BYTE}:
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        raise ValueError(f"a Thrift value of type {kind}")

    def _list(self, depth: int) -> ThriftList:
        head = self._byte()
        size, kind = head >> 4, head & 0x0F
        if size == _SHORT_LIST:
            size = self._varint()
        if size > len(self._data) - self.at:
            raise ValueError(f"a Thrift list of {size} values")
        return ThriftList(kind, [self._value(kind, depth) for _ in range(size)])

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte

    def _bytes(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._data):
            raise ValueError("a Thrift text that ends too early")
        data = self._data[self.at : end].tobytes()
        self.at = end
        return data

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _put_struct(out: bytearray, struct: ThriftStruct) -> None:
    before = 0
    for number, (kind, value) in struct.fields.items():
        told = (TRUE if value else FALSE) if kind in {TRUE, FALSE} else kind
        if 0 < number - before <= _SHORT_LIST:
            out.append((number - before) << 4 | told)
        else:
            out.append(told)
            _put_zigzag(out, number)
        before = number
        if kind not in {TRUE, FALSE}:
            _put(out, kind, value)
    out.append(0)


def _put(out: bytearray, kind: int, value: Any) -> None:
    if kind in {I16, I32, I64}:
        _put_zigzag(out, value)
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind in {LIST, SET}:
        _put_list(out, value)
    elif kind == STRUCT:
        _put_struct(out, value)
    elif kind == DOUBLE:
        out += value
    else:
        out.append(value)


def _put_list(out: bytearray, values: ThriftList) -> None:
    size = len(values.values)
    if size < _SHORT_LIST:
        out.append(size << 4 | values.kind)
    else:
        out.append(_SHORT_LIST << 4 | values.kind)
        _put_varint(out, size)
    for value in values.values:
        _put(out, values.kind, value)


def _put_zigzag(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else ~(value << 1))


def _put_varint(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
