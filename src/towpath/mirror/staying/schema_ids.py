"""Schema ids at the beginning of keys and values. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.wire.plain import Record

_MAGIC = b"\0"
_PREFIX = 5
"""Bytes of the prefix: a zero, and the schema id as a big-endian int32 (Confluent)."""


def schema_id(records: Iterable[Record]) -> int | None:
    """Return the schema id with which all keys, or all values, begin, else `None`.

    A batch of other data, such as numbers in big endian, rarely has a zero and then a positive
    number at the beginning of every one of its records.
    """
    found = list(records)
    for texts in ([r.value for r in found], [r.key for r in found]):
        ids = {_id(text) for text in texts if text is not None}
        if ids and None not in ids:
            return min(each for each in ids if each is not None)
    return None


def _id(text: bytes) -> int | None:
    if len(text) <= _PREFIX or text[:1] != _MAGIC:
        return None
    number = int.from_bytes(text[1:_PREFIX], "big", signed=True)
    return number if number > 0 else None
