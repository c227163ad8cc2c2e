"""Applying a plan's steps in batches, with a journal entry for each step."""

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
"""Called after each step, with its error if it failed."""


@dataclass(slots=True)
class Applied:
    """The outcome of applying a plan.

    Attributes:
        kinds: All kinds of steps.
        done: Steps that this call has done.
        before: Steps that an earlier `towpath apply` of the same saved plan has done.
        elsewhere: Steps that another command or a person has done.
        failed: Steps that failed, each with its error.
        rest: Steps that were not reached.
        takeover: A sentence about the dead process whose lease was taken over, or "".
    """

    kinds: StepKinds
    done: list[Step] = field(default_factory=list)
    before: list[Step] = field(default_factory=list)
    elsewhere: list[Step] = field(default_factory=list)
    failed: list[tuple[Step, TowpathError]] = field(default_factory=list)
    rest: list[Step] = field(default_factory=list)
    takeover: str = ""

    @property
    def complete(self) -> bool:
        """Whether all steps of the plan are done."""
        return not (self.failed or self.rest)

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence for each failed step."""
        return tuple(f"{self.blamed(step)}: {error}" for step, error in self.failed)

    def blamed(self, step: Step) -> str:
        """Return the name under which the failure of a step is reported."""
        return self.kinds.of(step).blamed(step)


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies the steps of one link.

    Attributes:
        clients: The clients that change the target.
        journal: The journal that each step is written to.
        on_step: Called after each step.
        on_changed: Called after each step that changed something, with its duration in seconds.
        stop: Set to end between two batches.
        require: Raises if a step must no longer be done.
        hold: Raises if this process may no longer change the target.
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
        """Apply all steps; a failed step does not stop the others.

        Raises:
            ClusterError: The journal cannot be written. The remaining steps are not done.
            LinkHeldError: Another process changes the target now. The remaining steps are not
                done.
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
        """Return the errors of steps that must no longer be done, by name."""
        asked = Changed()
        for step in steps:
            with asked.about(step.about):
                self.require(step)
        return asked.failed

    def _do(self, steps: Sequence[Step]) -> Mapping[str, TowpathError]:
        """Apply steps of one kind; return the errors of failed steps, by name."""
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
        """Return the steps that the link has not done before."""

        def over(step: Step) -> bool:
            once = self._kinds.of(step).once and step.about in found
            return once and self.journal.made(step, found[step.about], surely=True)

        return [step for step in steps if not over(step)]

    def _owned(self, steps: Sequence[Step], found: Mapping[str, TopicId]) -> frozenset[str]:
        """Return the names of what the link owns once the steps are done.

        The link does not own what another client has created meanwhile.
        """
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
                # Somebody created it between our check and our request: ours only if we did.
                ours = self.journal.made(step, number)
            self.journal.done(step, owned=ours, topic_id=number)
            if seconds is not None:
                self.on_changed(step, seconds)

    def _failed(self, step: Step, error: TowpathError, *, begun: bool | None = None) -> None:
        """Journal why a step failed; `begun` says whether the link owns what it had begun."""
        # The thing may exist although no answer came; `JournalWriter.settle` finds out later.
        if not (step.creates and self._kinds.of(step).identified) or _surely(error):
            self.journal.failed(step, error)
        elif begun is not None:
            self.journal.unknown(step, owned=begun)


def _all(steps: Iterable[Step], error: TowpathError) -> dict[str, TowpathError]:
    return {step.about: error for step in steps}


def _surely(error: TowpathError) -> bool:
    """Whether a failed step has certainly changed nothing."""
    if isinstance(error, RefusedError):
        return not error.retriable
    return isinstance(error, StepOutdatedError)
