"""All subjects of a plan (topics, access, schemas ...), with open clients for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from towpath.ledger.link import OpenLink
from towpath.model.errors import StepOutdatedError
from towpath.model.nouns import TopicId
from towpath.model.outcome import Changed
from towpath.plan.kinds import S, Step, StepKinds
from towpath.plan.subject import CheckedSteps, Seen, SettledStep, Subject, SubjectClient

AnySubject = Subject[Any, Any]


class Subjects:
    """All subjects of plans (topics, access, schemas ...), in the order of observation.

    Attributes:
        kinds: The kinds of all steps, in the order in which they are done. A subject may need what
            an earlier one creates, so removals come last, in the reverse order of subjects.
        names: The names of all subjects, in order.
    """

    def __init__(self, subjects: Iterable[AnySubject]) -> None:
        self._all = tuple(subjects)
        made = [kind for each in self._all for kind in each.kinds if not kind.removes]
        gone = [kind for each in reversed(self._all) for kind in each.kinds if kind.removes]
        self.kinds = StepKinds([*made, *gone])
        self.names = tuple(name for each in self._all for name in each.names)
        self._of = {kind.step: each for each in self._all for kind in each.kinds}

    def __iter__(self) -> Iterator[AnySubject]:
        return iter(self._all)

    def of(self, step: S) -> Subject[S, Any]:
        """Return the subject of a step."""
        return self._of[type(step)]

    def parted(self, steps: Iterable[Step]) -> dict[AnySubject, list[Step]]:
        """Return steps by subject; subjects without steps are left out."""
        found: dict[AnySubject, list[Step]] = {each: [] for each in self._all}
        for step in steps:
            found[self.of(step)].append(step)
        return {subject: some for subject, some in found.items() if some}

    @contextmanager
    def open(self, link: OpenLink) -> Iterator[SubjectClients]:
        """Open the clients of all subjects for one link."""
        with ExitStack() as stack:
            yield SubjectClients(
                self, {each: stack.enter_context(each.client(link)) for each in self}
            )


class SubjectClients:
    """The clients of some subjects, for one link."""

    def __init__(
        self, subjects: Subjects, clients: Mapping[AnySubject, SubjectClient[Any, Any]]
    ) -> None:
        self.subjects, self._clients = subjects, clients

    def of(self, subject: Subject[S, Seen]) -> SubjectClient[S, Seen]:
        """Return the open client of a subject."""
        return self._clients[subject]

    def only(self, subjects: Collection[AnySubject]) -> SubjectClients:
        """Return the clients of the given subjects alone."""
        kept = [each for each in self.subjects if each in subjects]
        return SubjectClients(Subjects(kept), {each: self._clients[each] for each in kept})

    def check(self, steps: Iterable[Step]) -> CheckedSteps[Step]:
        """Let the target validate steps; return them in the order of application.

        Raises:
            ClusterError: The target cannot be asked.
        """
        every = [
            self.of(subject).check(some) for subject, some in self.subjects.parted(steps).items()
        ]
        return CheckedSteps(
            self.subjects.kinds.ordered(step for each in every for step in each.steps),
            tuple(refused for each in every for refused in each.refused),
            tuple(problem for each in every for problem in each.problems),
            tuple(later for each in every for later in each.later),
        )

    def present(self, steps: Iterable[Step]) -> dict[tuple[str, str], TopicId]:
        """Return the ids of the existing objects of steps, by subject and name.

        Raises:
            ClusterError: The target cannot be asked.
        """
        found: dict[tuple[str, str], TopicId] = {}
        for subject, some in self.subjects.parted(steps).items():
            there = self.of(subject).present(some)
            found |= {
                (step.subject, step.about): there[step.about]
                for step in some
                if step.about in there
            }
        return found

    def apply(self, steps: Sequence[Step]) -> Changed:
        """Apply steps of one kind through the client of their subject."""
        return self.of(self.subjects.of(steps[0])).apply(steps) if steps else Changed()

    def settle(self, steps: Iterable[Step]) -> list[tuple[Step, SettledStep]]:
        """Return the results of steps whose process died.

        Raises:
            ClusterError: The target cannot be asked.
        """
        return [
            (step, told[step.about])
            for subject, some in self.subjects.parted(steps).items()
            for told in [self.of(subject).settle(some)]
            for step in some
            if step.about in told
        ]

    def owned(self, steps: Iterable[Step]) -> frozenset[str]:
        """Return the names of the objects of steps that the link has created."""
        parted = self.subjects.parted(steps).items()
        return frozenset(name for subject, some in parted for name in self.of(subject).owned(some))

    def outdated(self, step: Step) -> StepOutdatedError | None:
        """Return why a step would not be planned now; `None` if nothing more is known."""
        return self.of(self.subjects.of(step)).outdated(step)
