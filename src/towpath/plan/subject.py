"""What the plan machine asks of a subject.

A subject is something that a link makes alike on both clusters: topics, or access. The machine
plans, saves, reviews, applies and journals the steps of all subjects and knows none of them. A new
subject is a package with a `subject.py`, and a place in the list of `mirror/subjects.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from towpath.config import LinkConfig
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, StepOutdatedError, TowpathError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.plan.kinds import S, Step, StepKinds

Seen = TypeVar("Seen")
"""What a look at both clusters shows of a subject."""
Failed = Sequence[tuple[Step, TowpathError]]
"""Steps that were not done, each with the reason."""


@dataclass(frozen=True, slots=True)
class SubjectContext:
    """What a subject may need to know that is not its own.

    Attributes:
        topics: The topics that subjects before this one found to be mirrored, with their names on
            the target.
        caught_up: Asks which topics of the source have mirror topics that have reached them.
    """

    topics: Mapping[TopicName, TopicName] = field(default_factory=dict)
    caught_up: Callable[[], Iterable[TopicName]] = tuple


@dataclass(frozen=True, slots=True)
class Difference(Generic[S]):
    """What is between the target and what the file asks for.

    Attributes:
        topics: The topics that can be mirrored, with their names on the target; empty for all
            subjects that decide nothing about it.
        steps: What to do.
        notes: What a person should know.
        problems: What cannot be made alike, and why.
    """

    topics: Mapping[TopicName, TopicName] = field(default_factory=dict)
    steps: tuple[S, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedSteps(Generic[S]):
    """Steps as the target would take them.

    Attributes:
        steps: All of them, in the same order, without the parts that the target refuses.
        refused: Those of these steps that it would not do at all, and why.
        problems: The parts that are left out, and why.
        later: Those of the refused ones that it would begin, but could not finish.
    """

    steps: tuple[S, ...]
    refused: tuple[tuple[S, ClusterError], ...] = ()
    problems: tuple[Problem, ...] = ()
    later: tuple[tuple[S, ClusterError], ...] = ()

    def require(self, step: object) -> None:
        """Make sure that a step can be finished; the target itself would begin it.

        Raises:
            ClusterError: It refuses what the step leads to.
        """
        for each, error in self.later:
            if each is step:
                raise error

    @property
    def possible(self) -> tuple[S, ...]:
        """The steps that the target would do."""
        no = {id(step) for step, _ in self.refused}
        return tuple(step for step in self.steps if id(step) not in no)


@dataclass(frozen=True, slots=True)
class SettledStep:
    """What became of a step of which nobody knew whether it was done.

    Attributes:
        owned: Whether what is there is just what the step creates.
        id: The id of what is there.
    """

    owned: bool
    id: TopicId


@dataclass(frozen=True, slots=True)
class Columns:
    """How the steps of a subject look in a table, behind the verb.

    Attributes:
        headers: Names of the columns.
        right: Those of them that hold numbers.
    """

    headers: tuple[str, ...]
    right: tuple[str, ...] = ()


class SubjectClient(Protocol[S, Seen]):
    """What looks at both clusters of one link, and changes its target, for one subject."""

    def observe(self) -> Seen:
        """Look at both clusters, changing nothing.

        Raises:
            ClusterError: One of them cannot be asked at all.
        """
        ...

    def again(self, seen: Seen) -> Seen:
        """Look again at the target behind steps; what was seen of the source stays.

        Raises:
            ClusterError: The target cannot be asked at all.
        """
        ...

    def diff(self, seen: Seen, around: SubjectContext) -> Difference[S]:
        """Return what is to be done on the target.

        Raises:
            ClusterError: It has to be asked once more, and cannot.
        """
        ...

    def foresee(self, seen: Seen, found: Difference[S]) -> Iterable[Note | Problem]:
        """Tell what else a person should know who decides on a plan; a run asks for none of it."""
        ...

    def check(self, steps: Sequence[S]) -> CheckedSteps[S]:
        """Return steps as the target would take them; it checks them, and nothing is done.

        Raises:
            ClusterError: The target cannot be asked.
        """
        ...

    def present(self, steps: Sequence[S]) -> Mapping[str, TopicId]:
        """Return which things that steps are about exist, by name, with their ids.

        A thing without an id has the id `NO_TOPIC_ID`. A removal finds only what it is to remove.

        Raises:
            ClusterError: The target cannot be asked.
        """
        ...

    def apply(self, steps: Sequence[S]) -> Changed:
        """Do steps of one kind together, each about another thing.

        What exists already as the step would leave it counts as done.

        Raises:
            ClusterError: The target cannot be asked, and nothing was done.
        """
        ...

    def settle(self, steps: Sequence[S]) -> Mapping[str, SettledStep]:
        """Return what became of steps that a process began before it died, by name.

        Raises:
            ClusterError: The target cannot be asked.
        """
        ...

    def owned(self, steps: Sequence[S]) -> frozenset[str]:
        """Return which things that steps change are ours afterwards, as the ledger tells."""
        ...

    def outdated(self, step: S) -> StepOutdatedError | None:
        """Return why a step would not be planned again; `None` where no more can be said."""
        ...


class Subject(Protocol[S, Seen]):
    """Something that a link makes alike on both clusters."""

    @property
    def names(self) -> tuple[str, ...]:
        """What its steps change, as `Step.subject` has it; `--only` takes these names."""
        ...

    @property
    def kinds(self) -> StepKinds:
        """Its kinds of steps, in the order in which they are done."""
        ...

    @property
    def columns(self) -> Columns:
        """The table of its steps."""
        ...

    def client(self, link: OpenLink) -> AbstractContextManager[SubjectClient[S, Seen]]:
        """Open what it needs to look at the clusters of a link, and to change the target."""
        ...

    def interval(self, config: LinkConfig) -> float:
        """Return how many seconds a run lets pass between two looks."""
        ...

    def held_back(self, steps: Sequence[S], failed: Failed) -> Mapping[str, TowpathError]:
        """Return which steps must not be done, as others failed that come before, by name."""
        ...

    def row(self, step: S) -> tuple[str, ...]:
        """Return a step as a row of the table."""
        ...

    def summary(self, steps: Sequence[S], topics: Mapping[TopicName, TopicName]) -> Iterable[str]:
        """Return in a few words each what steps do.

        Args:
            steps: All of this subject.
            topics: The topics that are mirrored, with their names on the target.
        """
        ...
