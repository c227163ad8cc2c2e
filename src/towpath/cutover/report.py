"""How a cutover is wished for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from towpath.cutover.estimate import RehearsalTimes
from towpath.cutover.writers import Writing
from towpath.mirror.reconcile import Reconciled
from towpath.mirror.run import RunProgress
from towpath.model.errors import TowpathError
from towpath.model.findings import Note
from towpath.plan.model import Plan
from towpath.verify.verdict import PartitionVerdict
from towpath.verify.verify import Scope


@dataclass(frozen=True, slots=True)
class CutoverRequest:
    """How to cut over.

    Attributes:
        dry_run: Touch nothing: look for writers, compare what is there, and estimate the rest.
        quiet: Seconds for which nobody must have written.
        scope: What is compared, and where.
    """

    dry_run: bool = False
    quiet: float = 5.0
    scope: Scope = field(default_factory=Scope)


@dataclass(slots=True)
class CutoverReport:
    """What came of it, as far as it went.

    Attributes:
        plan: What the target lacked when it began.
        writing: Partitions of the source that are not at rest.
        progress: The last run.
        synced: The last steps about everything but records.
        verdicts: What comparing came to.
        seconds: How long each part took; the last one is that to which it came.
        measured: By what the real one can be estimated, where this is a rehearsal.
        behind: Records that are not copied yet, where this is a rehearsal.
        trouble: Why it is not done, or could not be.
        failure: The error that ended it, if one did.
    """

    plan: Plan
    writing: tuple[Writing, ...] = ()
    progress: RunProgress | None = None
    synced: Reconciled | None = None
    verdicts: tuple[PartitionVerdict, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    measured: RehearsalTimes | None = None
    behind: int = 0
    trouble: list[str] = field(default_factory=list)
    failure: TowpathError | None = None

    @property
    def complete(self) -> bool:
        """Whether everything that was to be done is done, and equal."""
        return not (self.trouble or self.writing)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know now."""
        found = self.synced.notes if self.synced else self.plan.notes
        taken = self.progress.takeover if self.progress else ""
        return (*found, *([Note("link", taken)] if taken else []))

    @property
    def touched(self) -> bool:
        """Whether anything may have been changed."""
        return "drain" in self.seconds
