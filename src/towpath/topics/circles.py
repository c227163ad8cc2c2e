"""Source topics that are mirror topics themselves, by the ledger that the source keeps.

Two links that copy one topic into each other would copy its records in a circle for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.config import LinkConfig, StartAt
from towpath.ledger.entries import MIRROR, LinkIdentity, Opened, ReadEntry, Session, Unreadable
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.ledger.topic import TOPIC
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import ClusterId, LinkName, Side, TopicId, TopicName
from towpath.topics.observed import ObservedTopics


@dataclass(frozen=True, slots=True)
class MirrorOrigin:
    """Where a topic of the source was copied from.

    Attributes:
        link: By which link.
        cluster: From which cluster.
        topic: Its name there.
        runs: Whether the link seems to have a run now.
    """

    link: LinkName
    cluster: ClusterId
    topic: TopicName
    runs: bool


MirrorOrigins = Mapping[tuple[TopicName, TopicId], MirrorOrigin]


def without_circles(
    seen: ObservedTopics, known: MirrorOrigins | Note, config: LinkConfig, target: Admin
) -> ObservedTopics:
    """Return what was observed, with problems for topics that are mirror topics themselves.

    Args:
        seen: What was observed.
        known: What `origins` told.
        config: The file.
        target: The cluster to write to.

    Raises:
        ClusterError: The target cannot be asked.
    """
    if isinstance(known, Note):
        return replace(seen, notes=(*seen.notes, known))
    notes: list[Note] = []
    cluster = target.cluster.id() if known else ClusterId("")
    problems: list[Problem] = []
    for topic in seen.source:
        origin = known.get((topic.name, topic.id))
        if origin is None:
            continue
        closed = (origin.cluster, origin.topic) == (cluster, seen.names[topic.name])
        if closed and (origin.runs or config.records.start is not StartAt.LATEST):
            text = f"{_copied(origin)}; {_CIRCLE if origin.runs else _TWICE}"
            problems.append(Problem(topic.name, text, Cause.TOPIC))
        else:
            text = f"{_copied(origin)}; {_STOPPED if closed else _FURTHER}"
            notes.append(Note(topic.name, text))
    return replace(seen, notes=(*seen.notes, *notes), problems=(*seen.problems, *problems))


def _copied(origin: MirrorOrigin) -> str:
    return f"is itself a mirror topic, which link {origin.link} makes of cluster {origin.cluster}"


_CIRCLE = (
    "copied back under its first name, each record would come again and again; stop that run, or"
    " leave the topic out by `topics.exclude`, or give mirror topics another name by"
    " `topics.rename`"
)
_TWICE = (
    "copied back under its first name, each record would be there twice; let only what is new go"
    " back by `records.start: latest`, or leave the topic out by `topics.exclude`, or give mirror"
    " topics another name by `topics.rename`"
)
_STOPPED = (
    "that link has no run now; while both had one, each record would be copied again and again"
)
_FURTHER = "no link may bring these records back to that cluster under the name they had"


def origins(config: LinkConfig, source: Admin) -> MirrorOrigins | Note:
    """Return which topics of the source are copies, or why that is not known."""
    try:
        return _origins(config, source)
    except (ClusterError, LedgerError) as error:
        text = f"it is not known which topics are mirror topics of other links: {error}"
        return Note("source", text)


def _origins(config: LinkConfig, source: Admin) -> MirrorOrigins:
    """Read the ledger of the source, if it has one."""
    there = source.topics.describe([TOPIC]).get(TOPIC)
    if there is None:
        return {}
    if there.error is not None:
        raise there.error
    with Client(config.source, Side.SOURCE, source) as client:
        ledger = Ledger(source, client)
        facts = ledger.read(wanted=lambda key: key.kind in {LinkIdentity.kind, Opened.kind})
        return dict(_found((*facts, *ledger.read(SESSIONS))))


def _found(
    entries: Iterable[ReadEntry],
) -> Iterator[tuple[tuple[TopicName, TopicId], MirrorOrigin]]:
    clusters: dict[LinkName, ClusterId] = {}
    sessions: dict[LinkName, Session] = {}
    opened: list[Opened] = []
    for entry in entries:
        match entry:
            case LinkIdentity():
                clusters.setdefault(entry.link, entry.source_cluster)
            case Session() if entry.work == MIRROR:
                sessions[entry.link] = entry
            case Opened():
                opened.append(entry)
            case Unreadable():
                raise entry.error  # which becomes a note: its link may copy in a circle, too
            case _:
                pass
    for entry in opened:
        if entry.link in clusters:
            last = sessions.get(entry.link)
            runs = last is not None and last.may_live
            origin = MirrorOrigin(entry.link, clusters[entry.link], entry.topic, runs)
            yield (entry.target_topic, entry.target_topic_id), origin
