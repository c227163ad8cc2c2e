"""Ledger entries about the state of a link: from running to failed over and turned round."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from towpath.ledger.entries.operator import WHOLE_LINK
from towpath.model.amounts import counted
from towpath.model.nouns import LinkName, TopicName
from towpath.runtime.clock import now_ms, readable


class LinkStage(StrEnum):
    """The states of a link, or of one of its topics. No entry means that it is running."""

    RUNNING = "running"
    DRAINING = "draining"
    """Producers have stopped, and `failover --wait` waits until all they wrote is copied."""
    SEALED = "sealed"
    """Nothing is copied any more; a failover has begun."""
    FAILED_OVER = "failed_over"
    """Clients read and write the target."""
    REVERSED = "reversed"
    """Another link copies what clients write on the target back to the source."""
    STOPPED = "stopped"
    """Somebody stopped the topic for good; it is not found again by itself."""
    REMOVED = "removed"
    """The books of the link were removed, or are being removed; it never runs again."""


STAGES = frozenset(LinkStage)
CLOSED = STAGES - {LinkStage.RUNNING, LinkStage.DRAINING}
"""States in which nothing may be copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """The state of a whole link, or of one of its source topics.

    It is written before the effects of a move, so that whoever comes after a kill knows what was
    under way. `ledger/states.py` has the legal moves.

    Attributes:
        topic: The source topic, `WHOLE_LINK` for all of them.
        state: The state: a value of `LinkStage`, or one that a later version added.
        since: When the link got into this state, in ms since 1970.
        user: Who moved it there; `host`, on which machine; `version`, by which Towpath.
        deadline: When somebody has to look if the next state is not reached, in ms since 1970; 0
            for never.
        waits_for: What the state waits for: `drain`, `fences`, `groups`, or `books` that are to
            be removed; "" for nothing.
        attempt: How often a failover has begun, from 1; 0 before the first one.
        forward: Something is written that cannot be taken back, so only the way on is left.
        lost: Records that were known to be at the source alone, -1 for unknown.
        again: Records that groups read twice, -1 for unknown.
        unfenced: Partitions where late writes of an older mirror cannot be refused.
        back: The link that copies back, "" for none; `wins`, whose records stayed in the place of
            those of the other side: `source`, `target`, or "" where only one had any.
    """

    kind: ClassVar[str] = "state"

    link: LinkName
    topic: TopicName = WHOLE_LINK
    state: str
    since: int
    user: str
    host: str
    version: str
    deadline: int = 0
    waits_for: str = ""
    attempt: int = 0
    forward: bool = False
    lost: int = -1
    again: int = -1
    unfenced: int = 0
    back: str = ""
    wins: str = ""

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic,)

    @property
    def tells(self) -> bool:
        """Whether the state is another than that of a link which only copies."""
        return self.state != LinkStage.RUNNING

    def __str__(self) -> str:
        return self.told()

    def told(self, *, promoted: bool = False) -> str:
        """Return the state in words.

        Args:
            promoted: Whether the topic was promoted, which the ledger keeps as a failover of it.
        """
        what = f"topic {self.topic}" if self.topic else "link"
        named = "promoted" if promoted else self.state.replace("_", " ")
        told = f"{what}: {named} since {readable(self.since)}"
        told += f", by {self.user} on {self.host}"
        if self.waits_for:
            attempt = f" (attempt {self.attempt})" if self.attempt else ""
            told += f"; waits for {self.waits_for}{attempt}"
        if self.deadline and self.deadline < now_ms():
            told += ", and should have ended by now: the same command goes on"
        if self.unfenced:
            told += f"; late writes cannot be refused in {counted(self.unfenced, 'partition')}"
        if self.state == LinkStage.STOPPED:
            told += f"; `towpath topics start FILE --topics {self.topic}` takes it up again"
        return told + (f"; link {self.back} copies back" if self.back else "")

    @property
    def is_closed(self) -> bool:
        """Whether nothing may be copied in this state."""
        return self.state in CLOSED
