"""Does the steps of a plan, one after the other, each written into the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from towpath.access.apply import apply as apply_access
from towpath.access.apply import made_meanwhile
from towpath.cluster.admin import Admin
from towpath.model.errors import RefusedError, StepOutdatedError, TowpathError
from towpath.model.nouns import NO_TOPIC_ID, TopicId
from towpath.model.secret import Secret
from towpath.plan.journal import JournalWriter
from towpath.plan.steps import Step, blamed
from towpath.topics import steps as topics
from towpath.topics.apply import apply as apply_topics
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
        stop: Set to end between two steps.
        require: Raises where a step must not be done any more.
    """

    target: Admin
    journal: JournalWriter
    passwords: Mapping[str, Secret] = field(default_factory=dict)
    on_step: Told = lambda _step, _error: None
    stop: threading.Event = field(default_factory=threading.Event)
    require: Callable[[Step], None] = lambda _step: None

    def apply(self, steps: Iterable[Step]) -> Applied:
        """Do each step, whatever becomes of the others.

        Raises:
            ClusterError: The journal cannot be written; the step that follows is not done.
        """
        applied = Applied()
        self.journal.settle(self.target)
        wanted = tuple(steps)
        others = made_meanwhile(
            (step for step in wanted if not isinstance(step, topics.Step)), self.target
        )
        try:
            for step in wanted:
                if self.stop.is_set():
                    applied.rest.append(step)
                else:
                    self._one(step, applied, (step.subject, step.about) in others)
        finally:
            self.journal.close()
        return applied

    def _one(self, step: Step, applied: Applied, found: bool) -> None:
        try:
            self.require(step)
            if isinstance(step, CreateTopic):
                there = self._topic(step)
                found = there is not None
                if there is not None and self.journal.made_meanwhile(step, there):
                    self._tell(step, applied)
                    return
            # What somebody else created since the plan was made is not ours.
            created = step.creates and (not found or self.journal.began(step))
            owned = created or self.journal.owns(step)
            self.journal.begin(step, owned=owned)
            self._do(step)
            after = self._topic(step) if isinstance(step, topics.Step) else None
        except TowpathError as error:
            self._fail(step, error, applied)
            return
        self.journal.done(step, owned=owned, topic_id=after or NO_TOPIC_ID)
        self._tell(step, applied)

    def _tell(self, step: Step, applied: Applied) -> None:
        applied.done.append(step)
        self.on_step(step, None)

    def _fail(self, step: Step, error: TowpathError, applied: Applied) -> None:
        # A topic may have been created though no answer came; the next time it is looked at again.
        if not isinstance(step, CreateTopic) or isinstance(error, StepOutdatedError | RefusedError):
            self.journal.failed(step, error)
        applied.failed.append((step, error))
        self.on_step(step, error)

    def _do(self, step: Step) -> None:
        if isinstance(step, topics.Step):
            apply_topics(step, self.target)
        else:
            apply_access(step, self.target, self.passwords)

    def _topic(self, step: topics.Step) -> TopicId | None:
        """Return the id of the topic that is there, which some brokers do not tell."""
        found = self.target.topics([step.target]).get(step.target)
        return found.id if found is not None and found.error is None else None
