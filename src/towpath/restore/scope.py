"""What a restore brings back: the topics of an archive as of a version of its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from towpath.config import OffsetsPolicy, Placement, RestoreConfig, filter_of, partitions_of
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicId, TopicName
from towpath.restore.bounds import BoundError, Offsets, narrowed
from towpath.restore.model import RestorePart, RestoreScope, RestoreTopic
from towpath.segments.captures import GroupCapture, TopicCapture, captured_groups, captured_topics
from towpath.segments.ingress.layout import KeyedLayout
from towpath.segments.log import Archive, ArchivedTo, ArchiveState
from towpath.segments.model import PartitionId
from towpath.topics.observed import Topic

_SUMS = {"records": "sum", "raw_bytes": "sum", "min_time": "min", "max_time": "max"}


Choose = Callable[[TopicName, Sequence[TopicId], Mapping[TopicId, list[RestorePart]]], TopicId]
"""Returns which of several topics of one name is restored: gets the name, the ids of those that
match, the latest one last, and the partitions of each."""


def scope_of(archive: Archive, rules: RestoreConfig, choose: Choose | None = None) -> RestoreScope:
    """Return what a restore brings back.

    Args:
        archive: The archive as of a version.
        rules: What the file says of restores.
        choose: Chooses among topics of one name; by default the latest one is restored.

    Raises:
        CommitLogError: The log has something that is no description of a topic.
        StoreError: The store could not be read, to find the offsets of times.
    """
    return _Scope(archive, rules, choose).made()


class _Scope:
    def __init__(
        self, archive: Archive, rules: RestoreConfig, choose: Choose | None = None
    ) -> None:
        self._archive, self._rules, self._groups = archive, rules.topics, rules.groups
        self._asked = rules
        self._state = archive.then
        self._captures = captured_topics(self._state, archive.log.where)
        self._choose = choose
        self._awaiting: set[TopicName] = set()
        self._notes: list[Note] = []
        self._problems: list[Problem] = []

    def made(self) -> RestoreScope:
        parts = self._parts()
        chosen = self._chosen(parts)
        names, misnamed = self._rules.target_names(chosen)
        self._problems += (Problem(name, text, Cause.TOPIC) for name, text in misnamed.items())
        topics = {
            name: self._topic(name, names[name], chosen[name], parts[chosen[name]])
            for name in sorted(names)
        }
        self._problems += _shared(topics)
        if not (chosen or self._problems):
            text = "the archive has no topic that matches; look at `restore.topics.include`"
            self._problems.append(Problem("restore.topics", text, Cause.FILE))
        return RestoreScope(
            region=self._archive.log.region,
            version=self._state.version,
            at=self._state.time,
            topics=topics,
            groups=self._read_by(topics),
            awaiting=frozenset(self._awaiting),
            notes=tuple(self._notes),
            problems=tuple(self._problems),
        )

    def _parts(self) -> dict[TopicId, list[RestorePart]]:
        """Return the archived partitions of each topic that is asked for."""
        there = {
            id_: known
            for id_, known in self._archive.partitions().items()
            if self._rules.matches(known.topic)
        }
        wanted = narrowed(self._archive, there, self._asked.range)
        fine = {id_: each for id_, each in wanted.items() if not isinstance(each, BoundError)}
        sums = _sums(self._state, fine)
        found: defaultdict[TopicId, list[RestorePart]] = defaultdict(list)
        for id_, known in there.items():
            begin, about = self._state.partitions[id_].begin, f"{known.topic}-{id_.partition}"
            if begin < known.begin:
                text = f"offsets {begin} to {known.begin - 1} were pruned since"
                self._notes.append(Note(about, text))
            if id_ in fine:
                found[id_.topic_id].append(_part(id_, fine[id_], sums.get(id_, {})))
            else:
                self._problems.append(Problem(known.topic, f"{about}: {wanted[id_]}", Cause.TOPIC))
        self._tell_of_range(there, fine)
        return found

    def _tell_of_range(
        self, there: Mapping[PartitionId, ArchivedTo], fine: Mapping[PartitionId, Offsets]
    ) -> None:
        """Say which partitions come back in part."""
        for id_, (first, end) in fine.items():
            known = there[id_]
            if (first, end) != (known.begin, known.archived_to):
                text = f"offsets {first} to {end - 1} come back" if end > first else "nothing of it"
                text += f" of {known.begin} to {known.archived_to - 1}"
                self._notes.append(Note(f"{known.topic}-{id_.partition}", text))

    def _chosen(self, parts: Mapping[TopicId, list[RestorePart]]) -> dict[TopicName, TopicId]:
        """Return which topic of each name is restored: the one that was archived last."""
        chosen: dict[TopicName, TopicId] = {}
        for name, ids in self._archive.topics().items():
            some = [each for each in ids if each in parts]
            if not some or any(each.about == name for each in self._problems):
                continue
            chosen[name] = some[-1] if self._choose is None else self._choose(name, some, parts)
            if chosen[name] != some[-1]:
                self._awaiting.add(name)
            if len(some) > 1:
                which = (
                    "the last one is restored"
                    if chosen[name] == some[-1]
                    else "an older one is restored first"
                )
                text = (
                    "the archive has several topics of this name, as it was deleted and created"
                    f" again; {which} (topic id {chosen[name]})"
                )
                self._notes.append(Note(name, text))
        return chosen

    def _read_by(self, topics: Mapping[TopicName, RestoreTopic]) -> dict[str, GroupCapture]:
        """Return the groups that stood in these topics, with only those of their offsets."""
        ids = {each.topic.id for each in topics.values() if each.layout is None}
        placed = {each.topic.id for each in topics.values()} - ids
        found = {}
        for name, group in captured_groups(self._state, self._archive.log.where).items():
            offsets = tuple(each for each in group.offsets if each.topic_id in ids)
            lost = {each.topic for each in group.offsets if each.topic_id in placed}
            if lost and self._groups.matches(name):
                text = (
                    f"gets no positions in {', '.join(sorted(lost))}, where records are placed by"
                    " their keys: what it had read is not at the beginning of any partition"
                )
                self._notes.append(Note(f"group {name}", text))
            if offsets and self._groups.matches(name):
                found[name] = replace(group, offsets=offsets)
        return found

    def _topic(
        self, name: TopicName, target: TopicName, number: TopicId, parts: list[RestorePart]
    ) -> RestoreTopic:
        ordered = tuple(sorted(parts, key=lambda part: part.id.partition))
        known = self._captures.get(number)
        if known is None:
            text = (
                "the archive has no description of this topic, so it gets the target's defaults"
                f" and {ordered[-1].id.partition + 1} partitions"
            )
            self._notes.append(Note(name, text))
        cluster = next(id_.cluster for id_ in self._state.partitions if id_.topic_id == number)
        topic = RestoreTopic(
            topic=_described(name, number, known, ordered[-1].id.partition + 1),
            cluster=cluster,
            target=target,
            parts=ordered,
            described=known is not None,
            change=filter_of(self._asked.filter, name),
        )
        if topic.change.drops:
            text = (
                f"only some records come back ({', '.join(topic.change.rules)}), so offsets are"
                " mapped; the numbers of records here are those before"
            )
            self._notes.append(Note(name, text))
        return self._placed(topic)

    def _placed(self, topic: RestoreTopic) -> RestoreTopic:
        """Say how many partitions a topic gets, and where its records go."""
        name, before = topic.topic.name, topic.topic.partitions
        asked = partitions_of(self._asked.partitions, name)
        if asked is None:
            return topic
        if asked.place is Placement.SAME:
            if asked.count < before:
                text = (
                    f"has {before} partitions in the archive, and `restore.partitions` gives it"
                    f" {asked.count}: records of the others would have no place; use `place: key`"
                )
                self._problems.append(Problem(name, text, Cause.FILE))
            return replace(topic, asked=max(before, asked.count))
        if self._asked.offsets is OffsetsPolicy.IDENTICAL:
            text = "records that are placed by their keys get other offsets; set `offsets: auto`"
            self._problems.append(Problem(name, text, Cause.FILE))
        told = f"{before} partitions become {asked.count}"
        text = (
            f"{told}, and records go where Java's default partitioner places their keys; offsets"
            f" are mapped, and each of the {asked.count} reads the archived topic twice"
        )
        self._notes.append(Note(name, text))
        parts = [(each.id, each.start, each.end) for each in topic.parts]
        return replace(topic, asked=asked.count, layout=KeyedLayout.of(parts, before, asked.count))


def _described(name: TopicName, number: TopicId, known: TopicCapture | None, least: int) -> Topic:
    """Return a topic as it was; it has a partition for each that is archived."""
    if known is None:
        return Topic(name, number, least, 1)
    partitions = max(known.partitions, least)
    return Topic(name, number, partitions, known.replication_factor, known.own, known.configs)


def _part(id_: PartitionId, wanted: Offsets, sums: Mapping[str, int | None]) -> RestorePart:
    return RestorePart(
        id=id_,
        start=wanted[0],
        end=wanted[1],
        records=sums.get("records_sum") or 0,
        bytes=sums.get("raw_bytes_sum") or 0,
        oldest=sums.get("min_time_min"),
        newest=sums.get("max_time_max"),
    )


def _sums(
    state: ArchiveState, wanted: Mapping[PartitionId, Offsets]
) -> dict[PartitionId, dict[str, int | None]]:
    """Return the records, bytes and times of the segments that have wanted offsets."""
    table, place = state.table(), state.table().rows["partition"]
    known = [wanted.get(each.id, (0, 0)) for each in table.partitions]
    first, end = (pc.take(pa.array([e[n] for e in known], pa.int64()), place) for n in (0, 1))
    inside = pc.and_(pc.greater(table.rows["end"], first), pc.less(table.rows["start"], end))
    rows = table.rows.filter(inside)
    grouped = pa.TableGroupBy(rows, "partition").aggregate(list(_SUMS.items()))
    return {table.partitions[row["partition"]].id: row for row in grouped.to_pylist()}


def _shared(topics: Mapping[TopicName, RestoreTopic]) -> Iterator[Problem]:
    """Yield a problem for each topic that would share its name on the target."""
    claimed: defaultdict[TopicName, list[TopicName]] = defaultdict(list)
    for name, topic in topics.items():
        claimed[topic.target].append(name)
    for target, names in claimed.items():
        for name in names if len(names) > 1 else ():
            others = ", ".join(each for each in names if each != name)
            text = f"would be named {target} on the target, as {others} would; change"
            yield Problem(name, f"{text} `restore.topics.rename`", Cause.TOPIC)


def expired(state: ArchiveState, topic: RestoreTopic, before: int) -> int:
    """Return how many records of a topic are older than a time, by the segments they are in.

    Args:
        state: The archive.
        topic: The topic.
        before: The time in ms.
    """
    table = state.table()
    ids = {part.id for part in topic.parts}
    places = [place for place, each in enumerate(table.partitions) if each.id in ids]
    rows = table.rows
    old = pc.and_(
        pc.is_in(rows["partition"], pa.array(places, pa.int32())),
        pc.less(rows["max_time"], pa.scalar(before, pa.int64())),
    )
    return int(pc.sum(rows.filter(pc.fill_null(old, fill_value=False))["records"]).as_py() or 0)
