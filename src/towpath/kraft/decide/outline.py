"""The forecast of all steps to a goal, each with its stage and its way back. Pure.

Foreseen is what happens in a cluster without faults; a run plans each step anew from what it sees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.decide.moves import Facts, Move, Reached
from towpath.kraft.decide.planner import decide
from towpath.kraft.decide.preflight.preflight import BEFORE_COPY
from towpath.kraft.facts.nouns import Goal, NodeId, Stage
from towpath.kraft.facts.seen import Observation
from towpath.kraft.files.changes import PropertiesChange, shown_changes
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused
from towpath.kraft.standing.stages import DualWrite
from towpath.kraft.steps.step import KraftStep, WritingStep

_WaysBack = dict[tuple[Stage, KraftStep], tuple[Observation, tuple[KraftStep, ...]]]
"""What was seen last where a way back passed a stage with a step, and all steps from there: ways
back from different steps have long parts in common, in which nothing is decided anew."""

_ENDS = frozenset({FindingCode.DELETING, FindingCode.REASSIGNING})
"""What stops a migration before the copy, and ends by itself."""
_MOST = 1_000
"""Steps after which an outline would be wrong: no goal is that far."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of a node's properties file by a step, with secrets masked."""

    node: NodeId
    path: str
    changes: tuple[PropertiesChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A forecast step.

    Attributes:
        expected: The stage behind it.
        undo: All steps back to ZooKeeper mode from behind it; empty where nothing leads back.
        file: What it changes in a properties file.
        last_chance: Whether it is the first step from which nothing leads back for sure: the first
            restart of a controller without the flag, since any election may finalize from then on.
    """

    step: KraftStep
    expected: Stage
    undo: tuple[KraftStep, ...]
    file: FileChange | None
    last_chance: bool

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return self.step.sentence


@dataclass(frozen=True, slots=True)
class Outline:
    """The forecast of all steps to a goal, and the reasons why it ends early.

    Attributes:
        steps: All that are foreseen.
        refusals: Why they end before the goal.
        first: What must end before the first step: deletions and reassignments that go on, which
            end by themselves. The steps are those behind it.
    """

    steps: tuple[PlannedStep, ...]
    refusals: tuple[Finding, ...]
    first: tuple[Finding, ...] = ()


def outline(
    config: KraftConfig, seen: Observation, goal: Goal, lost: frozenset[NodeId] = frozenset()
) -> Outline:
    """Return the forecast of all steps from an observation to a goal."""
    facts = Facts.of(config, seen, lost)
    going = tuple(each for each in facts.contents if each.code in _ENDS)
    if going and goal is not Goal.ZOOKEEPER and facts.standing.stage in BEFORE_COPY:
        rest = tuple(each for each in facts.contents if each.code not in _ENDS)
        return replace(_outline(replace(facts, contents=rest), goal), first=going)
    return _outline(facts, goal)


def _outline(facts: Facts, goal: Goal) -> Outline:
    steps: list[PlannedStep] = []
    known: _WaysBack = {}
    for _ in range(_MOST):
        soaked = _soaked(facts)
        decision = decide(soaked, goal)
        match decision:
            case Reached():
                return Outline(tuple(steps), ())
            case Refused(reasons):
                return Outline(tuple(steps), reasons)
            case Move(step):
                planned, facts = _planned(soaked, step, known)
                steps.append(planned)
    raise AssertionError(f"no end of steps towards {goal}")


def _soaked(facts: Facts) -> Facts:
    """Return facts of a cluster whose stores have been equal for `limits.soak`, if they are."""
    proven = facts.seen.proven
    if proven.equal_since is None:
        return facts
    since = facts.seen.at - round(1_000 * facts.config.limits.soak)
    soaked = replace(proven, equal_since=min(proven.equal_since, since))
    return facts.at(replace(facts.seen, proven=soaked))


def _planned(facts: Facts, step: KraftStep, known: _WaysBack) -> tuple[PlannedStep, Facts]:
    behind = facts.at(step.after(facts.config, facts.seen))
    planned = PlannedStep(
        step=step,
        expected=behind.standing.stage,
        undo=_undo(behind, known),
        file=_file(facts, step),
        last_chance=step.finalizes and isinstance(facts.standing.typed, DualWrite),
    )
    return planned, behind


def _undo(facts: Facts, known: _WaysBack) -> tuple[KraftStep, ...]:
    """Return the steps back to ZooKeeper mode; none where nothing leads there."""
    steps: list[KraftStep] = []
    passed: list[tuple[tuple[Stage, KraftStep], Observation]] = []
    decision = decide(facts, Goal.ZOOKEEPER)
    while isinstance(decision, Move):
        if len(passed) > _MOST:
            raise AssertionError(f"no end of steps back: {decision.step.sentence}")
        place = facts.standing.stage, decision.step
        seen, rest = known.get(place, (None, ()))
        if seen == facts.seen:
            steps += rest
            break
        passed.append((place, facts.seen))
        steps.append(decision.step)
        facts = facts.at(decision.step.after(facts.config, facts.seen))
        decision = decide(facts, Goal.ZOOKEEPER)
    for number, (place, at) in enumerate(passed):
        known[place] = at, tuple(steps[number:])
    return tuple(steps)


def _file(facts: Facts, step: KraftStep) -> FileChange | None:
    """Return what a step changes in a properties file; None where it writes none."""
    config, seen = facts.config, facts.seen
    if not isinstance(step, WritingStep):
        return None
    made = step.properties(config, seen)
    if isinstance(made, Refused):
        return None
    before = {**seen.brokers, **seen.controllers}[step.node].properties
    nodes = (*config.brokers, *config.controllers.nodes)
    path = next(each.properties for each in nodes if NodeId(each.id) == step.node)
    return FileChange(step.node, path, shown_changes(before, made))
