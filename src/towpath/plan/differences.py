"""Differences between the target and the file, by subject."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic

from towpath.model.findings import Note, Problem
from towpath.model.nouns import TopicName
from towpath.plan.kinds import S, Step
from towpath.plan.subject import Difference, Seen, Subject, SubjectContext
from towpath.plan.subjects import AnySubject, SubjectClients


@dataclass(frozen=True, slots=True)
class SubjectPart(Generic[S, Seen]):
    """One subject's observation of both clusters, and their difference."""

    subject: Subject[S, Seen]
    seen: Seen
    found: Difference[S]


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of all subjects, in the order in which they were observed."""

    parts: tuple[SubjectPart[Any, Any], ...]
    topics: dict[TopicName, TopicName]
    """The topics that can be mirrored, with their names on the target."""

    def of(self, subject: Subject[S, Seen]) -> SubjectPart[S, Seen]:
        """Return the difference of one subject.

        Raises:
            LookupError: It was not looked at.
        """
        part = self.find(subject)
        if part is None:
            raise LookupError(f"nobody looked at {', '.join(subject.names)}")
        return part

    def find(self, subject: Subject[S, Seen]) -> SubjectPart[S, Seen] | None:
        """Return the difference of one subject, `None` if it was not observed."""
        return next((part for part in self.parts if part.subject is subject), None)

    def seen(self, subject: Subject[S, Seen]) -> Seen | None:
        """Return one subject's observation, `None` if it was not observed."""
        part = self.find(subject)
        return part.seen if part is not None else None

    def only(self, subjects: Collection[AnySubject]) -> Differences:
        """Return the differences of the given subjects alone."""
        return replace(self, parts=tuple(each for each in self.parts if each.subject in subjects))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all subjects, one subject after the other."""
        return tuple(step for part in self.parts for step in part.found.steps)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of all subjects."""
        return tuple(note for part in self.parts for note in part.found.notes)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of all subjects."""
        return tuple(problem for part in self.parts for problem in part.found.problems)


def differences(
    clients: SubjectClients,
    caught_up: Callable[[], Iterable[TopicName]] = tuple,
    only: Collection[AnySubject] | None = None,
    before: Differences | None = None,
) -> Differences:
    """Observe both clusters, without changing them.

    Args:
        clients: The clients of a link whose books were read.
        caught_up: Returns the source topics whose mirror topics have caught up; called only if
            something waits for that.
        only: The subjects to observe, if not all; the others get no steps.
        before: The previous differences, which are kept for the other subjects.

    Raises:
        ClusterError: A cluster cannot be asked at all.
    """

    def part(subject: AnySubject, around: SubjectContext) -> SubjectPart[Any, Any]:
        known = before.find(subject) if before is not None else None
        if known is not None and only is not None and subject not in only:
            return replace(known, found=replace(known.found, steps=()))
        client = clients.of(subject)
        seen = client.observe()
        return SubjectPart(subject, seen, client.diff(seen, around))

    return _gathered(clients, caught_up, part)


def observe_again(
    clients: SubjectClients,
    before: Differences,
    done: Iterable[Step],
    caught_up: Callable[[], Iterable[TopicName]] = tuple,
) -> Differences:
    """Observe the target again after steps; keep the observation of the source.

    Raises:
        ClusterError: The target cannot be asked.
    """
    changed = clients.subjects.parted(done)

    def part(subject: AnySubject, around: SubjectContext) -> SubjectPart[Any, Any]:
        known, client = before.of(subject), clients.of(subject)
        if subject not in changed:
            return known
        seen = client.again(known.seen)
        return SubjectPart(subject, seen, client.diff(seen, around))

    return _gathered(clients, caught_up, part)


def _gathered(
    clients: SubjectClients,
    caught_up: Callable[[], Iterable[TopicName]],
    part: Callable[[AnySubject, SubjectContext], SubjectPart[Any, Any]],
) -> Differences:
    parts: list[SubjectPart[Any, Any]] = []
    around = SubjectContext(caught_up=caught_up)
    for subject in clients.subjects:
        parts.append(part(subject, around))
        around = replace(around, topics={**around.topics, **parts[-1].found.topics})
    return Differences(tuple(parts), dict(around.topics))
