"""Rate limits of copying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.model.nouns import TopicName


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Rate limits in bytes per second; true if there is one.

    Attributes:
        link: The limit of all topics together, `None` for none.
        topics: The limits of source topics that have one of their own.
    """

    link: float | None = None
    topics: Mapping[TopicName, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.link is not None or bool(self.topics)


NO_LIMIT = RateLimits()
