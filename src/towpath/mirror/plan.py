"""The plan of a link: the steps of its subjects, and findings about its records."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.connect.exchange import Versions
from towpath.config import LinkConfig
from towpath.ledger.link import OpenLink, open_link
from towpath.mirror.forecast import forecast
from towpath.mirror.gaps import markers
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicName
from towpath.plan.build import LinkContext, Planned
from towpath.plan.build import build as build_plan
from towpath.plan.differences import Differences
from towpath.plan.model import Plan
from towpath.plan.subjects import SubjectClients
from towpath.status.status import caught_up, status
from towpath.topics.subject import TOPICS

_PRODUCE, _DESCRIBE_PRODUCERS = 0, 61
_PRODUCE_WITH_ZSTD = 7


def build(config: LinkConfig) -> Plan:
    """Return the plan that a run would begin with. It contains the problems that were found."""
    with open_link(config) as link, SUBJECTS.open(link) as clients:
        return planned(link, clients).plan


def planned(link: OpenLink, clients: SubjectClients) -> Planned:
    """Return the plan of an open link, with the differences it was made from."""
    return build_plan(link, clients, LinkContext(_caught_up, _of_records))


def _caught_up(link: OpenLink) -> frozenset[TopicName]:
    return caught_up(status(link.config, link.books, link.source, link.target))


def _of_records(link: OpenLink, found: Differences | None) -> Iterator[Note | Problem]:
    """Return findings about records, and about a target that is too old."""
    yield from old_target(link.target.cluster.api_versions())
    fill, notes = markers(link.config, link.target)
    yield from notes
    if found is None:
        return
    topics = found.of(TOPICS)
    try:
        yield from forecast(
            link.config,
            link.source,
            link.target,
            link.books,
            topics.seen.topics,
            topics.found,
            fill,
        )
    except ClusterError as error:
        # A partition without a leader, for example, is no reason to refuse the others.
        text = f"{error}; so it is not known yet where new partitions begin"
        yield Note("partitions", text)


def old_target(versions: Versions) -> Iterator[Problem]:
    """Return a problem for each request that the target's brokers are too old for."""
    newest = versions.get(_PRODUCE, (0, -1))[1]
    if newest < _PRODUCE_WITH_ZSTD:
        text = (
            f"the brokers take Produce requests up to version {newest}, and zstd batches need"
            f" {_PRODUCE_WITH_ZSTD}; upgrade the target to Kafka 2.8 or newer"
        )
        yield Problem("target", text, Cause.CLUSTER)
    if _DESCRIBE_PRODUCERS not in versions:
        text = (
            "the brokers do not tell the state of producers (DescribeProducers), from which a run"
            " knows where it stands; upgrade the target to Kafka 2.8 or newer"
        )
        yield Problem("target", text, Cause.CLUSTER)
