"""The interface of a subject, such as topics or access, to the plan machine.

A subject is something that a link keeps the same on both clusters, such as topics or access. The
plan machine plans, saves, reviews, applies and journals the steps of all subjects, and knows none
of them. A new subject is a package with a `subject.py` and an entry in `mirror/subjects.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, StepOutdatedError, TowpathError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.plan.kinds import S, Step, StepKinds
from towpath.settings import LinkConfig

Seen = TypeVar("Seen")
"""What an observation of both clusters shows of a subject."""
Failed = Sequence[tuple[Step, TowpathError]]
"""Steps that failed, each with its error."""


@dataclass(frozen=True, slots=True)
class SubjectContext:
    """Facts that a subject may need but does not observe itself.

    Attributes:
        topics: The mirrored topics that earlier subjects found, with their names on the target.
        caught_up: Returns the source topics whose mirror topics have caught up.
    """

    topics: Mapping[TopicName, TopicName] = field(default_factory=dict)
    caught_up: Callable[[], Iterable[TopicName]] = tuple


@dataclass(frozen=True, slots=True)
class Difference(Generic[S]):
    """The steps and findings for one subject that make the target match the file.

    Attributes:
        topics: The topics that can be mirrored, with their names on the target; empty for subjects
            other than topics.
        steps: Steps that remove the difference.
        notes: Facts that a person should know.
        problems: What cannot be made the same, and why.
        counts: Numbers for the metrics of the subject, by what is counted and a label.
    """

    topics: Mapping[TopicName, TopicName] = field(default_factory=dict)
    steps: tuple[S, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedSteps(Generic[S]):
    """Steps after the target has validated them.

    Attributes:
        steps: All steps, in the same order, without the parts that the target refuses.
        refused: Steps that the target refuses as a whole, each with the error.
        problems: The parts that are left out, and why.
        later: Those refused steps that the target would begin but could not finish.
    """

    steps: tuple[S, ...]
    refused: tuple[tuple[S, ClusterError], ...] = ()
    problems: tuple[Problem, ...] = ()
    later: tuple[tuple[S, ClusterError], ...] = ()

    def require(self, step: object) -> None:
        """Raise if the target could begin a step but not finish it.

        Raises:
            ClusterError: The target refuses the final state of the step.
        """
        for each, error in self.later:
            if each is step:
                raise error

    @property
    def possible(self) -> tuple[S, ...]:
        """The steps that the target accepts."""
        no = {id(step) for step, _ in self.refused}
        return tuple(step for step in self.steps if id(step) not in no)


@dataclass(frozen=True, slots=True)
class SettledStep:
    """The result of a step whose process died.

    Attributes:
        owned: Whether the thing that exists is exactly what the step creates.
        id: The id of the thing that exists.
    """

    owned: bool
    id: TopicId


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the table of a subject's steps, after the verb.

    Attributes:
        headers: The names of the columns.
        right: The columns that hold numbers.
    """

    headers: tuple[str, ...]
    right: tuple[str, ...] = ()


class SubjectClient(Protocol[S, Seen]):
    """Observes both clusters of a link and changes its target, for one subject."""

    def observe(self) -> Seen:
        """Observe both clusters, without changing them.

        Raises:
            ClusterError: A cluster cannot be asked at all.
        """
        ...

    def again(self, seen: Seen) -> Seen:
        """Observe the target again after steps; the observation of the source is kept.

        Raises:
            ClusterError: The target cannot be asked at all.
        """
        ...

    def diff(self, seen: Seen, around: SubjectContext) -> Difference[S]:
        """Return the steps and findings that make the target match the file.

        Raises:
            ClusterError: A cluster has to be asked once more, and cannot be.
        """
        ...

    def foresee(self, seen: Seen, found: Difference[S]) -> Iterable[Note | Problem]:
        """Return further notes and problems for people who decide on a plan; runs skip this."""
        ...

    def check(self, steps: Sequence[S]) -> CheckedSteps[S]:
        """Let the target validate steps without applying them.

        Raises:
            ClusterError: The target cannot be asked.
        """
        ...

    def present(self, steps: Sequence[S]) -> Mapping[str, TopicId]:
        """Return the ids of the existing objects of steps, by name.

        A thing without an id has the id `NO_TOPIC_ID`. For a removal, only the thing that it would
        remove counts.

        Raises:
            ClusterError: The target cannot be asked.
        """
        ...

    def apply(self, steps: Sequence[S]) -> Changed:
        """Apply steps of one kind together, each for another object.

        A thing that already is as the step would leave it counts as done.

        Raises:
            ClusterError: The target cannot be asked, and nothing was changed.
        """
        ...

    def settle(self, steps: Sequence[S]) -> Mapping[str, SettledStep]:
        """Return the results of steps whose process died, by name.

        Raises:
            ClusterError: The target cannot be asked.
        """
        ...

    def owned(self, steps: Sequence[S]) -> frozenset[str]:
        """Return the names of the objects that the link will own after the steps."""
        ...

    def outdated(self, step: S) -> StepOutdatedError | None:
        """Return why a step would not be planned now; `None` if nothing more is known."""
        ...


class Subject(Protocol[S, Seen]):
    """Protocol of something that a link keeps the same on both clusters, such as topics."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the subject in steps and for `--only`."""
        ...

    @property
    def kinds(self) -> StepKinds:
        """The subject's kinds of steps, in the order of application."""
        ...

    @property
    def columns(self) -> Columns:
        """The columns of the table of the subject's steps."""
        ...

    def client(self, link: OpenLink) -> AbstractContextManager[SubjectClient[S, Seen]]:
        """Open a client for a link."""
        ...

    def interval(self, config: LinkConfig) -> float:
        """Return the number of seconds between two observations in a run."""
        ...

    def held_back(self, steps: Sequence[S], failed: Failed) -> Mapping[str, TowpathError]:
        """Return errors, by name, for steps that must wait because earlier steps failed."""
        ...

    def row(self, step: S) -> tuple[str, ...]:
        """Return a step as a row of the plan's table."""
        ...

    def summary(self, steps: Sequence[S], topics: Mapping[TopicName, TopicName]) -> Iterable[str]:
        """Return short texts that summarize steps.

        Args:
            steps: All steps of this subject.
            topics: The mirrored topics, with their names on the target.
        """
        ...
