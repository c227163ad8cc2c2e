"""The record batches in a Produce request, and codes of its answer, without decoding. Pure.

The form is that of versions 3 to 9 on Kafka's protocol page.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from towpath.gateway.frame_walks import FrameWalk
from towpath.gateway.frames import FrameError

FIRST = 3
"""The lowest version whose form this is."""
_LOG_START, _ERRORS, _FLEXIBLE = 5, 8, 9
"""Versions that have the beginning of the log, errors of records, and compact fields."""
_ANSWER_AT = 8
_MAGIC_AT, _ATTRIBUTES_AT, _LEAST = 16, 21, 61
PRODUCER_AT = 43
"""Where the producer id of a batch stands, before its epoch and first sequence."""
_LENGTH, _PRODUCER, _SHORT = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">h")
_LENGTH_AT, _OVERHEAD = 8, 12
_MAGIC = 2
_TRANSACTIONAL = 1 << 4


class ProducePart(NamedTuple):
    """A record batch of a Produce request.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        producer: Its producer id as the client sent it, -1 for a producer that is not idempotent.
        transactional: Whether it is part of a transaction.
    """

    topic: str
    partition: int
    producer: int
    transactional: bool


def parts(request: memoryview, at: int, version: int) -> list[ProducePart]:
    """Return the batches of a request.

    Args:
        request: It, with its size.
        at: Where the client id in its header ends.
        version: Its version, 3 to 9.

    Raises:
        FrameError: It is no such request, or has not one batch of today's format for each
            partition.
    """
    walk = FrameWalk(request, at, version, flexible=version >= _FLEXIBLE)
    try:
        found = [*_walked(walk)]
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise FrameError(f"a Produce request of version {version} that makes no sense") from error
    if walk.at != len(request):
        raise FrameError(f"a Produce request of version {version} that ends elsewhere")
    return found


def _walked(walk: FrameWalk) -> Iterator[ProducePart]:
    walk.tags()
    walk.text()  # transactional id
    walk.at += 2 + 4  # acks, timeout
    for _ in range(walk.count()):
        size = walk.size() if walk.flexible else walk.short()
        topic = str(walk.data[walk.at : walk.at + size], "utf-8")
        walk.at += size
        for _ in range(walk.count()):
            partition = walk.number()
            size = walk.size() if walk.flexible else walk.number()
            records = walk.data[walk.at : walk.at + max(size, 0)]
            walk.at += max(size, 0)
            yield ProducePart(topic, partition, *_identity(records))
            walk.tags()
        walk.tags()
    walk.tags()


def codes(answer: bytearray | memoryview, version: int) -> set[int]:
    """Return the error codes in an answer to a request.

    Args:
        answer: It, with its size.
        version: Its version, 3 to 9.

    Raises:
        FrameError: It is no such answer.
    """
    walk = FrameWalk(answer, _ANSWER_AT, version, flexible=version >= _FLEXIBLE)
    try:
        return {*_answered(walk)}
    except (struct.error, IndexError) as error:
        why = f"an answer to a Produce request of version {version} that makes no sense"
        raise FrameError(why) from error


def _answered(walk: FrameWalk) -> Iterator[int]:
    walk.tags()
    for _ in range(walk.count()):
        walk.text()
        for _ in range(walk.count()):
            walk.at += 4  # the partition
            yield walk.short()
            walk.at += 8 + 8 + (8 if walk.version >= _LOG_START else 0)  # offset, time, log start
            if walk.version >= _ERRORS:
                for _ in range(walk.count()):
                    walk.at += 4
                    walk.text()
                    walk.tags()
                walk.text()
            walk.tags()
        walk.tags()


def _identity(records: memoryview | bytearray) -> tuple[int, bool]:
    """Return the producer of a record batch, and whether it is part of a transaction."""
    require_one_batch(records)
    (producer,) = _PRODUCER.unpack_from(records, PRODUCER_AT)
    return producer, is_transactional(records)


def require_one_batch(records: bytes | bytearray | memoryview) -> None:
    """Raise unless the records of a partition are one batch of today's format.

    Raises:
        FrameError: They are not.
    """
    if len(records) < _LEAST or records[_MAGIC_AT] != _MAGIC:
        raise FrameError("a Produce request without a record batch")
    (length,) = _LENGTH.unpack_from(records, _LENGTH_AT)
    if length + _OVERHEAD != len(records):
        raise FrameError("a Produce request of several batches for a partition")


def is_transactional(records: bytes | bytearray | memoryview) -> bool:
    """Return whether a batch is part of a transaction."""
    (attributes,) = _SHORT.unpack_from(records, _ATTRIBUTES_AT)
    return bool(attributes & _TRANSACTIONAL)
