"""The entry by which a run shows that it lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.clock import now_ms
from towpath.model.nouns import LinkName

_LONG_AGO = 600_000
"""Milliseconds after which nobody waits for a further beat. The other machine's clock wrote the
time of the last one, so this is far more than what clocks differ by. Where they differ by more, the
older run hears the younger one and gives way."""


@dataclass(frozen=True, slots=True)
class Session:
    """A sign of life of one `towpath run`, and what it tells its slices.

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
        """Return the key behind kind and link."""
        return ()

    @property
    def may_live(self) -> bool:
        """Whether the run that gave this last sign may be alive."""
        return not self.over and now_ms() - self.beat <= _LONG_AGO
