"""The plan as data: the changes that `run` would make on the target, and problems."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from towpath.model.errors import ClusterError, ConfigError, ConfigProblem
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.plan.estimate import CopyEstimate
from towpath.plan.kinds import Step, as_data
from towpath.plan.plan_shapes import NoteJson, PlanJson, PlannedClusterJson, ProblemJson


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

    def as_data(self) -> PlannedClusterJson:
        """Return the facts as data for JSON."""
        return {
            "bootstrap": list(self.bootstrap),
            "id": self.id,
            "version": self.version,
            "brokers": self.brokers,
            "login": self.login,
        }


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

    def as_data(self) -> PlanJson:
        """Return the plan as data for JSON."""
        data: PlanJson = {
            "link": self.link,
            "source": self.source.as_data() if self.source else None,
            "target": self.target.as_data() if self.target else None,
            "topics": {str(name): str(target) for name, target in self.topics.items()},
            "steps": [as_data(step) for step in self.steps],
            "notes": [note_data(note) for note in self.notes],
            "problems": [problem_data(problem) for problem in self.problems],
        }
        if self.to_copy:
            data["to_copy"] = self.to_copy.as_data()
        return data


def note_data(note: Note) -> NoteJson:
    """Return a note as data for JSON, with its section if it has one."""
    data: NoteJson = {"about": note.about, "text": note.text}
    if note.section:
        data["section"] = str(note.section)
    return data


def problem_data(problem: Problem) -> ProblemJson:
    """Return a problem as data for JSON."""
    return {"about": problem.about, "text": problem.text, "cause": str(problem.cause)}


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
