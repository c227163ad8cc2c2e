"""The request for a cutover, and its report."""

from __future__ import annotations

from dataclasses import dataclass, field

from towpath.groups.model import SyncReport
from towpath.mirror.cutover.beside import offsets_differ
from towpath.mirror.cutover.estimate import RehearsalTimes
from towpath.mirror.cutover.writers import Writing
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.run.reconcile import Reconciled
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.staying.staying import Staying
from towpath.mirror.verify.schema_proof import SchemaProof
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.verdict import PartitionVerdict
from towpath.model.errors import TowpathError
from towpath.model.findings import Note
from towpath.model.nouns import TopicName
from towpath.plan.differences import Differences
from towpath.plan.model import Plan


@dataclass(frozen=True, slots=True)
class CutoverRequest:
    """The options of a cutover.

    Attributes:
        dry_run: Change nothing: find producers that write, compare what is copied, and estimate
            the rest.
        quiet: Seconds for which no producer must have written.
        scope: What is compared, and on which Spark. If it has `ids`, the target's registry must
            answer equally for the schema ids in the records.
        without_groups: Bring no groups over; the user knows that they begin anew on the target.
        without_values: Accept partitions whose values no query can make again, so that only the
            number of their records is compared.
        may_skip: Groups that are meant to pass over unread records which the target lacks.
    """

    dry_run: bool = False
    quiet: float = 5.0
    scope: Scope = field(default_factory=Scope)
    without_groups: bool = False
    without_values: bool = False
    may_skip: frozenset[str] = frozenset()


@dataclass(slots=True)
class CutoverReport:
    """The report of a cutover, complete up to the last part that was begun.

    Attributes:
        plan: The plan at the beginning.
        writing: Source partitions that are not at rest.
        appeared: Matching source topics that appeared since the first look.
        progress: The progress of the drain.
        synced: The outcome of the last steps.
        verdicts: The results of the comparison.
        seconds: The duration of each part that was begun, in order.
        measured: What a rehearsal measured.
        behind: The number of records still to be copied, in a rehearsal.
        trouble: Why the cutover is not complete, or would not be.
        failure: The error that ended the cutover, if one did.
        staying: What clients use at the source that does not move.
        proof: What both registries answered for the schema ids in the records; `None` if they were
            not asked.
        groups: Where the groups of consumers stand on the target, or would stand; `None` if they
            were not looked at.
        rehearsed: Nothing is changed, and producers and a run of the link may go on meanwhile.
        to_stop: What traffic causes in a rehearsal: it must be stopped for the cutover, and nothing
            is to be mended.
        mapped: Partitions whose offsets differ from those at the source.
        settled: The outcome of the steps behind the cut: what was held out of the copy.
        skipped: What groups pass over because the user says that it is meant.
        left_reading: Groups that the user leaves behind, and that still read or have records left.
        unmade: Partitions whose values could not be compared, which the user accepts.
    """

    plan: Plan
    writing: tuple[Writing, ...] = ()
    appeared: frozenset[TopicName] = frozenset()
    progress: RunProgress | None = None
    synced: Reconciled | None = None
    verdicts: tuple[PartitionVerdict, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    measured: RehearsalTimes | None = None
    behind: int = 0
    trouble: list[str] = field(default_factory=list)
    failure: TowpathError | None = None
    staying: Staying = field(default_factory=Staying)
    proof: SchemaProof | None = None
    groups: SyncReport | None = None
    rehearsed: bool = False
    to_stop: list[str] = field(default_factory=list)
    mapped: tuple[PartitionStatus, ...] = ()
    settled: Reconciled | None = None
    skipped: list[Note] = field(default_factory=list)
    left_reading: list[Note] = field(default_factory=list)
    unmade: list[Note] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything is done and equal, or in a rehearsal would be."""
        return not (self.trouble or (self.writing and not self.rehearsed))

    @property
    def last_look(self) -> Differences | None:
        """The target's differences from the file after the last steps; `None` without any."""
        made = self.settled or self.synced
        return made.found if made is not None else None

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of a cutover, as far as it got."""
        made = self.settled or self.synced
        taken = self.progress.takeover if self.progress else ""
        return (
            *(made.notes if made else self.plan.notes),
            *([Note("link", taken)] if taken else []),
            *self.staying.notes,
            *offsets_differ(self.mapped),
            *self.skipped,
            *self.left_reading,
            *self.unmade,
        )

    @property
    def touched(self) -> bool:
        """Whether something may have been changed."""
        return "drain" in self.seconds
