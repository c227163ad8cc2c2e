"""Source topics that are mirror topics themselves, as the ledger on the source tells.

Two links that mirror one topic in opposite directions would copy its records in a circle.
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
    """The origin of a source topic that is a mirror topic.

    Attributes:
        link: The link that mirrors it.
        cluster: The cluster that it is mirrored from.
        topic: The name of its source topic.
        runs: Whether that link seems to run now.
    """

    link: LinkName
    cluster: ClusterId
    topic: TopicName
    runs: bool


MirrorOrigins = Mapping[tuple[TopicName, TopicId], MirrorOrigin]


def without_circles(
    seen: ObservedTopics, known: MirrorOrigins | Note, config: LinkConfig, target: Admin
) -> ObservedTopics:
    """Return the observed topics, with problems for those that are mirror topics themselves.

    Args:
        seen: The observed topics.
        known: The result of `origins`.
        config: The link's configuration.
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
    "copied back under its first name, each record would be copied again and again; stop that run,"
    " exclude the topic by `topics.exclude`, or give mirror topics another name by `topics.rename`"
)
_TWICE = (
    "copied back under its first name, each record would exist twice; copy only new records back by"
    " `records.start: latest`, exclude the topic by `topics.exclude`, or give mirror topics another"
    " name by `topics.rename`"
)
_STOPPED = "that link does not run now; if both ran, each record would be copied again and again"
_FURTHER = "no link may copy these records back to that cluster under their first name"


def origins(config: LinkConfig, source: Admin) -> MirrorOrigins | Note:
    """Return the source topics that are mirror topics, or a note on why that is unknown."""
    try:
        return _origins(config, source)
    except (ClusterError, LedgerError) as error:
        text = f"it is not known which topics are mirror topics of other links: {error}"
        return Note("source", text)


def _origins(config: LinkConfig, source: Admin) -> MirrorOrigins:
    """Read the ledger on the source, if there is one."""
    if source.topics.find(TOPIC) is None:
        return {}
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
                raise entry.error  # becomes a note: that link, too, may copy in a circle
            case _:
                pass
    for entry in opened:
        if entry.link in clusters:
            last = sessions.get(entry.link)
            runs = last is not None and last.may_live
            origin = MirrorOrigin(entry.link, clusters[entry.link], entry.topic, runs)
            yield (entry.target_topic, entry.target_topic_id), origin
