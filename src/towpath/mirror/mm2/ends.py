"""The end of each mirror topic of MirrorMaker 2, as a source offset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import committed
from towpath.ledger.link import OpenLink
from towpath.mirror.mm2.seam import Digest, Seam, digest, find_seam
from towpath.model.nouns import Side, SourceOffset, TargetOffset, TopicPartition
from towpath.topics.configs import stamps_itself
from towpath.topics.observed import Topic
from towpath.wire import plain
from towpath.wire.header import CONTROL, BatchHeader, split

_TAIL = 100
"""Records of the mirror topic that are compared at most."""
_SPAN = 400
"""Offsets before the end of the mirror topic, and around the position at the source, that are read
first."""
_FETCH_BYTES = 1 << 20
_WAIT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SucceededPartition:
    """A source partition that a link continues after MirrorMaker 2.

    Attributes:
        tp: The source partition.
        mirror: The target partition.
        copied: The source offset of the last record that MirrorMaker 2 says it copied, if any.
        begins: The source offset at which copying begins, `None` if nothing is to be written.
        target_end: The log end offset of the target partition.
        compared: How many records before `begins` are the same on both sides.
        why: Why nothing is to be written, a sentence; "" if something is.
        is_fine: Whether that is as it should be.
    """

    tp: TopicPartition
    mirror: TopicPartition
    copied: SourceOffset | None
    begins: SourceOffset | None = None
    target_end: TargetOffset = TargetOffset(0)
    compared: int = 0
    why: str = ""
    is_fine: bool = False


class SeamFinder:
    """Compares the ends of mirror topics with the source.

    Args:
        link: The link.
        clients: Connections of both sides.
        scan: Bytes of each source partition to search at most.
    """

    def __init__(self, link: OpenLink, clients: Mapping[Side, Client], scan: int) -> None:
        self._link, self._clients, self._scan = link, clients, scan

    def find(
        self, one: SucceededPartition, topic: Topic, mirror: Topic, *, trust: bool
    ) -> SucceededPartition:
        """Return a partition with its start offset, or why there is none.

        Args:
            one: The partition.
            topic: The source topic.
            mirror: The mirror topic.
            trust: Whether the position counts where records prove nothing.

        Raises:
            ClusterError: A partition cannot be read.
        """
        offsets = self._link.target.offsets
        start, end = offsets.earliest([one.mirror]), offsets.latest([one.mirror])
        first, last = start.sure(one.mirror), end.sure(one.mirror)
        one = replace(one, target_end=TargetOffset(last))
        if one.copied is None:
            if last == 0:
                why = "MirrorMaker 2 has copied nothing of it; it is copied from its beginning"
                return replace(one, why=why, is_fine=True)
            why = (
                f"MirrorMaker 2 has no position for it, and {one.mirror} ends at offset {last};"
                " is --source-alias right, and --offsets-topic?"
            )
            return replace(one, why=why)
        if last == 0:
            why = (
                f"MirrorMaker 2 has copied it up to offset {one.copied}, but {one.mirror} is empty;"
                " does `topics.rename` give the names that MirrorMaker 2 gave?"
            )
            return replace(one, why=why)
        there = self._link.source.offsets.latest([one.tp]).sure(one.tp)
        if one.copied >= there:
            why = (
                f"MirrorMaker 2 has copied it up to offset {one.copied}, but the source ends at"
                f" {there}: its topic was made again, or its log was cut"
            )
            return replace(one, why=why)
        timed = not (stamps_itself(topic.configs) or stamps_itself(mirror.configs))
        return self._compared(one, first, timed=timed, trust=trust)

    def _compared(
        self, one: SucceededPartition, first: int, *, timed: bool, trust: bool
    ) -> SucceededPartition:
        assert one.copied is not None  # noqa: S101  # the caller asked
        mirror = self._tail(one, first, timed=timed)
        seam = None
        for is_committed in (False, True):  # aborted records are copied unless told otherwise
            seam = seam or self._searched(one, mirror, timed=timed, is_committed=is_committed)
        if seam is not None:
            return replace(one, begins=seam.next, compared=seam.compared)
        if trust:
            return replace(one, begins=SourceOffset(one.copied + 1))
        last = f"the last record of {one.mirror}" if mirror else f"{one.mirror} has no record left:"
        why = (
            f"{last} is not found at one certain place of the source around offset {one.copied};"
            " others may have written it, or MirrorMaker 2 may have changed it; --trust-positions"
            " begins behind that offset without a proof"
        )
        return replace(one, why=why)

    def _tail(self, one: SucceededPartition, first: int, *, timed: bool) -> list[Digest]:
        """Return digests of the last records of the mirror topic."""
        client, span = self._clients[Side.TARGET], _SPAN
        while True:
            begin = max(first, one.target_end - span)
            read = _records(client, one.mirror, begin, one.target_end, is_committed=True)
            found = [digest(record, with_time=timed) for record in read]
            if found or begin == first:
                return found[-_TAIL:]
            span *= 8

    def _searched(
        self, one: SucceededPartition, mirror: list[Digest], *, timed: bool, is_committed: bool
    ) -> Seam | None:
        """Search at the position first, then behind it."""
        assert one.copied is not None  # noqa: S101  # the caller asked
        source = self._link.source.offsets
        first = source.earliest([one.tp]).sure(one.tp)
        end = source.latest([one.tp], committed=is_committed).sure(one.tp)
        begin = max(first, one.copied + 1 - _SPAN)
        client = self._clients[Side.SOURCE]
        found: list[tuple[SourceOffset, Digest]] = []
        left = self._scan
        for record in _records(client, one.tp, begin, end, is_committed=is_committed):
            found.append((SourceOffset(record.offset), digest(record, with_time=timed)))
            left -= len(record.key or b"") + len(record.value or b"")
            if len(found) == 2 * _SPAN and (seam := find_seam(mirror, found)):
                return seam
            if left < 0:
                break
        return find_seam(mirror, found)


def _records(
    client: Client, tp: TopicPartition, first: int, end: int, *, is_committed: bool
) -> Iterator[plain.Record]:
    """Yield the records at offsets [first, end), those of aborted transactions only if wanted."""
    at = first
    while at < end:
        chunk = client.fetch(tp, at, max_bytes=_FETCH_BYTES, wait=_WAIT, committed=is_committed)
        batches = [*split(chunk.batches)]
        if not batches:
            return
        records = committed(chunk) if is_committed else _all(batches)
        yield from (record for record in records if at <= record.offset < end)
        header = BatchHeader.read(batches[-1])
        at = header.base_offset + header.last_offset_delta + 1


def _all(batches: list[memoryview]) -> Iterator[plain.Record]:
    for batch in batches:
        if not BatchHeader.read(batch).attributes & CONTROL:
            yield from plain.decode(batch)
