"""The rate limits of a link in bytes per second, from the file and `towpath rate`.

What was set with `towpath rate` holds, over restarts too, in the place of what the file says of the
same thing: of the link as a whole, or of a topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, Removed, SetRate
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.wishes import read_begun, require_mirrored, signature
from towpath.model.nouns import TopicName
from towpath.model.rates import RateLimits
from towpath.runtime.clock import readable
from towpath.settings import ByteRate, LinkConfig, RateConfig

_OF_FILE = "`run.max_rate` of the file"


@dataclass(frozen=True, slots=True)
class Limits:
    """The rate limits in force, and sentences about them for people.

    Attributes:
        config: The limits of the file.
        set: Those that were set later, by source topic.
    """

    config: RateConfig = field(default_factory=RateConfig)
    set: Mapping[TopicName, SetRate] = field(default_factory=dict)

    @classmethod
    def of(cls, config: LinkConfig, books: LinkBooks) -> Limits:
        """Return the rate limits in force for a link."""
        return cls(config.run.max_rate, dict(books.rates))

    def __bool__(self) -> bool:
        return bool(self.set or self.config.link or self.config.topics)

    @property
    def link(self) -> ByteRate | None:
        """The limit of the link as a whole in bytes per second, `None` if it has none."""
        return self._instead(WHOLE_LINK, self.config.link)

    def topic(self, name: TopicName) -> ByteRate | None:
        """Return the limit of one source topic, `None` if it has no limit of its own."""
        return self._instead(name, self.config.of(name))

    def _instead(self, name: TopicName, rate: ByteRate | None) -> ByteRate | None:
        wish = self.set.get(name)
        if wish is None:
            return rate
        return ByteRate(wish.rate) if wish.rate else None

    def rates(self, topics: Iterable[TopicName]) -> RateLimits:
        """Return the limit of the link, and those of the given topics that have one."""
        found = {name: rate for name in topics if (rate := self.topic(name)) is not None}
        return RateLimits(self.link, found)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences about each limit, and about limits in the file that are overridden."""
        return (*self._of_file(), *map(self._of_wish, sorted(self.set.values(), key=_by_topic)))

    def _of_file(self) -> Iterator[str]:
        if self.config.link is not None and WHOLE_LINK not in self.set:
            yield f"the link is limited to {self.config.link} by {_OF_FILE}"
        for pattern, rate in self.config.topics.items():
            yield f"each topic that matches {pattern} is limited to {rate} by {_OF_FILE}"

    def _of_wish(self, wish: SetRate) -> str:
        whole = wish.topic == WHOLE_LINK
        what, option = ("the link", "") if whole else (f"topic {wish.topic}", f" {wish.topic}")
        how = f"is limited to {ByteRate(wish.rate)}" if wish.rate else "has no limit"
        file = self.config.link if whole else self.config.of(wish.topic)
        back = f"returns to {file} of the file" if file else "takes that back"
        reset = "`towpath rate FILE --reset" + (f" --topics{option}" if option else "") + "`"
        since = f"{wish.user} on {wish.host} since {readable(wish.at)}"
        return f"{what} {how}, set by {since}; {reset} {back}"


def _by_topic(wish: SetRate) -> TopicName:
    return wish.topic


def limits(config: LinkConfig) -> Limits:
    """Return the rate limits in force for a link.

    Raises:
        ClusterError: The target could not be reached.
        LedgerError: The link never ran.
    """
    with open_link(config) as link:
        read_begun(link)
        return Limits.of(config, link.books)


def set_rate(config: LinkConfig, rate: ByteRate | None, topics: Sequence[TopicName]) -> Limits:
    """Set a rate limit for source topics, or for the whole link if none is named.

    Args:
        config: The link.
        rate: Bytes per second, `None` for no limit.
        topics: The source topics.

    Raises:
        ClusterError: The target could not be reached, or refused the entry.
        ConfigError: The link does not mirror one of the topics.
        LedgerError: The link never ran.
    """
    with open_link(config) as link:
        read_begun(link)
        require_mirrored(link, topics)
        link.ledger.append(
            SetRate(link=config.link, topic=each, rate=rate or 0, **signature())
            for each in topics or [WHOLE_LINK]
        )
        link.events.tell(What.RATE_SET, topics=[*topics], rate=rate or 0)
        return _read_again(link)


def reset_rate(config: LinkConfig, topics: Sequence[TopicName]) -> Limits:
    """Remove rate limits that were set later than the file, by default all of them.

    Raises:
        ClusterError: The target could not be reached, or refused the entry.
        LedgerError: The link never ran.
    """
    with open_link(config) as link:
        read_begun(link)
        over = [each for each in topics or [*link.books.rates] if each in link.books.rates]
        link.ledger.append(Removed(SetRate.kind, config.link, (each,)) for each in over)
        if over:
            named = [] if WHOLE_LINK in over else over
            link.events.tell(What.RATE_SET, topics=named, rate=None)
        return _read_again(link)


def _read_again(link: OpenLink) -> Limits:
    link.read()
    return Limits.of(link.config, link.books)
