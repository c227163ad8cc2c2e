"""Changes of Fetch answers for clients of a gateway, made in place. Pure.

Record batches pass as they are, but for the leader epoch in their headers: it stands outside the
checksum, and means nothing on another cluster. Nothing else is decoded, as these are nearly all of
the bytes of a gateway, and an answer passes piece by piece, as it comes: each piece is sent while
it is in the processor's cache. The form is that of versions 4 to 15 on Kafka's protocol page.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from towpath.gateway.frame_walks import INT, PREFIX, SAME, FrameWalk
from towpath.gateway.frames import FrameError
from towpath.gateway.recoding import LateAnswer

_FLEXIBLE, _WITH_IDS, _WITH_SESSIONS, _WITH_START, _WITH_REPLICA = 12, 13, 7, 5, 11
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT = 8, 12, 16
_NO_EPOCH = b"\xff\xff\xff\xff"
_OVERHEAD = 12
"""Bytes of a batch before those that its length counts."""
_LEADER_TAG = 1
_PARTITION = struct.Struct(">ih")
_OUT_OF_RANGE = 1
_MORE = 4096
"""Bytes that are added at a time to a part of an answer that is not complete."""
Ahead = Callable[[bytes, int], bool]
Part = Callable[[memoryview], int]
"""Passes a part of an answer, such as a partition's fields, and returns how many bytes it has."""


class FetchChange:
    """The change of answers to Fetch, whole ones and those that pass in pieces.

    Args:
        shown: The id under which clients know a broker.
        ids: The topic ids that clients know by those of the cluster, where they differ.
        ahead: Tells of a topic, as it stands in requests, and a partition, whether an offset that
            is out of range is still to be copied: it is answered without records, and late.
    """

    def __init__(
        self,
        shown: Callable[[int], int],
        ids: Mapping[bytes, bytes] = SAME,
        ahead: Ahead | None = None,
    ) -> None:
        self._shown, self._ids, self._ahead = shown, ids, ahead

    def __call__(self, frame: bytearray, version: int) -> bytearray:
        """Remove the leader epochs from an answer, and replace node ids and topic ids.

        Args:
            frame: The answer with its size; it is changed.
            version: Its version, 4 to 15.

        Raises:
            FrameError: It is no such answer.
        """
        answer = FetchAnswer(len(frame), version, self._shown, self._ids, self._ahead)
        answer.passed(memoryview(frame))
        return LateAnswer(frame) if answer.is_late else frame

    def begin(self, size: int, version: int) -> FetchAnswer | None:
        """Return an answer that passes in pieces; `None` for one that may have to be late.

        Args:
            size: Bytes of its frame, with its size.
            version: Its version, 4 to 15.
        """
        if self._ahead is not None:
            return None
        return FetchAnswer(size, version, self._shown, self._ids)


class FetchAnswer:
    """An answer to Fetch whose bytes are changed in place as they come.

    Args:
        size: Bytes of its frame, with its size.
        version: Its version, 4 to 15.
        shown: The id under which clients know a broker.
        ids: The topic ids that clients know by those of the cluster, where they differ.
        ahead: See `FetchChange`.

    Attributes:
        left: Bytes of it that have not come.
        is_late: Whether an offset in it is still to be copied.
    """

    __slots__ = (
        "_ahead", "_begun", "_ids", "_part", "_partitions", "_records", "_shown", "_skip", "_topic",
        "_topics", "_version", "is_late", "left",
    )  # fmt: skip

    def __init__(
        self,
        size: int,
        version: int,
        shown: Callable[[int], int],
        ids: Mapping[bytes, bytes] = SAME,
        ahead: Ahead | None = None,
    ) -> None:
        self._version, self._shown, self._ids, self._ahead = version, shown, ids, ahead
        self.left, self.is_late = size, False
        self._begun = bytearray()  # a part that is not complete
        self._topic = b""
        self._topics = self._partitions = self._records = self._skip = 0
        self._part: Part | None = self._head

    def passed(self, data: memoryview) -> list[memoryview | bytes]:
        """Change the next bytes in place; return what of the answer can be passed on.

        Args:
            data: The bytes, none beyond the end of the answer.

        Raises:
            FrameError: It is no such answer.
        """
        found: list[memoryview | bytes] = []
        begin = at = self._complete(data, found) if self._begun else 0
        while self._part is not None:
            took = self._taken(self._part, data[at:])
            if took < 0:
                break
            at += took
        self.left -= len(data)
        if at > begin:
            found.append(data[begin:at])
        if self._part is None and at < len(data):
            raise FrameError(f"an answer to Fetch version {self._version} that ends elsewhere")
        if self._part is not None and self.left == 0:
            raise FrameError(f"an answer to Fetch version {self._version} that ends early")
        self._begun += data[at:]
        return found

    def _complete(self, data: memoryview, found: list[memoryview | bytes]) -> int:
        """Add bytes to the part that is not complete; return how many of them belong to it."""
        before, added, took = len(self._begun), 0, -1
        while took < 0 and added < len(data) and self._part is not None:
            more = data[added : added + _MORE]
            self._begun += more
            added += len(more)
            took = self._taken(self._part, memoryview(self._begun))
        if took < 0:
            return len(data)
        found.append(bytes(self._begun[:took]))
        self._begun = bytearray()
        return took - before

    def _taken(self, part: Part, data: memoryview) -> int:
        """Return how many bytes a part has, -1 if it is not complete."""
        try:
            return part(data)
        except (struct.error, IndexError):
            return -1

    def _head(self, data: memoryview) -> int:
        walk = self._walk(data, PREFIX.size)
        walk.tags()
        walk.at += 4 + (6 if self._version >= _WITH_SESSIONS else 0)  # throttle; error, session
        topics = walk.count()
        took = walk.end()
        self._topics, self._part = topics, self._next_topic
        return took

    def _next_topic(self, data: memoryview) -> int:
        walk = self._walk(data)
        if not self._topics:
            walk.tags()
            took = walk.end()
            self._part = None
            return took
        if self._version >= _WITH_IDS:
            walk.exchange(self._ids)
        else:
            walk.text()
        name_end = walk.at
        partitions = walk.count()
        took = walk.end()
        self._topic = bytes(data[:name_end]) if self._ahead is not None else b""
        self._topics -= 1
        self._partitions, self._part = partitions, self._next_partition
        return took

    def _next_partition(self, data: memoryview) -> int:
        walk = self._walk(data)
        if not self._partitions:
            walk.tags()
            took = walk.end()
            self._part = self._next_topic
            return took
        is_late = self._ahead is not None and self._judge(walk, self._ahead)
        walk.at += 4 + 2 + 8 + 8 + (8 if self._version >= _WITH_START else 0)
        for _ in range(walk.count()):  # aborted transactions
            walk.at += 16
            walk.tags()
        if self._version >= _WITH_REPLICA:
            walk.node(self._shown)
        size = walk.size() if walk.flexible else walk.number()
        took = walk.end()
        self.is_late |= is_late
        self._partitions -= 1
        self._records, self._skip, self._part = max(size, 0), 0, self._batches
        return took

    def _batches(self, data: memoryview) -> int:
        """Take the epochs out of the batches of a partition, as far as they are there."""
        here = min(len(data), self._records)
        at = strip_epochs(data, self._skip, here)
        if here == self._records:
            self._records, self._part = 0, self._partition_end
            return here
        took = min(at, here)  # the header of the next batch may not be complete
        if not took:
            raise IndexError
        self._records -= took
        self._skip = at - took
        return took

    def _partition_end(self, data: memoryview) -> int:
        walk = self._walk(data)

        def leader(tag: int) -> None:
            if tag == _LEADER_TAG:
                walk.node(self._shown)
                walk.no_epoch()

        walk.tags(leader)
        took = walk.end()
        self._part = self._next_partition
        return took

    def _judge(self, walk: _PartWalk, ahead: Ahead) -> bool:
        """Take an offset that is still to be copied for one without records."""
        number, error = _PARTITION.unpack_from(walk.data, walk.at)
        if error != _OUT_OF_RANGE or not ahead(self._topic, number):
            return False
        walk.put(walk.at, _PARTITION.pack(number, 0))
        return True

    def _walk(self, data: memoryview, at: int = 0) -> _PartWalk:
        return _PartWalk(data, at, self._version, self.left + len(self._begun))


