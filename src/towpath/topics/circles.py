"""Source topics that are themselves mirror topics, by the ledger on the source.

Two links that mirror one topic in opposite directions would copy its records in a circle. Behind a
cutover, a link back copies what clients have written since (`ways_back.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Cut
from towpath.ledger.origins import MirrorOrigin, MirrorOrigins
from towpath.ledger.transformed import PositionsTopic, TransformedPosition
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Side,
    SourceOffset,
    TopicName,
    TopicPartition,
)
from towpath.settings import LinkConfig, StartAt
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.told_apart import first_alone, has_written, marks, provenances
from towpath.topics.ways_back import WayBack, way_back, way_back_of_query


def without_circles(
    seen: ObservedTopics,
    known: MirrorOrigins | Note,
    config: LinkConfig,
    target: Admin,
    books: LinkBooks,
) -> ObservedTopics:
    """Return the observed topics, with problems for those that are mirror topics themselves.

    Args:
        seen: The observed topics.
        known: The result of `origins`.
        config: The link's configuration.
        target: The cluster to write to.
        books: What the ledger knows of the link.

    Raises:
        ClusterError: The target cannot be asked.
    """
    if isinstance(known, Note):
        return replace(seen, notes=(*seen.notes, known))
    cluster = target.cluster.id() if known else ClusterId("")
    positions = _positions(config, target) if known else {}
    circles = _Circles(seen, config, cluster, books, positions)
    for topic in seen.source:
        origin = known.get((topic.name, topic.id))
        if origin is not None:
            circles.judge(topic, origin)
    return replace(
        seen,
        notes=(*seen.notes, *circles.notes, *strays(circles.opened, target)),
        problems=(*seen.problems, *circles.problems),
        begins=circles.begins,
        two_ways=frozenset(circles.two_ways),
    )


def _positions(config: LinkConfig, target: Admin) -> Mapping[TopicPartition, TransformedPosition]:
    """Return where a link with a query stands; none for others."""
    if config.transforms is None:
        return {}
    with Client(config.target, Side.TARGET, target) as client:
        return PositionsTopic(target, client, config.link).seen()


@dataclass
class _Circles:
    """Collects notes and problems about source topics that are mirror topics."""

    seen: ObservedTopics
    config: LinkConfig
    cluster: ClusterId
    books: LinkBooks
    positions: Mapping[TopicPartition, TransformedPosition] = field(default_factory=dict)
    """Those of a link with a query, which opens no partition."""
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    begins: dict[TopicPartition, SourceOffset] = field(default_factory=dict)
    opened: dict[TopicPartition, Cut] = field(default_factory=dict)
    """Cutovers behind which the link is about to begin, by target partition."""
    two_ways: set[TopicName] = field(default_factory=set)
    """Those whose records of both sides a header tells apart."""

    def judge(self, topic: Topic, origin: MirrorOrigin) -> None:
        name = self.seen.names[topic.name]
        every = (origin, *origin.others)
        third = [each for each in every if (each.cluster, each.topic) != (self.cluster, name)]
        origin = origin.of(self.cluster, name)
        if (origin.cluster, origin.topic) != (self.cluster, name):
            self._note(topic, origin, _FURTHER)
        elif origin.query is not None and origin.runs:
            self._refuse(topic, origin, _CIRCLE)
        elif origin.query is not None:
            self._judge_closed(topic, origin, way_back_of_query(topic, origin.link, origin.query))
        elif self.config.topics.twin is not None:
            self._judge_twin(topic, origin, self.config.topics.twin)
        else:
            self._judge_way(topic, origin, third)

    def _judge_way(self, topic: Topic, origin: MirrorOrigin, third: Sequence[MirrorOrigin]) -> None:
        """Judge a mirror topic that this link would copy back, and has no twin for.

        Args:
            topic: The mirror topic.
            origin: Where it comes from: the link's target.
            third: What else comes to it from other clusters.
        """
        there = self.seen.target.get(self.seen.names[topic.name])
        way = way_back(topic, there.id if there else None, origin.by)
        headers = provenances(self.config, topic.name)
        unmarked = [each for each in origin.by if not marks(each, origin.topic, headers)]
        if headers and not unmarked and (origin.runs or not way.is_open):
            self.two_ways.add(topic.name)
            self._note(topic, origin, _BY_HEADER.format(header=" or ".join(sorted(headers))))
            self._judge_third(topic, origin, third)
        elif origin.runs and headers:
            text = _UNMARKED.format(header=min(headers), link=unmarked[0].link)
            self._refuse(topic, origin, text)
        elif origin.runs:
            self._refuse(topic, origin, _CIRCLE)
        else:
            self._judge_closed(topic, origin, way)

    def _judge_third(
        self, topic: Topic, origin: MirrorOrigin, third: Sequence[MirrorOrigin]
    ) -> None:
        """Judge records of a third cluster, whose name in the header neither direction stops."""
        kept = sorted(first_alone(self.config, topic.name))
        if not kept:
            return
        alone = _FIRST_ALONE.format(header=" and ".join(kept))
        brought = [each for each in third if self._is_named(each, kept)]
        if brought:
            said = f"link {brought[0].link} brings records of cluster {brought[0].cluster} to it"
            self._refuse(topic, origin, f"{said}, and {alone}; {_THIRD}")
        else:
            self._note(topic, origin, f"{alone}, should one of both sides have any; {_THIRD}")

    def _is_named(self, third: MirrorOrigin, headers: Sequence[str]) -> bool:
        """Return whether records of a third cluster have its id in one of these headers."""
        return any(has_written(each, third.topic, headers) for each in third.by)

    def _judge_twin(self, topic: Topic, origin: MirrorOrigin, twin: LinkName) -> None:
        """Judge a mirror topic whose batches this link leaves out.

        What other links have brought from there is left out too, but one that runs, and is not the
        twin, would copy back what this link copies.
        """
        named = next((each for each in origin.by if each.link == twin), None)
        others = sorted(origin.running - {twin})
        if others:
            self._refuse(topic, replace(origin, link=others[0]), _NOT_TWIN.format(twin=twin))
        elif named is not None and named.twin != self.config.link:
            said = f"`topics.twin: {named.twin}`" if named.twin else "no `topics.twin`"
            text = _ONE_SIDED.format(twin=twin, said=said, link=self.config.link)
            self._refuse(topic, replace(origin, link=twin), text)
        else:
            self._note(topic, origin, _LEFT_OUT)

    def _judge_closed(self, topic: Topic, origin: MirrorOrigin, way: WayBack) -> None:
        """Judge a mirror topic that would be copied back under its first name."""
        standing = self._standing(topic)
        fresh = [n for n in range(topic.partitions) if n not in standing]
        if not way.is_open:
            self._judge_uncut(topic, origin, way, standing)
            return
        if fresh and way.unsure:
            self._refuse(topic, origin, f"{way.unsure}; {_MIXED}")
            return
        early = [n for n, at in standing.items() if at < way.begins[n]]
        if early:
            at = f"partition {early[0]} would go on at offset {standing[early[0]]}"
            self._refuse(topic, origin, f"{at}, before the cutover of {way}; {_AGAIN}")
            return
        if fresh:
            self._note(topic, origin, f"copied back from the cutover of {way} on; {_BEFORE}")
        self._tell_passed_over(topic, way)
        for number in range(topic.partitions):
            self.begins[TopicPartition(topic.name, number)] = way.begins[number]
        for number in fresh:
            if number in way.cuts:
                name = self.seen.names[topic.name]
                self.opened[TopicPartition(name, number)] = way.cuts[number]

    def _judge_uncut(
        self, topic: Topic, origin: MirrorOrigin, way: WayBack, standing: Mapping[int, SourceOffset]
    ) -> None:
        """Judge a mirror topic whose link was never cut over: only what comes from now on is new.

        A link that drops records may tell the copies apart by a header.
        """
        drops = self.config.change_of(topic.name).drops
        ours = [n for n, at in standing.items() if at < way.reached.get(n, 0)]
        if self.config.records.start is not StartAt.LATEST:
            self._refuse(topic, origin, _TWICE)
        elif ours and not drops:
            at = standing[ours[0]]
            self._refuse(topic, origin, f"partition {ours[0]} would go on at offset {at}; {_AGAIN}")
        else:
            self._note(topic, origin, _STOPPED)

    def _standing(self, topic: Topic) -> dict[int, SourceOffset]:
        """Return where this link goes on in partitions that it has opened, or read."""
        found: dict[int, SourceOffset] = {}
        for number in range(topic.partitions):
            position = self.positions.get(TopicPartition(topic.name, number))
            if position is not None and position.topic_id == topic.id:
                found[number] = SourceOffset(position.end)
            known = self.books.of(TopicPartition(topic.name, number))
            if known.opened is not None and known.opened.source_topic_id == topic.id:
                receipt = known.receipt
                found[number] = receipt.source_end if receipt else known.opened.source_start
        return found

    def _tell_passed_over(self, topic: Topic, way: WayBack) -> None:
        """Tell what clients wrote before this link began, as `start: latest` once asked for."""
        for number, begin in way.begins.items():
            opened = self.books.of(TopicPartition(topic.name, number)).opened
            if opened is None or opened.source_topic_id != topic.id:
                continue
            if begin < opened.source_start:
                text = (
                    f"offsets {begin} to {opened.source_start - 1} of partition {number}, which"
                    f" clients wrote since the cutover, are not copied back, as link"
                    f" {self.books.link} began behind them; another link copies them"
                )
                self.notes.append(Note(topic.name, text))

    def _note(self, topic: Topic, origin: MirrorOrigin, text: str) -> None:
        self.notes.append(Note(topic.name, f"{_copied(origin)}; {text}"))

    def _refuse(self, topic: Topic, origin: MirrorOrigin, text: str) -> None:
        self.problems.append(Problem(topic.name, f"{_copied(origin)}; {text}", Cause.TOPIC))


def strays(opened: Mapping[TopicPartition, Cut], target: Admin) -> Iterator[Note]:
    """Yield topics on a link back's target that were written to since the cutover.

    Args:
        opened: Cutovers of partitions of the target, behind which a link is about to begin.
        target: The cluster to copy back to.
    """
    ends = target.offsets.latest(opened) if opened else {}
    for tp, cut in opened.items():
        end = ends.get(tp, cut.source_end)
        if end > cut.source_end:
            yield Note(
                tp.topic,
                f"offsets {cut.source_end} to {end - 1} of partition {tp.partition} were written on"
                " the target behind the cutover: the source does not have them, and what is copied"
                " back lies behind them, at other offsets",
            )


def _copied(origin: MirrorOrigin) -> str:
    return f"is itself a mirror topic, which link {origin.link} makes of cluster {origin.cluster}"


_BY_HEADER = (
    "that link writes the header {header}, so what came from there is left out, and configs stay as"
    " they are"
)
_FIRST_ALONE = (
    "the header {header} names the first cluster of a record alone, so records of a third cluster"
    " that it names are left out by neither link, and would be copied again and again"
)
_THIRD = (
    "name all clusters in a header (`headers: [{name: clusters, of: chain}]`, `drop: [{provenance:"
    " clusters}]`) in both files, or use `topics.twin` in both, or bring such topics one way only"
)
_UNMARKED = (
    "this link leaves out what the header {header} says to come from there, and that link has"
    " copied records without it, so each would be copied again and again; stop that run, let a link"
    " of another name write the header from the beginning (`changes.redpanda`), then plan again"
)
_CIRCLE = (
    "copied back under its first name, each record would be copied again and again; stop that run,"
    " exclude the topic by `topics.exclude`, or give mirror topics another name by `topics.rename`"
)
_TWICE = (
    "copied back under its first name, each record would exist twice; cut over that link first"
    " (`towpath cutover`), then a link back begins at the cut by itself; or exclude the topic by"
    " `topics.exclude`, or give mirror topics another name by `topics.rename`"
)
_NOT_TWIN = (
    "that link runs and is not the twin of this one, which is {twin}, so each record would be"
    " copied again and again; stop that run, or correct `topics.twin`"
)
_ONE_SIDED = (
    "it does not leave out what this link would copy, as its file has {said}; set `topics.twin:"
    " {link}` in the file of link {twin}, run it, then plan again"
)
_LEFT_OUT = "both sides are written (`topics.twin`), so what came from there is left out"
_MIXED = (
    "so it is not known which records are the clients' own; exclude the topic by `topics.exclude`,"
    " or give mirror topics another name by `topics.rename`"
)
_AGAIN = (
    "what that link wrote behind it would be copied back to where it came from; cut that link over,"
    " and give the file another `link` name with `topics.shared: true`, so that its copy begins"
    " where that link was cut over"
)
_BEFORE = "what stands before it came from the target"
_STOPPED = "that link does not run now; if both ran, each record would be copied again and again"
_FURTHER = "no link may copy these records back to that cluster under their first name"
