"""What differs between the target and what the file asks for, subject by subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic

from towpath.model.findings import Note, Obstacle
from towpath.model.nouns import TopicName
from towpath.plan.kinds import S, Step
from towpath.plan.subject import Around, Difference, Seen, Subject
from towpath.plan.subjects import Clients


@dataclass(frozen=True, slots=True)
class Part(Generic[S, Seen]):
    """One subject: both clusters as they were observed, and what follows."""

    subject: Subject[S, Seen]
    seen: Seen
    found: Difference[S]


@dataclass(frozen=True, slots=True)
class Differences:
    """What was found of all subjects, in the order in which they were looked at."""

    parts: tuple[Part[Any, Any], ...]
    topics: dict[TopicName, TopicName]
    """The topics that can be mirrored, with their names on the target."""

    def of(self, subject: Subject[S, Seen]) -> Part[S, Seen]:
        """Return what was found of one subject."""
        return next(part for part in self.parts if part.subject is subject)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, subject by subject."""
        return tuple(step for part in self.parts for step in part.found.steps)

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes."""
        return tuple(note for part in self.parts for note in part.found.notes)

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """All obstacles."""
        return tuple(obstacle for part in self.parts for obstacle in part.found.obstacles)


def differences(
    clients: Clients, caught_up: Callable[[], Iterable[TopicName]] = tuple
) -> Differences:
    """Look at both clusters, changing nothing.

    Args:
        clients: The clients of a link whose books were read.
        caught_up: Tells which topics of the source have mirror topics that have reached them;
            called only if something waits for that.

    Raises:
        ClusterError: A cluster cannot be asked at all.
    """
    parts: list[Part[Any, Any]] = []
    around = Around(caught_up=caught_up)
    for subject in clients.subjects:
        client = clients.of(subject)
        seen = client.observe()
        found = client.diff(seen, around)
        parts.append(Part(subject, seen, found))
        around = replace(around, topics={**around.topics, **found.topics})
    return Differences(tuple(parts), dict(around.topics))