class _PartWalk(FrameWalk):
    """A walk through a part of an answer, which is changed once it is complete.

    Args:
        data: Its bytes, as many of them as there are.
        at: Where the walk begins.
        version: The version of the answer.
        rest: How many bytes the answer has at most from there on.
    """

    __slots__ = ("_changes", "_rest")

    def __init__(self, data: memoryview, at: int, version: int, rest: int) -> None:
        super().__init__(data, at, version, flexible=version >= _FLEXIBLE)
        self._rest = rest
        self._changes: list[tuple[int, bytes]] = []

    def put(self, at: int, what: bytes) -> None:
        """Write bytes over others at the end of the walk."""
        self._changes.append((at, what))

    def end(self) -> int:
        """Make the changes; return how many bytes the part has.

        Raises:
            IndexError: It is not complete.
        """
        if self.at > len(self.data):
            raise IndexError
        for at, what in self._changes:
            self.data[at : at + len(what)] = what
        return self.at

    def count(self) -> int:
        """Read how many elements an array has; 0 for none.

        Raises:
            FrameError: There are more than the answer has bytes.
        """
        found = self.size() if self.flexible else self.number()
        if found > self._rest:  # each takes a byte at least
            raise FrameError(f"an answer to Fetch version {self.version} that ends early")
        return max(found, 0)

    def exchange(self, ids: Mapping[bytes, bytes]) -> None:
        """Pass a topic id, which is replaced if there is another one for it."""
        end = self.at + 16
        if end > len(self.data):
            raise IndexError
        other = ids.get(bytes(self.data[self.at : end])) if ids else None
        if other is not None:
            self.put(self.at, other)
        self.at = end

    def node(self, shown: Callable[[int], int]) -> None:
        """Pass the id of a broker, which is replaced by that which clients know."""
        (node,) = INT.unpack_from(self.data, self.at)
        if node >= 0:
            self.put(self.at, INT.pack(shown(node)))
        self.at += INT.size

    def no_epoch(self) -> None:
        """Replace a leader epoch by none."""
        self.put(self.at, _NO_EPOCH)
        self.at += len(_NO_EPOCH)


def strip_epochs(data: bytearray | memoryview, at: int, end: int) -> int:
    """Take the epochs out of record batches; the last one may be cut off (KIP-74).

    Args:
        data: Bytes with the batches; they are changed.
        at: Where the first one begins.
        end: Where the bytes of batches end.

    Returns:
        Where the first batch begins whose header does not end before that.

    Raises:
        FrameError: A batch has a length that none can have.
    """
    while at + _MAGIC_AT < end:
        (length,) = INT.unpack_from(data, at + _LENGTH_AT)
        if length <= 0:
            raise FrameError(f"a batch of {length} bytes")
        if data[at + _MAGIC_AT] >= 2:  # before, a checksum stood there
            data[at + _EPOCH_AT : at + _EPOCH_AT + 4] = _NO_EPOCH
        at += _OVERHEAD + length
    return at
