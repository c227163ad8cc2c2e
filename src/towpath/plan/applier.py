"""Does the steps of a plan, some at a time, each written into the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.model.errors import RefusedError, StepOutdatedError, TowpathError
from towpath.model.nouns import NO_TOPIC_ID, TopicId
from towpath.model.outcome import Changed
from towpath.plan.journal import JournalWriter
from towpath.plan.kinds import Step, StepKinds, batches
from towpath.plan.subjects import SubjectClients

Told = Callable[[Step, TowpathError | None], None]
"""Hears of each step that was done, or why it was not."""


@dataclass(slots=True)
class Applied:
    """What became of the steps of a plan.

    Attributes:
        kinds: The kinds of all steps that there are.
        done: Those that were done now.
        before: Those that an earlier `towpath apply` of the same saved plan had done.
        failed: Those that were not, and why.
        rest: Those that were not reached.
        takeover: A sentence about a dead process that the lease was taken over from, or "".
    """

    kinds: StepKinds
    done: list[Step] = field(default_factory=list)
    before: list[Step] = field(default_factory=list)
    failed: list[tuple[Step, TowpathError]] = field(default_factory=list)
    rest: list[Step] = field(default_factory=list)
    takeover: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is left of the plan."""
        return not (self.failed or self.rest)

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence per step that was not done."""
        return tuple(f"{self.blamed(step)}: {error}" for step, error in self.failed)

    def blamed(self, step: Step) -> str:
        """Return what the failure of a step is told of."""
        return self.kinds.of(step).blamed(step)


@dataclass(frozen=True, slots=True)
class Applier:
    """What the steps of one link need.

    Attributes:
        clients: Change the target.
        journal: Where each step is written down.
        on_step: Told of each step.
        on_changed: Told of each step that changed something, with the seconds that it took.
        stop: Set to end between two batches.
        require: Raises where a step must not be done any more.
        hold: Raises where this process may not change the target any more.
    """

    clients: SubjectClients
    journal: JournalWriter
    on_step: Told = lambda _step, _error: None
    on_changed: Callable[[Step, float], None] = lambda _step, _seconds: None
    stop: threading.Event = field(default_factory=threading.Event)
    require: Callable[[Step], None] = lambda _step: None
    hold: Callable[[], None] = lambda: None

    @property
    def _kinds(self) -> StepKinds:
        return self.clients.subjects.kinds

    def apply(self, steps: Iterable[Step]) -> Applied:
        """Do each step, whatever becomes of the others.

        Raises:
            ClusterError: The journal cannot be written; the steps that follow are not done.
            LinkHeldError: Another process changes the target now; likewise.
        """
        self.journal.settle()
        left: list[Step] = []
        applied = Applied(self._kinds)
        for step in steps:
            (applied.before if self.journal.done_before(step) else left).append(step)
        try:
            for batch in batches(left, self._kinds):
                if self.stop.is_set():
                    applied.rest += batch
                else:
                    self.hold()
                    self._batch(batch, applied)
        finally:
            self.journal.close()
        return applied

    def _batch(self, steps: Sequence[Step], applied: Applied) -> None:
        subject = self.clients.subjects.of(steps[0])
        failed = dict(subject.held_back(steps, applied.failed))
        failed |= self._outdated(step for step in steps if step.about not in failed)
        for step in steps:
            if step.about in failed:
                self._failed(step, failed[step.about])
        failed |= self._do([step for step in steps if step.about not in failed])
        for step in steps:
            error = failed.get(step.about)
            if error is None:
                applied.done.append(step)
            else:
                applied.failed.append((step, error))
            self.on_step(step, error)

    def _outdated(self, steps: Iterable[Step]) -> dict[str, TowpathError]:
        """Return which steps must not be done any more, and why."""
        asked = Changed()
        for step in steps:
            with asked.about(step.about):
                self.require(step)
        return asked.failed

    def _do(self, steps: Sequence[Step]) -> Mapping[str, TowpathError]:
        """Do steps of one kind; return why not, where one was not done."""
        try:
            found = self._ids(step for step in steps if step.creates)
        except TowpathError as error:
            for step in steps:
                self._failed(step, error)
            return _all(steps, error)
        todo = self._left(steps, found)
        owned = self._owned(todo, found)
        self.journal.begin((step, step.about in owned) for step in todo)
        try:
            changed = self.clients.apply(todo)
            ids = self._ids(step for step in todo if self._kinds.of(step).identified)
        except TowpathError as error:
            changed, ids = Changed(failed=_all(todo, error)), {}
        self._done([step for step in todo if step.about not in changed.failed], changed, owned, ids)
        for step in todo:
            if step.about in changed.failed:
                self._failed(step, changed.failed[step.about], begun=step.about in owned)
        return changed.failed

    def _left(self, steps: Sequence[Step], found: Mapping[str, TopicId]) -> list[Step]:
        """Return the steps without those that the link has done before."""

        def over(step: Step) -> bool:
            once = self._kinds.of(step).once and step.about in found
            return once and self.journal.made(step, found[step.about], surely=True)

        return [step for step in steps if not over(step)]

    def _owned(self, steps: Sequence[Step], found: Mapping[str, TopicId]) -> frozenset[str]:
        """Return what is ours once steps are done: not what somebody else created meanwhile."""
        new = {
            step.about
            for step in steps
            if step.creates
            and (step.about not in found or self.journal.made(step, found[step.about]))
        }
        return self.clients.owned(step for step in steps if not step.creates) | new

    def _ids(self, steps: Iterable[Step]) -> dict[str, TopicId]:
        """Return the ids of what exists, by name; all steps are of one kind."""
        return {about: id_ for (_, about), id_ in self.clients.present(steps).items()}

    def _done(
        self,
        steps: Sequence[Step],
        changed: Changed,
        owned: Collection[str],
        ids: Mapping[str, TopicId],
    ) -> None:
        for step in steps:
            seconds, number = changed.done[step.about], ids.get(step.about, NO_TOPIC_ID)
            ours = step.about in owned
            if ours and step.creates and seconds is None:
                # What came between our look and our request is ours only if our link made it.
                ours = self.journal.made(step, number)
            self.journal.done(step, owned=ours, topic_id=number)
            if seconds is not None:
                self.on_changed(step, seconds)

    def _failed(self, step: Step, error: TowpathError, *, begun: bool | None = None) -> None:
        """Write why a step was not done; `begun` tells of one that was begun whether it is ours."""
        # It may have been created though no answer came; the next time it is looked at again.
        if not (step.creates and self._kinds.of(step).identified) or _surely(error):
            self.journal.failed(step, error)
        elif begun is not None:
            self.journal.unknown(step, owned=begun)


def _all(steps: Iterable[Step], error: TowpathError) -> dict[str, TowpathError]:
    return {step.about: error for step in steps}


def _surely(error: TowpathError) -> bool:
    """Whether what failed was not done."""
    if isinstance(error, RefusedError):
        return not error.retriable
    return isinstance(error, StepOutdatedError)
