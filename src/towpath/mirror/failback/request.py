"""A request to reverse a link, and its outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from towpath.ledger.entries import Salvaged
from towpath.mirror.failback.back_file import BackFile
from towpath.mirror.failback.failback_plan import FailbackPlan
from towpath.model.nouns import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class FailbackRequest:
    """A request to reverse a link.

    Attributes:
        file: The file of the link.
        to: Where to write that of the link back.
        wins: Whose records stay where both sides have some, `None` if nobody said.
        agreed: Called with the plan; returns whether to carry it out.
        stop: Set to end early.
        told: Called with what is done now, how many are done, and how many there are.
    """

    file: Path
    to: Path
    wins: Side | None
    agreed: Callable[[FailbackPlan], bool]
    stop: threading.Event = field(default_factory=threading.Event)
    told: Callable[[str, int, int], None] = lambda _what, _done, _of: None


@dataclass(slots=True, kw_only=True)
class FailbackReport:
    """The outcome of a failback, before the link back runs.

    Attributes:
        plan: What was found and decided.
        done: Whether the link is turned round now.
        salvaged: What was copied to salvage topics, now or before.
        back: The file of the link back.
        missing: What could not be done, in sentences.
    """

    plan: FailbackPlan
    done: bool = False
    salvaged: tuple[Salvaged, ...] = ()
    back: BackFile | None = None
    missing: tuple[str, ...] = ()
