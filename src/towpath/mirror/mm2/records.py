"""The records of MirrorMaker 2's topics: checkpoints, heartbeats, offset syncs.

Fields are Kafka's protocol primitives, big endian; a string is an int16 length and UTF-8 (classes
`Checkpoint`, `Heartbeat` and `OffsetSync` of `org.apache.kafka.connect.mirror`, KIP-382):

    checkpoint   key group string, topic string (on the target), partition int32
                 value version int16 (0), source offset int64, target offset int64, metadata string
    heartbeat    key source alias string, target alias string
                 value version int16 (0), milliseconds since 1970 int64
    offset sync  key topic string (on the source), partition int32
                 value source offset int64, target offset int64

Java readers of these topics end with an error at a null value, so nothing here can make one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from towpath.model.foreign import foreign
from towpath.model.nouns import SourceOffset, TargetOffset, TopicName, TopicPartition

_VERSION = 0
"""The only version. Java readers take any other version for this one, so it may never change."""
_LONGEST = 2**15 - 1
"""Bytes of the longest string."""


class NotOfMirrorMakerError(ValueError):
    """A record is not in MirrorMaker 2's format; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The offset at which a source group continues in a target partition.

    Attributes:
        group: The name of the group.
        tp: The partition on the target.
        source: The offset that the group committed on the source.
        target: The offset at which it goes on.
        metadata: The text that it committed with its offset.
    """

    group: str
    tp: TopicPartition
    source: SourceOffset
    target: TargetOffset
    metadata: str = ""

    @property
    def key(self) -> bytes:
        """The key of the checkpoint's record."""
        return _text(self.group) + _text(self.tp.topic) + _I32.pack(self.tp.partition)

    @property
    def value(self) -> bytes:
        """The value of the checkpoint's record."""
        offsets = _PAIR.pack(self.source, self.target)
        return _I16.pack(_VERSION) + offsets + _text(self.metadata)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> Checkpoint:
        """Parse the record of a checkpoint.

        Raises:
            NotOfMirrorMakerError: It is not a checkpoint.
        """
        about, said = _Reader(key), _Reader(value)
        with _whole("checkpoint"):
            group, tp = about.text(), about.partition()
            said.skip(_I16.size)
            source, target = said.numbers(_PAIR)
            return cls(
                group=group,
                tp=tp,
                source=SourceOffset(source),
                target=TargetOffset(target),
                metadata=said.text(),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The heartbeat of a mirroring flow between two clusters.

    Attributes:
        source: Alias of the source.
        target: Alias of the target.
        at: When it was written, in ms since 1970.
    """

    source: str
    target: str
    at: int

    @property
    def key(self) -> bytes:
        """The key of the heartbeat's record."""
        return _text(self.source) + _text(self.target)

    @property
    def value(self) -> bytes:
        """The value of the heartbeat's record."""
        return _I16.pack(_VERSION) + _I64.pack(self.at)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> Heartbeat:
        """Parse the record of a heartbeat.

        Raises:
            NotOfMirrorMakerError: It is not a heartbeat.
        """
        about, said = _Reader(key), _Reader(value)
        with _whole("heartbeat"):
            source, target = about.text(), about.text()
            said.skip(_I16.size)
            (at,) = said.numbers(_I64)
            return cls(source=source, target=target, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSync:
    """The target offset of one record of the source.

    Attributes:
        tp: The partition on the source.
        source: The offset of the record there.
        target: Its offset on the target.
    """

    tp: TopicPartition
    source: SourceOffset
    target: TargetOffset

    @property
    def key(self) -> bytes:
        """The key of the offset sync's record."""
        return _text(self.tp.topic) + _I32.pack(self.tp.partition)

    @property
    def value(self) -> bytes:
        """The value of the offset sync's record."""
        return _PAIR.pack(self.source, self.target)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> OffsetSync:
        """Parse the record of an offset sync.

        Raises:
            NotOfMirrorMakerError: It is not an offset sync.
        """
        about, said = _Reader(key), _Reader(value)
        with _whole("offset sync"):
            tp = about.partition()
            source, target = said.numbers(_PAIR)
            return cls(tp=tp, source=SourceOffset(source), target=TargetOffset(target))


Mm2Record = Checkpoint | Heartbeat | OffsetSync

_I16, _I32, _I64, _PAIR = (struct.Struct(f">{form}") for form in ("h", "i", "q", "qq"))


def _text(text: str) -> bytes:
    raw = text.encode()
    if len(raw) > _LONGEST:
        raise ValueError(f"a text of {len(raw)} bytes, and {_LONGEST} are the most")
    return _I16.pack(len(raw)) + raw


class _Reader:
    """Reads fields one after the other. What follows the last one is left unread, as Java does."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def text(self) -> str:
        (size,) = self.numbers(_I16)
        raw = self._data[self._at : self._at + size]
        if size < 0 or len(raw) < size:
            raise ValueError(f"a text of {size} bytes, of which {len(raw)} are there")
        self._at += size
        return raw.decode()

    def partition(self) -> TopicPartition:
        """Read a topic and a partition number."""
        topic = TopicName(self.text())
        (number,) = self.numbers(_I32)
        return TopicPartition(topic, number)

    def numbers(self, form: struct.Struct) -> tuple[int, ...]:
        found = form.unpack_from(self._data, self._at)
        self.skip(form.size)
        return found

    def skip(self, size: int) -> None:
        self._at += size


@contextmanager
def _whole(what: str) -> Iterator[None]:
    try:
        yield
    except (struct.error, ValueError) as error:
        raise NotOfMirrorMakerError(f"not a {what} of MirrorMaker 2: {foreign(error)}") from None
