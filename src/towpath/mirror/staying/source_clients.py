"""The observation of clients' dependencies at the source, with few requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import ClientGroup, GroupKind
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import TopicInfo
from towpath.mirror.staying.schema_ids import schema_id
from towpath.mirror.staying.staying import Staying
from towpath.model.acl import Operation
from towpath.model.errors import ClusterError, CorruptBatchError
from towpath.model.nouns import ProducerId, Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.settings import LinkConfig
from towpath.settings.sections.own_topics import is_own
from towpath.wire.header import CONTROL, BatchHeader
from towpath.wire.plain import decode

_LIST_TRANSACTIONS = 66
_MOST = 5000
"""Partitions that are asked for their producers."""
_SAMPLED = 500
"""Topics whose last batch is read for schema ids."""
_SECONDS = 5.0
"""Time for these reads, and patience with leaders that do not answer."""
_BATCH = 1 << 16
_BACK = 3
"""Batches that are read backwards until one holds records."""
_PRIVATE = 1 << 40
"""Producer ids from here on are those of links."""
_HIDDEN = (
    "the login lacks the ACL Describe on the source cluster, so the brokers name only those that it"
    " may describe"
)


def look_at_clients(config: LinkConfig, source: Admin, topics: Collection[TopicName]) -> Staying:
    """Return the things that clients of mirrored topics use at the source and that are not copied.

    What cannot be looked at is named in the answer.

    Args:
        config: The link.
        source: The source.
        topics: The source topics that are mirrored.

    Raises:
        ClusterError: The source does not list its topics.
    """
    listed = source.topics.describe()
    return _Look(config, source, listed, frozenset(topics) & listed.keys()).all()


@dataclass
class _Look:
    config: LinkConfig
    source: Admin
    listed: Mapping[TopicName, TopicInfo]
    mirrored: frozenset[TopicName]
    users: dict[TopicName, set[str]] = field(default_factory=lambda: defaultdict(set))
    unknown: list[str] = field(default_factory=list)

    def all(self) -> Staying:
        hidden = self._hidden()
        used, unseen = self._groups()
        transactional = self._producers()
        schemas = self._schemas()
        return Staying(
            groups=_of_kind(used, GroupKind.CONSUMER),
            share_groups=_of_kind(used, GroupKind.SHARE),
            streams_groups=_of_kind(used, GroupKind.STREAMS),
            schemas=schemas,
            schemas_move=self.config.schemas is not None,
            transactional=transactional,
            left_out={name: tuple(sorted(users)) for name, users in self.users.items()},
            unseen_groups=unseen or hidden,
            unknown=tuple(self.unknown),
            chosen=self.config.groups is not None,
            relayed=self.config.gateway is not None,
            through_query=self.config.transforms is not None,
        )

    def _hidden(self) -> str:
        """Return why brokers may keep groups and transactional ids to themselves, "" if not."""
        try:
            rights = self.source.cluster.rights()
        except ClusterError as error:
            return str(error)
        return "" if rights is not None and Operation.DESCRIBE in rights else _HIDDEN

    def _groups(self) -> tuple[tuple[ClientGroup, ...], str]:
        try:
            commits = self.source.groups.commits()
        except ClusterError as error:
            return (), str(error)
        found = []
        for group, offsets in commits.items():
            topics = {tp.topic for tp in offsets}
            if topics & self.mirrored:
                found += [] if self._moves(group) else [group]
                self._uses(str(group), topics)
        failed = next(iter(commits.failed.values()), None)
        return tuple(sorted(found)), str(failed) if failed else ""

    def _moves(self, group: ClientGroup) -> bool:
        """Whether the file asks for bringing the group over."""
        return self.config.groups is not None and self.config.groups.matches(group.name)

    def _uses(self, user: str, topics: Iterable[TopicName]) -> None:
        for name in topics:
            if self._is_left_out(name):
                self.users[name].add(user)

    def _is_left_out(self, name: TopicName) -> bool:
        info = self.listed.get(name)
        there = info is not None and not info.internal and not is_own(name)
        return there and name not in self.mirrored

    def _producers(self) -> tuple[str, ...]:
        """Return transactional ids of producers of mirrored topics; note what else these use."""
        writing = self._ids(self.mirrored)
        ids = frozenset[ProducerId]().union(*writing.values())
        names = self._names() if ids else {}
        beside = self._ids(filter(self._is_left_out, self.listed)) if ids else {}
        for name, theirs in beside.items():
            for each in theirs & ids:
                self._uses(f"producer {names.get(each, each)}", [name])
        return tuple(sorted({names[each] for each in ids if each in names}))

    def _names(self) -> Mapping[ProducerId, str]:
        """Return the transactional ids of producers."""
        try:
            if _LIST_TRANSACTIONS in self.source.cluster.api_versions():
                return self.source.producers.transactional_ids()
            why = "brokers before Kafka 3.0 do not list them"
        except ClusterError as error:
            why = str(error)
        self.unknown.append(f"for transactional ids: {why}")
        return {}

    def _ids(self, topics: Iterable[TopicName]) -> Mapping[TopicName, frozenset[ProducerId]]:
        """Return the ids of idempotent producers that leaders know, by topic."""
        tps = [*self._partitions(topics)]
        if len(tps) > _MOST:
            self.unknown.append(f"for producers of more than {_MOST} of {len(tps)} partitions")
        if not tps:
            return {}
        found: dict[TopicName, frozenset[ProducerId]] = {}
        states = self.source.producers.states(tps[:_MOST], patience=_SECONDS)
        for tp, said in states.items():
            ids = frozenset(each.id for each in said if 0 <= each.id < _PRIVATE)
            found[tp.topic] = found.get(tp.topic, frozenset()) | ids
        for error in list(states.failed.values())[:1]:
            self.unknown.append(f"for producers of {len(states.failed)} partitions: {error}")
        return found

    def _partitions(self, topics: Iterable[TopicName]) -> Iterator[TopicPartition]:
        for name in sorted(topics):
            for each in self.listed[name].partitions:
                yield TopicPartition(name, each.partition)

    def _schemas(self) -> dict[TopicName, int]:
        """Return the topics whose last records begin with a schema id; one partition is enough."""
        tps = [*self._partitions(self.mirrored)]
        ends = self.source.offsets.latest(tps, committed=True, patience=_SECONDS) if tps else {}
        last = {tp.topic: (tp, end) for tp, end in ends.items() if end > 0}
        found: dict[TopicName, int] = {}
        deadline, looked = Deadline.after(_SECONDS), 0
        with Client(self.config.source, Side.SOURCE, self.source) as client:
            for topic, (tp, end) in sorted(last.items())[:_SAMPLED]:
                if deadline.over:
                    break
                looked += 1
                number = _last_id(client, tp, end)
                if number is not None:
                    found[topic] = number
        if looked < len(last):
            self.unknown.append(
                f"for schemas in {len(last) - looked} of {len(last)} topics: it reads at most"
                f" {_SAMPLED}, for {_SECONDS:.0f} s"
            )
        return found


def _of_kind(groups: Iterable[ClientGroup], kind: GroupKind) -> tuple[str, ...]:
    return tuple(group.name for group in groups if group.kind is kind)


def _last_id(client: Client, tp: TopicPartition, end: int) -> int | None:
    """Return a schema id of the last batch, if it has one; markers of transactions are skipped."""
    with suppress(ClusterError, CorruptBatchError):
        for _ in range(_BACK):
            chunk = client.fetch(tp, end - 1, max_bytes=_BATCH)
            data = chunk.batches
            if not len(data):
                return None
            header = BatchHeader.read(data)
            if not header.attributes & CONTROL:
                return schema_id(decode(data[: header.length + 12]))
            end = header.base_offset
            if end <= 0:
                return None
    return None
