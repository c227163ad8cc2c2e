"""The metadata log, read from the leading controller up to its high watermark."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from towpath.cluster.connect.control import AGAIN, healable
from towpath.cluster.connect.retrying import retried
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.facts.seen import MetadataLogSeen, QuorumSeen
from towpath.kraft.metadata import quorum as quorums
from towpath.kraft.metadata.controllers import SIDE, Controllers
from towpath.kraft.metadata.copied import find_copy
from towpath.kraft.metadata.fetching import (
    LogPart,
    SnapshotId,
    fetch,
    fetch_snapshot,
    knows_newer_epoch,
)
from towpath.kraft.metadata.log_image import LogImage
from towpath.kraft.metadata.records import LogBatch, batches
from towpath.model.errors import (
    ClusterError,
    CorruptBatchError,
    RefusedError,
    UnreachableError,
)
from towpath.runtime.deadline import Deadline

_BEGIN = SnapshotId(0, 0)
_SNAPSHOT_GONE = frozenset({98, 99})
"""SNAPSHOT_NOT_FOUND and POSITION_OUT_OF_RANGE: a newer snapshot has replaced this one."""
_CONFIRM = 0.5
"""Seconds for which another controller may be silent about its epoch."""
_LEAVING = 8
"""BROKER_NOT_AVAILABLE: the controller is stopping."""


def read_quorum(config: KraftConfig, deadline: Deadline) -> QuorumSeen:
    """Return the quorum of the controllers as its leader reports it.

    Raises:
        ClusterError: No controller leads, or none lets us ask.
    """
    with LogReader(config) as reader:
        return reader.read_quorum(deadline)


def read_log(config: KraftConfig, quorum: QuorumSeen, deadline: Deadline) -> MetadataLogSeen:
    """Return the contents of the whole metadata log; see `LogReader.read`."""
    with LogReader(config) as reader:
        return reader.read(quorum, deadline)


@dataclass(slots=True)
class _Known:
    """The part of the metadata log that was read so far.

    Attributes:
        at: Where to go on, and the epoch of the last batch.
        last: The last batch that was applied, and the position of that batch; None at the
            beginning and behind a snapshot.
    """

    image: LogImage = field(default_factory=LogImage)
    at: SnapshotId = _BEGIN
    last: tuple[SnapshotId, int] | None = None

    def apply(self, batch: LogBatch) -> None:
        self.image.apply(batch)
        header = batch.header
        self.last = SnapshotId(header.base_offset, self.at.epoch), header.crc
        self.at = SnapshotId(batch.last + 1, header.leader_epoch)


class LogReader:
    """Reads the metadata log; a second call continues where the first one ended.

    Before it goes on it fetches the last batch again. If that is another one now, the controllers
    were formatted anew and their log is another log: the reader begins from the start.

    Args:
        config: Names the controllers, and how to log in.

    Attributes:
        begun: How often the log was read from its beginning or a snapshot.
    """

    def __init__(self, config: KraftConfig) -> None:
        self._controllers = Controllers(config)
        self._known = _Known()
        self.begun = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; everything read so far is kept."""
        self._controllers.close()

    def read_quorum(self, deadline: Deadline) -> QuorumSeen:
        """Return the quorum as its leader reports it; see `read_quorum`.

        A leader that was frozen answers as leader until it notices that another one was elected.
        So it is believed only if no other controller knows a newer epoch.
        """
        return quorums.read_quorum(self._controllers, deadline, self.doubt)

    def doubt(self, told: QuorumSeen, deadline: Deadline) -> str | None:
        """Return the controller that contradicts a leader's answer, `None` if none does.

        One that is silent says nothing: it may be down.
        """
        for node in self._controllers.nodes:
            if node == told.leader:
                continue
            share = Deadline.after(min(_CONFIRM, deadline.left()))
            with suppress(ClusterError):
                if knows_newer_epoch(self._controllers, told, node, share):
                    return (
                        f"controller {told.leader} says that it leads in epoch {told.epoch}, and"
                        f" controller {node} knows a newer one"
                    )
        return None

    def read(self, quorum: QuorumSeen, deadline: Deadline) -> MetadataLogSeen:
        """Return the contents of the log below the quorum's high watermark, or a later one.

        A leader that moves or stops while the log is read is looked up again.

        Raises:
            ClusterError: No controller leads, the login may not read the log (ClusterAction), or
                the log holds what cannot be read.
        """
        wanted = [quorum]

        def once() -> MetadataLogSeen:
            now = wanted.pop() if wanted else self.read_quorum(deadline)
            return self._read(now, deadline)

        return retried(once, deadline, AGAIN, _passes)

    def _read(self, quorum: QuorumSeen, deadline: Deadline) -> MetadataLogSeen:
        try:
            answer = self._resumed(quorum, deadline)
            while True:
                self._apply(answer, quorum, deadline)
                if self._known.at.end >= quorum.high_watermark:
                    return self._known.image.seen(self._known.at.end)
                if deadline.over:
                    raise _late(self._known.at.end, quorum)
                answer = fetch(self._controllers, quorum, self._known.at, deadline)
        except CorruptBatchError as error:
            raise _unreadable(error, quorum) from error

    def _resumed(self, quorum: QuorumSeen, deadline: Deadline) -> LogPart:
        """Fetch from where we are, if that log is still the one that was read."""
        known = self._known
        if known.last is not None and quorum.high_watermark >= known.at.end:
            place, crc = known.last
            answer = fetch(self._controllers, quorum, place, deadline)
            again = next(batches(answer.data), None)
            same = again is not None and (again.header.base_offset, again.header.crc) == (
                place.end,
                crc,
            )
            if same and answer.snapshot is None and not answer.diverging:
                return answer
        if known.at == _BEGIN or known.last is not None or known.at.end > quorum.high_watermark:
            self._known = _Known()
            self.begun += 1
        return fetch(self._controllers, quorum, self._known.at, deadline)

    def _apply(self, answer: LogPart, quorum: QuorumSeen, deadline: Deadline) -> None:
        """Apply the committed batches of an answer that are new."""
        if answer.diverging:
            self._known = _Known()
            self.begun += 1
        elif answer.snapshot is not None:
            self._load(answer.snapshot, quorum, deadline)
        for batch in batches(answer.data):
            if batch.last >= answer.high_watermark:
                return
            if batch.header.base_offset >= self._known.at.end:
                self._known.apply(batch)

    def _load(self, snapshot: SnapshotId, quorum: QuorumSeen, deadline: Deadline) -> None:
        data = fetch_snapshot(self._controllers, quorum, snapshot, deadline)
        known = _Known()
        for batch in batches(data):
            known.image.apply(batch)
        if known.image.is_copied:
            known.image.copied = find_copy(self._controllers, quorum, snapshot.end, deadline)
        known.at = snapshot
        # The beginning, at which this snapshot stands, is counted already.
        self.begun += self._known.at != _BEGIN
        self._known = known


def _passes(error: BaseException) -> bool:
    """Whether another look for the leader may help."""
    if isinstance(error, RefusedError) and error.error in (_LEAVING, *_SNAPSHOT_GONE):
        return True
    return isinstance(error, ClusterError) and healable(error)


def _late(at: int, quorum: QuorumSeen) -> UnreachableError:
    return UnreachableError(
        SIDE,
        "reading the metadata log",
        f"it was read to offset {at} in the time given, and is committed to"
        f" {quorum.high_watermark}",
        "try again; look at the load of the controllers",
    )


def _unreadable(error: CorruptBatchError, quorum: QuorumSeen) -> UnreachableError:
    return UnreachableError(
        SIDE,
        f"reading the metadata log of controller {quorum.leader}",
        str(error),
        "look into the controllers' logs; a newer Kafka than 4.4 may write what is not known here",
    )
