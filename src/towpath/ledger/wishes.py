"""Checks of an operator's request: the link has run, and mirrors the topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypedDict

from towpath.ledger.alive import this_host
from towpath.ledger.link import OpenLink
from towpath.model.errors import ConfigError, ConfigProblem, LedgerError
from towpath.model.nouns import LEDGER, TopicName
from towpath.runtime.clock import now_ms
from towpath.runtime.user import this_user


class Signature(TypedDict):
    """The user, host and time of an operator's request, as its ledger entry has them."""

    user: str
    host: str
    at: int


def signature() -> Signature:
    """Return the signature of a request made now by the user of this process."""
    return Signature(user=this_user(), host=this_host(), at=now_ms())


def read_begun(link: OpenLink) -> None:
    """Read the ledger of a link, and raise if the link has never run.

    Raises:
        LedgerError: The link never ran.
    """
    if link.ledger.usable():
        link.read()
    if link.books.identity is None:
        raise LedgerError(
            f"link {link.config.link} never ran: topic {LEDGER} on the target does not know it;"
            " check `link` and the address of the target in the file"
        )


def require_mirrored(link: OpenLink, topics: Iterable[TopicName]) -> None:
    """Raise if the link does not mirror one of these source topics.

    Raises:
        ConfigError: It does not.
    """
    problems = tuple(_unknown(link, topics))
    if problems:
        raise ConfigError(problems)


def require_copied(link: OpenLink, topics: Iterable[TopicName]) -> None:
    """Raise if the link never copied one of these source topics.

    Raises:
        ConfigError: It did not.
    """
    copied = _copied(link)
    problems = tuple(
        ConfigProblem("--topics", f"link {link.config.link} never copied a topic named {name}")
        for name in topics
        if name not in copied
    )
    if problems:
        raise ConfigError(problems)


def _copied(link: OpenLink) -> set[TopicName]:
    return {tp.topic for tp, each in link.books.partitions.items() if each.opened}


def _unknown(link: OpenLink, topics: Iterable[TopicName]) -> Iterator[ConfigProblem]:
    copied = _copied(link)
    for topic in topics:
        if topic not in copied and not link.config.topics.matches(topic):
            text = f"link {link.config.link} does not mirror a source topic named {topic}"
            yield ConfigProblem("--topics", text)
