"""Ledger entries about rate limits: the share of each slice, and its use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from towpath.model.nouns import LinkName, TopicName
from towpath.model.rates import RateLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The part of the rate limits that one slice may use; it replaces the previous one.

    Attributes:
        round: The round of the slice.
        slice: The number of the slice in its round.
        rates: Bytes per second.
    """

    kind: ClassVar[str] = "share"

    link: LinkName
    run_id: str
    round: int
    slice: int
    rates: RateLimits

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.slice,)


@dataclass(frozen=True, slots=True)
class Used:
    """Bytes that a slice fetched under one limit, and seconds that it waited because of it.

    Attributes:
        bytes: The bytes that it has fetched.
        waited: The seconds for which it has waited.
    """

    bytes: int
    waited: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """A slice's use of its rate limits, reported every few seconds while there are limits.

    Attributes:
        round: The round of the slice.
        slice: The number of the slice in its round.
        at: When, in ms since 1970.
        whole: The use of the limit of the link, `None` if it has none.
        topics: The use of the limits of topics.
    """

    kind: ClassVar[str] = "paced"

    link: LinkName
    run_id: str
    round: int
    slice: int
    at: int
    whole: Used | None = None
    topics: Mapping[TopicName, Used] = field(default_factory=dict)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.slice,)
