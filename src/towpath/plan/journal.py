"""The journal in the ledger: steps begun and done, and what the link owns as a result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Journal, Phase
from towpath.ledger.link import OpenTarget
from towpath.model.errors import TowpathError
from towpath.model.nouns import NO_TOPIC_ID, TopicId
from towpath.plan.kinds import Step, as_data
from towpath.plan.subjects import SubjectClients
from towpath.runtime.clock import now_ms


class JournalWriter:
    """Journals steps before and after they are done, in batches.

    A step is journalled before it is done, so that the link owns what a process creates and then
    dies. The end of one batch and the beginning of the next are written together.

    No other process writes the journal of the link at the same time: the lease prevents it.
    """

    def __init__(self, link: OpenTarget, clients: SubjectClients, plan: str = "") -> None:
        self._ledger, self._books, self._plan = link.ledger, link.books, plan
        self._clients, self._kinds = clients, clients.subjects.kinds
        self._held: list[Journal] = []

    def begin(self, steps: Iterable[tuple[Step, bool]]) -> None:
        """Write the start of steps, together with the ends of earlier steps.

        Args:
            steps: The steps, each with whether the link owns what it is about once it is done.
        """
        self._held += (self._entry(step, Phase.BEGUN, owned, NO_TOPIC_ID) for step, owned in steps)
        self.close()

    def done(self, step: Step, *, owned: bool, topic_id: TopicId = NO_TOPIC_ID) -> None:
        """Record that a step is done; `close` writes the record.

        Args:
            step: The step.
            owned: Whether the link owns what the step is about: this step or an earlier one
                created it.
            topic_id: The id of the topic that was created or changed.
        """
        entry = self._entry(step, Phase.DONE, owned, topic_id)
        self._held.append(entry)
        self._books.take(entry)

    def failed(self, step: Step, error: TowpathError) -> None:
        """Record that a step failed, and why; `close` writes the record."""
        # A thing with an id is recognised by that id alone.
        owned = not self._kinds.of(step).identified and (
            self.made(step, surely=True) if step.creates else bool(self._clients.owned([step]))
        )
        entry = replace(self._entry(step, Phase.FAILED, owned, NO_TOPIC_ID), error=str(error))
        self._held.append(entry)
        self._books.take(entry)

    def mend(
        self, subjects: Collection[str], asked: Iterable[Step], troubled: Collection[str]
    ) -> None:
        """Drop the errors of failed steps that the target does not need any more.

        A later step, or a person, has made the target as the file wants it. What such a step owns
        stays as it was.

        Args:
            subjects: The subjects that were looked at.
            asked: The steps that the target still lacks.
            troubled: What has a problem, by its name at the source or on the target.
        """
        wanted = {self._kinds.key(step) for step in asked}
        for entry in failures(self._books):
            names = {entry.name, entry.step.get("source")}
            looked = entry.subject in subjects and names.isdisjoint(troubled)
            if looked and (entry.subject, entry.name, entry.do, entry.part) not in wanted:
                mended = replace(entry, error="", at=now_ms())
                self._held.append(mended)
                self._books.take(mended)
        self.close()

    def unknown(self, step: Step, *, owned: bool) -> None:
        """Record a step that may have been applied although its answer was lost."""
        self._books.take(self._entry(step, Phase.BEGUN, owned, NO_TOPIC_ID))

    def settle(self) -> None:
        """Find out which unfinished steps of a dead process took effect.

        Raises:
            ClusterError: The target or the ledger cannot be asked.
        """
        for step, found in self._clients.settle(self._unsettled()):
            self.done(step, owned=found.owned, topic_id=found.id)
        self.close()

    def _unsettled(self) -> Iterator[Step]:
        """Return the steps that were begun and may have created a thing that has an id."""
        for entry in self._books.journal.values():
            if entry.phase is Phase.BEGUN and entry.owned and entry.do in self._kinds:
                step: Step = self._kinds.from_data(entry.step, "ledger")
                if step.creates and self._kinds.of(step).identified:
                    yield step

    def done_before(self, step: Step) -> bool:
        """Return whether an earlier `towpath apply` of the same saved plan has done a step."""
        entry = self._books.journal.get(self._kinds.key(step))
        done = entry is not None and (entry.phase, entry.plan) == (Phase.DONE, self._plan)
        return bool(self._plan) and done

    def unsettled(self, step: Step) -> bool:
        """Return whether a step was begun or failed, so that its effect is uncertain."""
        entry = self._books.journal.get(self._kinds.key(step))
        return entry is not None and entry.phase is not Phase.DONE

    def close(self) -> None:
        """Write all recorded entries."""
        held, self._held = self._held, []
        if held:
            self._ledger.append(held)

    def made(self, step: Step, topic_id: TopicId = NO_TOPIC_ID, *, surely: bool = False) -> bool:
        """Return whether this link, and no other client, created the object of a step.

        Args:
            step: The step that would have created it.
            topic_id: The id of the topic that exists now.
            surely: Whether a step that was only begun does not count.
        """
        before = self._books.journal.get(self._kinds.key(step))
        if before is None or not before.owned:
            return False
        if before.phase is Phase.DONE:
            return before.topic_id == topic_id
        return before.phase is Phase.FAILED or not surely  # a failed step kept what was ours

    def _entry(self, step: Step, phase: Phase, owned: bool, topic_id: TopicId) -> Journal:
        subject, name, do, part = self._kinds.key(step)
        return Journal(
            link=self._books.link,
            subject=subject,
            name=name,
            do=do,
            part=part,
            step=as_data(step),
            phase=phase,
            plan=self._plan,
            owned=owned,
            topic_id=topic_id,
            error="",
            at=now_ms(),
        )


def failures(books: LinkBooks) -> list[Journal]:
    """Return the steps whose last attempt failed and that are still open, oldest first."""
    return [e for e in books.journal.values() if e.phase is Phase.FAILED and e.error]
