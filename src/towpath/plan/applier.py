"""Does the steps of a plan, some at a time, each written into the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.access.apply import apply_all as apply_access
from towpath.access.apply import present
from towpath.access.steps import CreateAcl
from towpath.cluster.admin import Admin
from towpath.model.errors import RefusedError, StepOutdatedError, TowpathError
from towpath.model.nouns import NO_TOPIC_ID, TopicId
from towpath.model.outcome import Changed
from towpath.model.secret import Secret
from towpath.plan.batches import batches, held_back
from towpath.plan.journal import JournalWriter
from towpath.plan.steps import Step, blamed
from towpath.topics import steps as topics
from towpath.topics.apply import apply_all as apply_topics
from towpath.topics.steps import CreateTopic

Told = Callable[[Step, TowpathError | None], None]
"""Hears of each step that was done, or why it was not."""


@dataclass(slots=True)
class Applied:
    """What became of the steps of a plan.

    Attributes:
        done: Those that were done now.
        before: Those that an earlier `towpath apply` of the same saved plan had done.
        failed: Those that were not, and why.
        rest: Those that were not reached.
    """

    done: list[Step] = field(default_factory=list)
    before: list[Step] = field(default_factory=list)
    failed: list[tuple[Step, TowpathError]] = field(default_factory=list)
    rest: list[Step] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing is left of the plan."""
        return not (self.failed or self.rest)

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence per step that was not done."""
        return tuple(f"{blamed(step)}: {error}" for step, error in self.failed)


@dataclass(frozen=True, slots=True)
class Applier:
    """What the steps of one link need.

    Attributes:
        target: The cluster that is changed.
        journal: Where each step is written down.
        passwords: Of users that are to be set, by name.
        on_step: Told of each step.
        on_created: Told of each topic that was created, in seconds.
        stop: Set to end between two batches.
        require: Raises where a step must not be done any more.
    """

    target: Admin
    journal: JournalWriter
    passwords: Mapping[str, Secret] = field(default_factory=dict)
    on_step: Told = lambda _step, _error: None
    on_created: Callable[[float], None] = lambda _seconds: None
    stop: threading.Event = field(default_factory=threading.Event)
    require: Callable[[Step], None] = lambda _step: None

    def apply(self, steps: Iterable[Step]) -> Applied:
        """Do each step, whatever becomes of the others.

        Raises:
            ClusterError: The journal cannot be written; the steps that follow are not done.
        """
        applied = Applied()
        self.journal.settle(self.target)
        try:
            for batch in batches(steps):
                if self.stop.is_set():
                    applied.rest += batch
                else:
                    self._batch(batch, applied)
        finally:
            self.journal.close()
        return applied

    def _batch(self, steps: Sequence[Step], applied: Applied) -> None:
        failed = held_back(steps, applied.failed)
        failed |= self._outdated(step for step in steps if step.about not in failed)
        failed |= self._do([step for step in steps if step.about not in failed])
        if failed:
            self.journal.read()
        for step in steps:
            error = failed.get(step.about)
            if error is None:
                applied.done.append(step)
            else:
                self._fail(step, error, applied)
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
            found = self._found(steps)
        except TowpathError as error:
            return _all(steps, error)
        todo = self._left(steps, found)
        owned = self._owned(todo, found)
        self.journal.begin((step, step.about in owned) for step in todo)
        try:
            changed = self._change(todo)
            ids = self._ids(todo)
        except TowpathError as error:
            return _all(todo, error)
        self._done([step for step in todo if step.about not in changed.failed], changed, owned, ids)
        return changed.failed

    def _found(self, steps: Sequence[Step]) -> dict[str, TopicId]:
        """Return what is there of that which steps should create, topics with their ids."""
        new = [step for step in steps if step.creates]
        others = present((s for s in new if not isinstance(s, topics.Step)), self.target)
        there = self._ids([step for step in new if isinstance(step, CreateTopic)])
        found = {**there, **dict.fromkeys((about for _, about in others), NO_TOPIC_ID)}
        if found:
            self.journal.read()
        return found

    def _left(self, steps: Sequence[Step], found: Mapping[str, TopicId]) -> list[Step]:
        """Return the steps without those that another process of the link has done."""

        def over(step: Step) -> bool:
            whole = isinstance(step, CreateTopic | CreateAcl) and step.about in found
            return whole and self.journal.made(step, found[step.about], surely=True)

        return [step for step in steps if not over(step)]

    def _owned(self, steps: Sequence[Step], found: Mapping[str, TopicId]) -> frozenset[str]:
        """Return what is ours once steps are done: not what somebody else created meanwhile."""
        new = {
            step.about
            for step in steps
            if step.creates
            and (step.about not in found or self.journal.made(step, found[step.about]))
        }
        return self.journal.owned(step for step in steps if not step.creates) | new

    def _change(self, steps: Sequence[Step]) -> Changed:
        of_topics = [step for step in steps if isinstance(step, topics.Step)]
        if of_topics:
            return apply_topics(of_topics, self.target)
        others = [step for step in steps if not isinstance(step, topics.Step)]
        return apply_access(others, self.target, self.passwords)

    def _ids(self, steps: Sequence[Step]) -> dict[str, TopicId]:
        names = [step.target for step in steps if isinstance(step, topics.Step)]
        found = self.target.topics.describe(names) if names else {}
        return {name: info.id for name, info in found.items() if not info.error}

    def _done(
        self,
        steps: Sequence[Step],
        changed: Changed,
        owned: Collection[str],
        ids: Mapping[str, TopicId],
    ) -> None:
        # What came between our look and our request is ours only if our link made it.
        if any(step.creates and changed.done[step.about] is None for step in steps):
            self.journal.read()
        for step in steps:
            seconds, number = changed.done[step.about], ids.get(step.about, NO_TOPIC_ID)
            ours = step.about in owned
            if ours and step.creates and seconds is None:
                ours = self.journal.made(step, number)
            self.journal.done(step, owned=ours, topic_id=number)
            if isinstance(step, CreateTopic) and seconds is not None:
                self.on_created(seconds)

    def _fail(self, step: Step, error: TowpathError, applied: Applied) -> None:
        # A topic may have been created though no answer came; the next time it is looked at again.
        if isinstance(step, CreateTopic) and not _surely(error):
            self.journal.unknown(step)
        else:
            self.journal.failed(step, error)
        applied.failed.append((step, error))


def _all(steps: Iterable[Step], error: TowpathError) -> dict[str, TowpathError]:
    return {step.about: error for step in steps}


def _surely(error: TowpathError) -> bool:
    """Whether what failed was not done."""
    if isinstance(error, RefusedError):
        return not error.retriable
    return isinstance(error, StepOutdatedError)
