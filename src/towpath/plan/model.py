"""The plan: what `run` would do to the target, and what speaks against it, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.topics.findings import Cause, Note, Obstacle
from towpath.topics.steps import Step

# What concerns a whole cluster counts more than the file, and both more than one topic.
_EXIT_CODES = {Cause.CLUSTER: 4, Cause.FILE: 2, Cause.TOPIC: 3}


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """One cluster as it answered.

    Attributes:
        bootstrap: Where it was asked.
        id: Its id.
        version: The Kafka version that its requests show.
        brokers: How many there are now.
    """

    bootstrap: tuple[str, ...]
    id: ClusterId
    version: str
    brokers: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run of one link would begin with.

    Attributes:
        link: Name of the link.
        source: The cluster to read from; `None` if it did not answer.
        target: The cluster to write to; likewise.
        topics: The topics that would be mirrored, with their names on the target.
        steps: Changes to the target's topics.
        notes: What a person should know.
        obstacles: What keeps topics, or all of them, from being mirrored.
    """

    link: LinkName
    source: ClusterFacts | None
    target: ClusterFacts | None
    topics: Mapping[TopicName, TopicName] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    notes: tuple[Note, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def exit_code(self) -> int:
        """What a command that only shows this ends with."""
        causes = {obstacle.cause for obstacle in self.obstacles}
        return next((code for cause, code in _EXIT_CODES.items() if cause in causes), 0)

    def as_data(self) -> dict[str, Any]:
        """Return it for JSON."""
        steps = [{"do": type(step).__name__, **asdict(step)} for step in self.steps]
        return {
            "link": self.link,
            "source": asdict(self.source) if self.source else None,
            "target": asdict(self.target) if self.target else None,
            "topics": dict(self.topics),
            "steps": steps,
            "notes": [asdict(note) for note in self.notes],
            "problems": [asdict(obstacle) for obstacle in self.obstacles],
        }
