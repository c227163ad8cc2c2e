"""A request to fail over, and its outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from towpath.groups.model import SyncReport
from towpath.ledger.entries import LinkState
from towpath.mirror.failover.failover_plan import FailoverPlan
from towpath.mirror.failover.state_before_failover import FailoverScope
from towpath.model.nouns import TopicName
from towpath.records.target.fences import Fenced

Telling = Callable[[str, int, int], None]
"""Called with what is done now, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRequest:
    """A request to fail over.

    Attributes:
        scope: What of the link.
        agreed: Called with the plan; returns whether to carry it out.
        wait: Seconds for the drain of the source, whose producers have stopped; 0 for none.
        stop: Set to end early; what was begun stands in the ledger.
        told: Called with the progress.
    """

    scope: FailoverScope
    agreed: Callable[[FailoverPlan], bool]
    wait: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    told: Telling = lambda _what, _done, _of: None


@dataclass(slots=True, kw_only=True)
class FailoverReport:
    """The outcome of a failover.

    Attributes:
        plan: What was foretold.
        done: Whether it was agreed to and carried out.
        after: What it came to: the same as the plan, measured behind the fences.
        fenced: What became of the fences.
        groups: What became of the groups, `None` where there are none to bring.
        state: The state of the link now.
        unset: Mirror topics whose retention or compaction is still held back.
        missing: What could not be done, in sentences; a repeated failover does it.
        seconds: How long each part took.
    """

    plan: FailoverPlan
    done: bool = False
    after: FailoverPlan | None = None
    fenced: Fenced = field(default_factory=Fenced)
    groups: SyncReport | None = None
    state: LinkState | None = None
    unset: set[TopicName] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
