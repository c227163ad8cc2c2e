"""The scope of a restore: the topics of an archive as of a version of its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from towpath.archive.config import Placement, RestoreConfig, filter_of, partitions_of
from towpath.archive.log import (
    Archive,
    ArchivedTo,
    Find,
    as_of_history,
    stretches,
)
from towpath.archive.log.captures import (
    GroupCapture,
    TopicCapture,
    captured_groups,
    captured_topics,
)
from towpath.archive.model import PartitionId
from towpath.archive.read.feed.keyed_layout import KeyedLayout
from towpath.archive.read.foreign.log_endings import ENDING
from towpath.archive.restore.bounds import BoundError, Offsets, narrowed
from towpath.archive.restore.model import RestorePart, RestoreScope, RestoreTopic
from towpath.archive.restore.parts import filtered_of, marks_of, part_of, sums_of
from towpath.model.amounts import counted
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import SourceOffset, TopicId, TopicName
from towpath.runtime.clock import readable
from towpath.settings import OffsetsPolicy
from towpath.settings.sections.own_topics import is_own
from towpath.topics.observed import Topic


class GenerationChoice(Protocol):
    """Protocol that chooses among topics of one name, and among histories of a partition."""

    def choose(
        self, name: TopicName, ids: Sequence[TopicId], parts: Mapping[TopicId, list[RestorePart]]
    ) -> TopicId:
        """Return the id of the topic to restore.

        Args:
            name: The name.
            ids: The topics of this name that match, the latest one last.
            parts: The partitions of each.
        """
        ...

    def goes_on(
        self, name: TopicName, newest: PartitionId, find: Find
    ) -> tuple[PartitionId, SourceOffset] | None:
        """Return the history to continue a restore with, and its start.

        Args:
            name: The name of the topic.
            newest: The newest history of the partition.
            find: Returns how far a history is archived by itself.

        Returns:
            `None` where nothing has begun: then the newest history is restored, with those before.
        """
        ...


def scope_of(
    archive: Archive, rules: RestoreConfig, generations: GenerationChoice | None = None
) -> RestoreScope:
    """Return the topics and groups that a restore copies.

    Args:
        archive: The archive as of a version.
        rules: What the file says of restores.
        generations: Chooses among topics of one name and histories of partitions; by default the
            latest ones are restored.

    Raises:
        CommitLogError: The log has something that is no description of a topic.
        StoreError: The store could not be read, to find the offsets of times.
    """
    return _Scope(archive, rules, generations).made()


class _Scope:
    def __init__(
        self, archive: Archive, rules: RestoreConfig, generations: GenerationChoice | None = None
    ) -> None:
        self._archive, self._rules, self._groups = archive, rules.topics, rules.groups
        self._asked = rules
        self._state = archive.then
        self._captures = captured_topics(self._state, archive.log.where)
        self._generations = generations
        self._ids = rules.schemas.id_change if rules.schemas is not None else None
        self._awaiting: set[TopicName] = set()
        self._partly: set[PartitionId] = set()
        """Histories that a restore which follows goes on with."""
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
        self._tell_of_endings(names)
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
        there = dict(self._goes_on(id_, known) for id_, known in self._archive.partitions().items()
                     if self._rules.matches(known.topic))  # fmt: skip
        self._tell_of_own()
        wanted = narrowed(self._archive, there, self._asked.range)
        fine = {id_: each for id_, each in wanted.items() if not isinstance(each, BoundError)}
        sums, marks = sums_of(self._archive, fine), marks_of(self._archive, fine)
        filtered = filtered_of(self._archive, fine)
        found: defaultdict[TopicId, list[RestorePart]] = defaultdict(list)
        for id_, known in there.items():
            begin, about = self._begin(id_), f"{known.topic}-{id_.partition}"
            if begin < known.begin and id_ not in self._partly:
                text = f"offsets {begin} to {known.begin - 1} were pruned since"
                self._notes.append(Note(about, text))
            if id_ in fine:
                self._tell_of_histories(about, id_)
                is_front = fine[id_][0] == known.begin
                part = part_of(
                    id_,
                    fine[id_],
                    sums[id_],
                    marks.get(id_),
                    filtered=filtered.get(id_, 0),
                    is_front=is_front,
                )
                found[id_.source.topic_id].append(part)
            else:
                self._problems.append(Problem(known.topic, f"{about}: {wanted[id_]}", Cause.TOPIC))
        self._tell_of_range(there, fine)
        return found

    def _tell_of_own(self) -> None:
        """Tell which archived topics are never restored, as the target keeps its own."""
        names = {known.topic for known in self._archive.partitions().values()}
        own = sorted(name for name in names if is_own(name) and self._rules.asks_for(name))
        if own:
            text = f"never restored, as each cluster keeps its own: {', '.join(own)}"
            self._notes.append(Note("restore.topics.include", text))

    def _tell_of_endings(self, names: Collection[TopicName]) -> None:
        """Tell which logs of a broker end before their files do."""
        for about, told in self._archive.captures(ENDING).items():
            if told["topic"] in names and told["lost"]:
                self._problems.append(Problem(about, told["text"], Cause.TOPIC))
            elif told["topic"] in names:
                self._notes.append(Note(about, told["text"]))

    def _goes_on(self, newest: PartitionId, place: ArchivedTo) -> tuple[PartitionId, ArchivedTo]:
        """Return the history of a partition that is restored, and what is archived of it."""
        by, find = self._generations, self._archive.single
        known = by.goes_on(place.topic, newest, find) if by is not None else None
        if known is None:
            return newest, place
        partition, start = known
        own = find(partition)
        assert own is not None  # noqa: S101  # it was found there
        if partition != newest:
            self._awaiting.add(place.topic)
        self._partly |= {partition}
        return partition, replace(own, begin=min(start, own.archived_to))

    def _begin(self, partition: PartitionId) -> SourceOffset:
        """Return where a history began as of the version that is restored, with those before."""
        then = as_of_history(self._state.partitions.get, partition)
        assert then is not None  # noqa: S101  # it is one of the archive's partitions
        return then.begin

    def _tell_of_histories(self, about: str, partition: PartitionId) -> None:
        """Say what of a partition comes from which of its histories."""
        if not partition.history:
            return
        parts = stretches(self._state.partitions.get, partition)
        told = ", ".join(f"{each.first} to {each.end - 1} of {each.partition.history}"
                         for each in parts)  # fmt: skip
        text = (
            f"the source's log was cut and went on otherwise; history {partition.history} comes"
            f" back, with these offsets of histories: {told or 'none'}; `--history"
            f" {partition.history - 1}` restores the one before"
        )
        self._notes.append(Note(about, text))

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
            by = self._generations
            chosen[name] = some[-1] if by is None else by.choose(name, some, parts)
            if chosen[name] != some[-1]:
                self._awaiting.add(name)
            if len(some) > 1:
                self._tell_of_lives(name, chosen[name], some)
        return chosen

    def _tell_of_lives(self, name: TopicName, chosen: TopicId, ids: Sequence[TopicId]) -> None:
        """Say which topics of one name there are, and which one comes back."""
        seen = {each: self._archive.last_seen(each) for each in ids}
        which = "an older one is restored first" if chosen != ids[-1] else "one is restored"
        others = ", ".join(f"{each} (seen until {readable(seen[each])})"
                           for each in ids if each != chosen)  # fmt: skip
        text = (
            "the archive has several topics of this name, as it was deleted and created again;"
            f" {which} (topic id {chosen}, seen until {readable(seen[chosen])}); `--life ID`"
            f" restores another one: {others}"
        )
        self._notes.append(Note(name, text))

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
                f" and {counted(ordered[-1].id.partition + 1, 'partition')}"
            )
            self._notes.append(Note(name, text))
        cluster = ordered[0].id.cluster
        topic = RestoreTopic(
            topic=_described(name, number, known, ordered[-1].id.partition + 1),
            cluster=cluster,
            target=target,
            parts=ordered,
            described=known is not None,
            change=replace(filter_of(self._asked.filter, name), ids=self._ids),
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
