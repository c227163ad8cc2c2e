"""The plan as data: the changes that `run` would make on the target, and obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, field
from typing import Any

from towpath.model.errors import ClusterError, ConfigError, ConfigProblem
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.plan.estimate import CopyEstimate
from towpath.plan.kinds import Step, as_data


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster's id, version and features as it reported them.

    Attributes:
        bootstrap: The bootstrap addresses.
        id: The cluster id.
        version: The release of Kafka, such as "3.9" or "4.4 or newer".
        brokers: The number of brokers that are up.
        login: The user that the file logs in as; empty if the login has no name.
    """

    bootstrap: tuple[str, ...]
    id: ClusterId
    version: str
    brokers: int
    login: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps and problems that a run of one link would begin with.

    Attributes:
        link: The name of the link.
        source: The cluster to read from; `None` if it did not answer.
        target: The cluster to write to; `None` if it did not answer.
        topics: The topics that would be mirrored, with their names on the target.
        steps: Changes to the target, in the order in which they are done.
        notes: Facts that a person should know.
        problems: What prevents mirroring of some topics, or of all.
        to_copy: What copying takes; `None` if nobody asked for it, or if it is not known.
    """

    link: LinkName
    source: ClusterFacts | None
    target: ClusterFacts | None
    topics: Mapping[TopicName, TopicName] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    to_copy: CopyEstimate | None = None

    @property
    def refusals(self) -> tuple[Problem, ...]:
        """Problems that keep the link from running at all."""
        of_topics = () if self.topics else (Cause.RIGHTS, Cause.OTHER_LINK)
        return self._of({Cause.CLUSTER, Cause.AWAY, *of_topics})

    @property
    def faults(self) -> tuple[Problem, ...]:
        """The problems whose cause is the file."""
        return self._of({Cause.FILE})

    @property
    def exit_code(self) -> int:
        """The exit code of a command that only shows the plan.

        A problem of a whole cluster has precedence over one of the file, and that over others.
        """
        if self.refusals:
            return _refusal(self).exit_code
        return ConfigError.exit_code if self.faults else 3 if self.problems else 0

    def _of(self, causes: Set[Cause]) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.cause in causes)

    def as_data(self) -> dict[str, Any]:
        """Return the plan as data for JSON."""
        return {
            "link": self.link,
            "source": asdict(self.source) if self.source else None,
            "target": asdict(self.target) if self.target else None,
            "topics": dict(self.topics),
            "steps": [as_data(step) for step in self.steps],
            "notes": [_without_nothing(asdict(note)) for note in self.notes],
            "problems": [asdict(problem) for problem in self.problems],
            **({"to_copy": self.to_copy.as_data()} if self.to_copy else {}),
        }


def _without_nothing(note: dict[str, str]) -> dict[str, str]:
    """Return a note as data; only one of a section names it."""
    return {key: value for key, value in note.items() if key != "section" or value}


class PlanRefusedError(ClusterError):
    """The problems of a whole plan prevent it from being applied.

    Attributes:
        passing: Whether all of them may pass by themselves.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(problem.text for problem in problems))
        self.passing = all(problem.cause is Cause.AWAY for problem in problems)


class TopicsTakenError(PlanRefusedError):
    """Other links write all mirror topics, until the file changes."""

    code = "TOPICS_TAKEN"
    exit_code = ConfigError.exit_code


def refuse(plan: Plan) -> None:
    """Raise if a problem concerns more than single topics.

    Raises:
        PlanRefusedError: A cluster cannot be used, or other links write all mirror topics.
        ConfigError: The file asks for something impossible.
    """
    if plan.refusals:
        raise _refusal(plan)(plan.refusals)
    if plan.faults:
        raise ConfigError(tuple(ConfigProblem(o.about, o.text) for o in plan.faults))


def _refusal(plan: Plan) -> type[PlanRefusedError]:
    taken = all(problem.cause is Cause.OTHER_LINK for problem in plan.refusals)
    return TopicsTakenError if taken else PlanRefusedError
