"""Pausing and resuming of a link's topics, by ledger entries that its run reads."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.ledger.entries import WHOLE_LINK, Pause, Removed
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.wishes import read_begun, require_mirrored, signature
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import TopicName
from towpath.settings import LinkConfig


def pause(config: LinkConfig, topics: Sequence[TopicName] = ()) -> tuple[Pause, ...]:
    """Pause source topics, or the whole link if none is named; return all active pauses.

    What is paused already stays as it is. The source need not be reachable.

    Raises:
        ClusterError: The target could not be reached, or refused the entry.
        ConfigError: The link does not mirror one of the topics.
        LedgerError: The link never ran.
        LinkSealedError: The link or one of the topics is sealed or failed over.
    """
    with open_link(config) as link:
        read_begun(link)
        require_mirrored(link, topics)
        for each in topics or [WHOLE_LINK]:
            link.books.require_open(each)
        fresh = [each for each in topics or [WHOLE_LINK] if link.books.pause_of(each) is None]
        link.ledger.append(Pause(link=config.link, topic=each, **signature()) for each in fresh)
        if fresh:
            link.events.tell(What.LINK_PAUSED, topics=[*filter(None, fresh)])
        return _holding(link)


def resume(config: LinkConfig, topics: Sequence[TopicName] = ()) -> tuple[Pause, ...]:
    """Resume source topics, or all if none is named; return the remaining pauses.

    Raises:
        ClusterError: The target could not be reached, or refused the entry.
        ConfigError: The whole link is paused, so that no single topic can go on.
        LedgerError: The link never ran.
    """
    with open_link(config) as link:
        read_begun(link)
        if topics and WHOLE_LINK in link.books.pauses:
            text = (
                f"all topics of link {config.link} are paused; resume the link without --topics,"
                " then pause the topics that shall not go on"
            )
            raise ConfigError((ConfigProblem("--topics", text),))
        over = [each for each in topics or [*link.books.pauses] if each in link.books.pauses]
        link.ledger.append(Removed(Pause.kind, config.link, (each,)) for each in over)
        if over:
            named = [] if WHOLE_LINK in over else over
            link.events.tell(What.LINK_RESUMED, topics=named)
        return _holding(link)


def _holding(link: OpenLink) -> tuple[Pause, ...]:
    link.read()
    return tuple(link.books.pauses[topic] for topic in sorted(link.books.pauses))
