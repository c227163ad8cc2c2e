"""Ledger entries of operators: pause, restart and rate; each applies until removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.nouns import LinkName, TopicId, TopicName
from towpath.runtime.clock import readable

WHOLE_LINK = TopicName("")
"""Stands for all topics of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfTopic:
    """The first fields of all entries about one source topic."""

    link: LinkName
    topic: TopicName

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(_OfTopic):
    """A pause of one source topic or of the whole link; `str()` gives a sentence for people.

    Attributes:
        topic: The source topic, `WHOLE_LINK` for all of them.
        user: Who paused it.
        host: Where.
        at: When, in ms since 1970.
    """

    kind: ClassVar[str] = "pause"

    user: str
    host: str
    at: int

    def __str__(self) -> str:
        what, option = (
            (f"topic {self.topic} is", f" --topics {self.topic}")
            if self.topic != WHOLE_LINK
            else ("all topics are", "")
        )
        since = readable(self.at)
        return (
            f"{what} paused by {self.user} on {self.host} since {since};"
            f" `towpath resume FILE{option}` goes on"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted(_OfTopic):
    """Permission to copy a deleted and recreated source topic from its start.

    `str()` of it is a sentence.

    Attributes:
        topic: The source topic.
        source_topic_id: The id of the new topic; one that is made later is not meant.
        user: Who allowed it.
        host: Where.
        at: When, in ms since 1970.
    """

    kind: ClassVar[str] = "restart"

    source_topic_id: TopicId
    user: str
    host: str
    at: int

    def __str__(self) -> str:
        return (
            "the source topic was deleted and created again, and what is copied is the new one;"
            f" {self.user} on {self.host} accepted that at {readable(self.at)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRate(_OfTopic):
    """A rate limit in bytes per second, for a source topic or the link, that overrides the file.

    Attributes:
        topic: The source topic, `WHOLE_LINK` for all of them together.
        rate: Bytes per second, 0 for no limit.
        user: Who set it.
        host: Where.
        at: When, in ms since 1970.
    """

    kind: ClassVar[str] = "rate"

    rate: int
    user: str
    host: str
    at: int
