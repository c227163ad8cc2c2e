"""Stopping of source topics for good, and taking them up again, by states in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from towpath.ledger.alive import this_host
from towpath.ledger.entries import STATES_LEVEL, LinkState
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.states import AnyState, Mirroring, Mover, Stopped, begun, state_of
from towpath.ledger.wishes import read_begun, require_mirrored
from towpath.model.errors import LedgerError
from towpath.model.nouns import TopicName
from towpath.runtime.clock import now_ms
from towpath.runtime.user import this_user
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True)
class StoppedTopics:
    """The topics of a link that are stopped.

    Attributes:
        states: Their states, by topic.
        held: Mirror topics among them whose retention or compaction is still held back.
    """

    states: tuple[LinkState, ...]
    held: tuple[TopicName, ...] = ()


def stop(config: LinkConfig, topics: Sequence[TopicName]) -> StoppedTopics:
    """Stop copying source topics for good; return all that are stopped.

    What is stopped already stays so. The source need not be reachable.

    Raises:
        ClusterError: The target could not be reached, or refused the entry.
        ConfigError: The link does not mirror one of the topics.
        LedgerError: The link never ran, or a drain of the topic is under way.
        LinkSealedError: The link or one of the topics is sealed or failed over.
    """

    def moved(state: AnyState, by: Mover) -> AnyState:
        if isinstance(state, Mirroring):
            return state.stop(by)
        if isinstance(state, Stopped):
            return state
        raise LedgerError(f"topic {state.entry.topic} cannot be stopped now: {state.entry}")

    return _move(config, topics, moved, What.TOPICS_STOPPED)


def start(config: LinkConfig, topics: Sequence[TopicName]) -> StoppedTopics:
    """Take stopped topics up again, where they were left; return those that remain stopped.

    Raises:
        ClusterError: The target could not be reached, or refused the entry.
        ConfigError: The link does not mirror one of the topics.
        LedgerError: The link never ran.
        LinkSealedError: The link or one of the topics is sealed or failed over.
    """

    def moved(state: AnyState, by: Mover) -> AnyState:
        return state.start(by) if isinstance(state, Stopped) else state

    return _move(config, topics, moved, What.TOPICS_STARTED)


def _move(
    config: LinkConfig,
    topics: Sequence[TopicName],
    moved: Callable[[AnyState, Mover], AnyState],
    what: What,
) -> StoppedTopics:
    with open_link(config) as link:
        read_begun(link)
        require_mirrored(link, topics)
        link.books.require_open()
        by = Mover(this_user(), this_host(), now_ms())
        entries = []
        for topic in dict.fromkeys(topics):
            if topic not in link.books.stopped:
                link.books.require_open(topic)
            known = link.books.states.get(topic)
            before = state_of(known) if known is not None else begun(link.name, topic)
            after = moved(before, by)
            entries += [after.entry] if after != before else []
        if entries:
            link.raise_level(STATES_LEVEL)  # an older program would copy on
            link.ledger.append(entries)
            link.events.tell(what, topics=[each.topic for each in entries])
        link.read()
        return _stopped(link)


def _stopped(link: OpenLink) -> StoppedTopics:
    books = link.books
    states = tuple(books.states[topic] for topic in sorted(books.stopped))
    mirrors = {
        each.opened.target_topic
        for tp, each in books.partitions.items()
        if each.opened is not None and tp.topic in books.stopped
    }
    return StoppedTopics(states, tuple(books.held_topics(mirrors)))
