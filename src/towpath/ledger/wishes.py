"""What a person's wish about a link needs: a link that ran, and topics that it mirrors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towpath.ledger.link import OpenLink
from towpath.model.errors import ConfigError, ConfigProblem, LedgerError
from towpath.model.nouns import LEDGER, TopicName


def read_begun(link: OpenLink) -> None:
    """Read the ledger.

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


def _unknown(link: OpenLink, topics: Iterable[TopicName]) -> Iterator[ConfigProblem]:
    copied = {tp.topic for tp, each in link.books.partitions.items() if each.opened}
    for topic in topics:
        if topic not in copied and not link.config.topics.matches(topic):
            text = f"link {link.config.link} does not mirror a source topic named {topic}"
            yield ConfigProblem("--topics", text)
