"""Checkpoints, offset syncs and heartbeats in MirrorMaker 2's formats, for its consumers.

Java clients translate offsets by them (`RemoteClusterUtils`). Only what has changed is written, and
never a null value, which would end such a reader with an error. Everything is on the target, as
nothing is written to the source; heartbeats come under two names, as MirrorMaker 2 has them there:
`heartbeats`, and the name of the mirror topic of those at the source, which tells Java clients
from where topics are mirrored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import CommittedReader
from towpath.groups.model import GroupPosition, SyncReport
from towpath.ledger.books import LinkBooks
from towpath.ledger.link import OpenLink
from towpath.ledger.offsets import Exactness
from towpath.mirror.mm2.policy import HEARTBEATS, Policy
from towpath.mirror.mm2.records import Checkpoint, Heartbeat, Mm2Record, OffsetSync
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.groups import GroupKind
from towpath.model.nouns import Side, SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.settings import Mm2Config, Mm2Topic
from towpath.wire import plain

EXACTNESS = b"towpath-exactness"
"""Header of a checkpoint that says how far it can be relied on. Java clients pass it over."""

_CONFIGS = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
_AT_ONCE = 1000
"""Records in one batch."""
_SAFE = frozenset({Exactness.EXACT, Exactness.BOUNDED, Exactness.NOT_YET, Exactness.LOST})
"""Answers that skip no record which the target holds. What is before the beginning of the mirror
may have been mirrored by another tool."""

Headers = tuple[tuple[bytes, bytes | None], ...]
Wanted = Mapping[TopicName, Mapping[bytes, tuple[Mm2Record, Headers]]]


@dataclass(frozen=True, slots=True)
class Published:
    """The result of one update of MirrorMaker 2's topics.

    Attributes:
        records: How many records, by topic.
        others: Topics to which somebody else writes as well.
    """

    records: Mapping[TopicName, int] = field(default_factory=dict)
    others: tuple[TopicName, ...] = ()

    @property
    def notes(self) -> Iterator[str]:
        """Sentences for the user about the update."""
        for topic in self.others:
            yield (
                f"another program writes to {topic}, too: is MirrorMaker 2 still running? Stop it,"
                " or set another `groups.mm2.source_alias`"
            )


@contextmanager
def publishing(link: OpenLink) -> Iterator[Callable[[SyncReport], tuple[str, ...]]]:
    """Yield a function to call after each sync of groups, which returns its failures.

    It writes nothing where the file does not ask for it, and raises no error of a cluster: groups
    do not depend on it.
    """
    config = link.config.groups.mm2 if link.config.groups is not None else None
    if config is None:
        yield lambda _: ()
        return
    with Client(link.config.target, Side.TARGET, link.target) as client:
        publisher = Publisher(config, link.target, client)

        def publish(report: SyncReport) -> tuple[str, ...]:
            try:
                return tuple(publisher.publish(report, link.books).notes)
            except TowpathError as error:
                return (f"the topics of `groups.mm2` were not written: {error}",)

        yield publish


class Publisher:
    """Updates MirrorMaker 2's topics of one link; for one thread.

    Args:
        config: Which topics, and MirrorMaker 2's names of the clusters.
        target: The target.
        client: Reads and writes there.
    """

    def __init__(self, config: Mm2Config, target: Admin, client: Client) -> None:
        self._config, self._target, self._client = config, target, client
        self._topics: dict[TopicName, _Topic] = {}

    def publish(self, report: SyncReport, books: LinkBooks) -> Published:
        """Write the records that changed since the last call.

        Args:
            report: Where the groups stand.
            books: What the ledger knows of the link.

        Raises:
            ClusterError: The target refuses a topic or a record, or cannot be reached.
        """
        wanted = wanted_records(self._config, report, books, now_ms())
        written, others = {}, []
        for name, records in wanted.items():
            topic = self._topic(name)
            try:
                written[name] = topic.write(records)
            except ClusterError:
                del self._topics[name]  # it may have to be created again
                raise
            others += [name] if topic.others else []
        return Published(written, tuple(others))

    def _topic(self, name: TopicName) -> _Topic:
        if name not in self._topics:
            if name not in self._target.topics.describe([name]):
                self._target.topics.create_small(name, _CONFIGS)
            self._topics[name] = _Topic(self._target, self._client, TopicPartition(name, 0))
        return self._topics[name]


def wanted_records(config: Mm2Config, report: SyncReport, books: LinkBooks, at: int) -> Wanted:
    """Return the wanted records of each topic, by key.

    Args:
        config: Which topics, and MirrorMaker 2's names of the clusters.
        report: Where the groups stand.
        books: What the ledger knows of the link.
        at: The present time, in ms since 1970.
    """
    policy = Policy(separator=config.separator, internal_separator=config.internal_separator)
    ours, theirs, asked = config.alias, config.source_alias, config.topics
    found: dict[TopicName, dict[bytes, tuple[Mm2Record, Headers]]] = {}
    if Mm2Topic.CHECKPOINTS in asked:
        made = (each for each in map(_checkpoint, report.positions) if each is not None)
        found[policy.checkpoints(theirs)] = {point.key: (point, more) for point, more in made}
    if Mm2Topic.OFFSET_SYNCS in asked:
        syncs = offset_syncs(books)
        found[policy.offset_syncs(theirs)] = {sync.key: (sync, ()) for sync in syncs}
    if Mm2Topic.HEARTBEATS in asked:
        there, back = (
            Heartbeat(source=a, target=b, at=at) for a, b in ((theirs, ours), (ours, theirs))
        )
        found[HEARTBEATS] = {there.key: (there, ())}
        found[policy.remote_topic(theirs, HEARTBEATS)] = {back.key: (back, ())}
    return found


def _checkpoint(position: GroupPosition) -> tuple[Checkpoint, Headers] | None:
    """Return the checkpoint of a position, `None` if a client must not go on there."""
    answer, mirror = position.answer, position.mirror
    is_safe = answer is not None and answer.exactness in _SAFE
    if not is_safe or mirror is None or position.group.kind is GroupKind.SHARE:
        return None
    assert answer is not None  # noqa: S101  # it is safe
    point = Checkpoint(
        group=position.group.name,
        tp=mirror,
        source=position.source,
        target=answer.offset,
        metadata=position.metadata,
    )
    return point, ((EXACTNESS, str(answer.exactness).encode()),)


def offset_syncs(books: LinkBooks) -> Iterator[OffsetSync]:
    """Yield the source and target offset of the last mirrored record of each partition."""
    for tp, known in sorted(books.partitions.items()):
        receipt = known.receipt
        if receipt is None:
            continue
        source, target, length = receipt.run
        if length > 0:
            last = length - 1
            yield OffsetSync(
                tp=tp, source=SourceOffset(source + last), target=TargetOffset(target + last)
            )


class _Topic:
    """One topic on the target, with its present records."""

    def __init__(self, target: Admin, client: Client, tp: TopicPartition) -> None:
        self._client, self._tp = client, tp
        self._reader = CommittedReader(target, client, tp)
        self._holds: dict[bytes, bytes | None] = {}
        self._ours: set[int] = set()
        self._began, self._failures = False, client.failures
        self.others = False
        """Whether somebody else has written since the first call."""

    def write(self, records: Mapping[bytes, tuple[Mm2Record, Headers]]) -> int:
        """Write the records whose value has changed; return their number."""
        for record in self._reader.read():
            if record.key is not None:
                self._holds[record.key] = record.value
            # A request that failed may have written what we wrote again after it.
            if record.offset not in self._ours and self._client.failures == self._failures:
                self.others = self.others or self._began
        self._began, self._failures = True, self._client.failures
        self._ours.clear()
        due = [
            plain.Record(key, each.value, headers, now_ms())
            for key, (each, headers) in records.items()
            if self._holds.get(key) != each.value
        ]
        for first in range(0, len(due), _AT_ONCE):
            self._append(due[first : first + _AT_ONCE])
        return len(due)

    def _append(self, records: Iterable[plain.Record]) -> None:
        batch = [*records]
        base = self._client.produce(self._tp, plain.encode(batch))
        self._ours |= set(range(base, base + len(batch)))
        self._holds |= {record.key: record.value for record in batch if record.key is not None}
