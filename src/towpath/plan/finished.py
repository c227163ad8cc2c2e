"""Detection of a saved plan's steps that are already done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from towpath.ledger.entries import WHOLE_LINK
from towpath.ledger.link import OpenLink, open_link
from towpath.model.amounts import counted
from towpath.plan.apply import ApplyRequest, require_clusters
from towpath.plan.differences import differences
from towpath.plan.journal import JournalWriter
from towpath.plan.kinds import Step, StepKinds
from towpath.plan.subjects import SubjectClients, Subjects
from towpath.runtime.clock import readable


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """Counts of done and open steps of a saved plan; `str()` gives a sentence.

    Attributes:
        before: Steps that an earlier `towpath apply` of the same plan has done.
        last: When it did the last of them, in ms since 1970; 0 if there is none.
        elsewhere: Steps that something else has done: another command, or a person.
        left: Steps that are not done, as far as is known.
    """

    before: Sequence[Step]
    last: int
    elsewhere: Sequence[Step] = ()
    left: Sequence[Step] = ()

    @property
    def finished(self) -> bool:
        """Whether nothing of the plan is left to do."""
        return not self.left

    def __str__(self) -> str:
        every = len(self.before) + len(self.elsewhere) + len(self.left)
        if not every:
            return "the plan has no steps; nothing to do"
        by_plan = f"by `towpath apply` of this plan, the last at {readable(self.last)}"
        if self.left:
            return f"{len(self.before)} of {counted(every, 'step')} were done before {by_plan}"
        told = [f"{len(self.before)} {by_plan}"] if self.before else []
        others = "by another command or by hand: the target is as the plan asks"
        told += [f"{len(self.elsewhere)} {others}"] if self.elsewhere else []
        steps = "its only step is done" if every == 1 else f"all its {every} steps are done"
        return f"the plan is finished: {steps} ({'; '.join(told)}); nothing to do"


def already_done(wanted: ApplyRequest, subjects: Subjects) -> AlreadyDone:
    """Return the number of done and open steps of a saved plan; nothing is changed.

    Raises:
        ClusterError: A cluster cannot be asked.
        ConfigError: The plan was made for other clusters.
        LedgerError: The ledger is of no use, or the link joins other clusters.
    """
    steps = wanted.narrowed().steps
    if not steps:
        return AlreadyDone((), 0)
    with open_link(wanted.config) as link, subjects.open(link) as clients:
        require_clusters(wanted.plan, link)
        link.look()
        return _found(wanted, link, clients, steps)


def _is_over(link: OpenLink, kinds: StepKinds, step: Step) -> bool:
    """Whether a step's topic, or the link, failed over: nothing is asked for there any more."""
    topic = kinds.of(step).topic(step)
    return link.books.closed(WHOLE_LINK if topic is None else topic) is not None


def _found(
    wanted: ApplyRequest, link: OpenLink, clients: SubjectClients, steps: Sequence[Step]
) -> AlreadyDone:
    journal, kinds = JournalWriter(link, clients, wanted.digest), clients.subjects.kinds
    before = [step for step in steps if journal.done_before(step)]
    left = [step for step in steps if step not in before]
    last = max((link.books.journal[kinds.key(step)].at for step in before), default=0)
    open_now = not any(_is_over(link, kinds, step) for step in left)
    if left and open_now and not any(map(journal.unsettled, left)) and _as_asked(clients, left):
        return AlreadyDone(before, last, elsewhere=left)
    return AlreadyDone(before, last, left=left)


def _as_asked(clients: SubjectClients, steps: Sequence[Step]) -> bool:
    """Whether the target is as these steps would leave it. The cheaper question comes first."""
    kinds, there = clients.subjects.kinds, clients.present(steps)
    if any(((step.subject, step.about) in there) == kinds.of(step).removes for step in steps):
        return False
    wanted = {(step.subject, step.about) for step in differences(clients).steps}
    return not any((step.subject, step.about) in wanted for step in steps)
