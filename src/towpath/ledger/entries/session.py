"""What a run and its slices tell each other: signs of life, new partitions, who has begun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from towpath.model.clock import now_ms
from towpath.model.nouns import LinkName

_LONG_AGO = 600_000
"""Milliseconds after which nobody waits for a further beat. The other machine's clock wrote the
time of the last one, so this is far more than what clocks differ by. Where they differ by more, the
older run hears the younger one and gives way."""
_KEYS = 1000
"""Number of keys under which the partitions for one slice are written. A slice hears an entry long
before so many others follow, and the ledger stays small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Heartbeat of one `towpath run`, with what it tells its slices.

    Rounds up to `ended_round` are over: a slice of such a round drains and returns.
    """

    kind: ClassVar[str] = "session"

    link: LinkName
    run_id: str
    host: str
    pid: int
    started: int
    beat: int
    ended_round: int
    over: bool
    rested: bool = False
    """All slices of the run ended by themselves, so nothing that they sent can still arrive."""

    def about(self) -> tuple[str | int, ...]:
        """Return the part of the key after kind and link."""
        return ()

    @property
    def may_live(self) -> bool:
        """Whether the run that gave this last sign may be alive."""
        return not self.over and now_ms() - self.beat <= _LONG_AGO


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """Partitions that a driver gives to a slice that runs already.

    Attributes:
        round: The round of the slice.
        slice: The number of the slice in its round.
        number: Counts these entries of one run.
        facts_from: The offset in partition 0 of the ledger from which on the slice must read what
            is about these partitions.
        settled: No request of an earlier copier can still arrive for these partitions.
        partitions: The assignments, as `records/work.py` writes and reads them.
    """

    kind: ClassVar[str] = "dealt"

    link: LinkName
    run_id: str
    round: int
    slice: int
    number: int
    facts_from: int
    settled: bool
    partitions: tuple[Mapping[str, Any], ...]

    def about(self) -> tuple[str | int, ...]:
        """Return the part of the key after kind and link."""
        return (self.slice, self.number % _KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt of Spark at a slice has begun; earlier attempts send nothing any more.

    Attributes:
        attempt: Counts the attempts that Spark has made at the slice, from 0.
        name: A name that no other attempt has.
    """

    kind: ClassVar[str] = "attempt"

    link: LinkName
    run_id: str
    round: int
    slice: int
    attempt: int
    name: str

    def about(self) -> tuple[str | int, ...]:
        """Return the part of the key after kind and link."""
        return (self.slice, self.attempt)
