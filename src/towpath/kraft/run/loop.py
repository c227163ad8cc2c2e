"""The loop of a migration: observe, decide, do one step, observe again.

It may be killed anywhere and started again: what it sees then leads to the rest of a step, or to
its repair, before anything else is touched.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Event
from typing import Protocol

from towpath.kraft.config import KraftConfig
from towpath.kraft.decide.gates import too_early
from towpath.kraft.decide.moves import Decision, Facts, Move, Reached
from towpath.kraft.decide.next_steps import next_steps
from towpath.kraft.decide.planner import decide
from towpath.kraft.decide.rollback import alarmed
from towpath.kraft.errors import KraftJournalError, StepStoppedError, UnexpectedStageError
from towpath.kraft.facts.image import ImageComparison
from towpath.kraft.facts.nouns import Alarm, Goal, NodeId, Stage
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.findings import Finding, Refused
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.run.comparison_shape import StoreComparisonJson
from towpath.kraft.standing.states import KraftStanding
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.model.errors import TowpathError
from towpath.runtime.deadline import Deadline

_LOOK = 60.0
"""Seconds that one look may take."""
_AGAIN = 30.0
"""Seconds for which a refusal is looked at again: elections and restarts pass by themselves."""
_PAUSE = 1.0
_DIFFERENCES = 100
"""Number of differences of one comparison that the journal lists."""

_FOLLOWS: Mapping[Stage, frozenset[Stage]] = {
    Stage.ZOOKEEPER: frozenset({Stage.PROVISIONED}),
    Stage.PROVISIONED: frozenset({Stage.REGISTERING, Stage.COPYING, Stage.HYBRID}),
    Stage.REGISTERING: frozenset({Stage.COPYING, Stage.HYBRID}),
    Stage.COPYING: frozenset({Stage.HYBRID}),
    Stage.FINALIZING: frozenset({Stage.FINAL}),
}
"""What comes by itself behind a stage: the copy, once all brokers are registered, and the end."""
_TOLD_BY_LOG = frozenset(
    {Stage.COPYING, Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE, Stage.FINALIZING}
)
"""Where controllers without a leader may be: only their log tells, once they are started."""


class Looks(Protocol):
    """Protocol of the observer that the loop needs."""

    def look(self, deadline: Deadline) -> Observation:
        """Return an observation of the cluster."""


class Does(Protocol):
    """Protocol of the executor of steps that the loop needs."""

    def do(self, step: KraftStep, tell: Callable[[str], None], stop: Event) -> Mapping[str, object]:
        """Do a step and return its facts; raise if it failed, or if `stop` was set."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The result of a run.

    Attributes:
        standing: What was seen last.
        steps: Number of steps done.
        refused: Why no further step was safe; empty where the goal was reached.
        stopped: Whether the user asked to stop before the goal was reached.
        notes: What else a person should know.
        left: Of a step whose wait the user ended: what was waited for, and what it had changed.
    """

    standing: KraftStanding
    steps: int
    refused: tuple[Finding, ...] = ()
    stopped: bool = False
    notes: tuple[Finding, ...] = ()
    left: str = ""

    @property
    def reached(self) -> bool:
        """Whether the run reached its goal."""
        return not self.refused and not self.stopped


class KraftRun:
    """A run that brings a cluster to a goal, step by step.

    Args:
        config: The file.
        eyes: Looks at the cluster.
        hands: Does steps.
        journal: Keeps history.
        tell: Is called with a sentence about what goes on.
        before: Is called before each step, and raises where it must not be done.
        lost: Controllers whose disks are lost for good: to be formatted anew.
    """

    def __init__(
        self,
        config: KraftConfig,
        eyes: Looks,
        hands: Does,
        journal: KraftJournal,
        tell: Callable[[Facts, str], None],
        before: Callable[[], None] = lambda: None,
        lost: frozenset[NodeId] = frozenset(),
    ) -> None:
        self._before, self._lost = before, lost
        self._config, self._eyes, self._hands = config, eyes, hands
        self._journal, self._tell = journal, tell
        self._stage: Stage | None = None
        self._told: Mapping[str, object] | None = None
        self._compared: Mapping[str, object] | None = None
        self._done = 0
        self._goal: Goal | None = None
        self._rolled_at = -math.inf
        self._undone: tuple[Finding, ...] = ()

    def bring_to(self, goal: Goal, stop: Event) -> RunEnd:
        """Do steps until the goal is reached, no step is safe, or `stop` is set.

        Raises:
            UnexpectedStageError: A step led to another stage than it should.
            TowpathError: A step could not be done.
        """
        self._goal = goal
        end = self._steps(goal, stop)
        self._journal.add(KraftEvent.RUN_ENDED, **_told(end), compared=self._compared)
        return end

    def _steps(self, goal: Goal, stop: Event) -> RunEnd:
        while True:
            facts, decision = self._decided(goal, stop)
            match decision:
                case Reached():
                    return RunEnd(facts.standing, self._done, notes=next_steps(facts))
                case Refused(reasons):
                    return RunEnd(facts.standing, self._done, reasons)
                case Move() if stop.is_set():
                    return RunEnd(facts.standing, self._done, stopped=True)
                case Move(step) if step.starts and self._undone:
                    return RunEnd(facts.standing, self._done, self._undone)
                case Move(step):
                    if not self._paused(facts, step, stop):
                        continue
                    try:
                        self._do(facts, decision, stop)
                    except StepStoppedError as ended:
                        return RunEnd(facts.standing, self._done, stopped=True, left=ended.what)
                    self._done += 1

    def _paused(self, facts: Facts, step: KraftStep, stop: Event) -> bool:
        """Wait between restarts of brokers; return False where all must be looked at again.

        Clients that know brokers which are away only may take seconds to come back to one
        (librdkafka's `reconnect.backoff.max.ms` is 10 s), so the next one is not taken from them.
        """
        pause = self._config.limits.pause
        left = self._rolled_at + pause - time.monotonic()
        if left <= 0 or not step.brings_broker_back:
            return True
        self._tell(facts, f"waiting {pause:g} s for clients to come back")
        stop.wait(left)
        return False

    def _look(self) -> Facts:
        facts = Facts.of(self._config, self._eyes.look(Deadline.after(_LOOK)), self._lost)
        standing, compared = facts.standing, facts.seen.comparison
        if facts.seen.zookeeper is not None:
            self._journal.belong_to(facts.seen.zookeeper.cluster_id)
        if self._goal is not None:  # nothing is written into the journal of another cluster
            self._journal.add(KraftEvent.RUN_BEGAN, goal=self._goal)
            self._goal = None
        if standing.stage is not self._stage:
            self._stage = standing.stage
            self._journal.add(KraftEvent.STAGE, stage=standing.stage, kip=standing.kip)
        self._compared = _both_told(compared)
        if compared is not None and (told := comparison_data(compared)) != self._told:
            self._told = told
            self._journal.add(KraftEvent.COMPARED, **_shortened(compared))
        self._tell(facts, "")
        return facts

    def _decided(self, goal: Goal, stop: Event) -> tuple[Facts, Decision]:
        """Decide; a refusal behind a step of ours is looked at again, as elections pass."""
        patience = Deadline.after(_AGAIN if self._done else 0)
        while True:
            facts = self._look()
            early = too_early(facts, goal)
            decision = Refused.by(early) if early else decide(facts, goal)
            if not isinstance(decision, Refused) or patience.over or stop.wait(_PAUSE):
                return facts, decision

    def _do(self, facts: Facts, move: Move, stop: Event) -> None:
        step = move.step
        told = {
            "step": type(step).__name__,
            "what": step.sentence,
            "compared": _both_told(facts.seen.comparison),
        }
        self._before()
        self._journal.add(KraftEvent.STEP_BEGAN, **told)
        if step.finalizes:
            self._journal.add(KraftEvent.FINALIZING)
        self._tell(facts, step.sentence)
        began = time.monotonic()
        try:
            done = self._hands.do(step, lambda text: self._tell(facts, text), stop)
        except TowpathError as error:
            with suppress(KraftJournalError):  # it may be why the step failed
                self._journal.add(KraftEvent.STEP_FAILED, **told, why=str(error))
            with suppress(TowpathError):  # the first error tells why it ends
                self._stop_emptying(step)
            raise
        seconds = round(time.monotonic() - began, 3)
        self._journal.add(KraftEvent.STEP_DONE, **told, seconds=seconds, facts=dict(done))
        if step.brings_broker_back:
            self._rolled_at = time.monotonic()
        if (proof := step.proof(facts.seen)) is not None:
            event, kept = proof
            self._journal.add(event, **kept)
        self._stop_emptying(step)
        self._check(facts, move)

    def _stop_emptying(self, step: KraftStep) -> None:
        """Stop controllers that a step started where they would empty ZooKeeper.

        Folders may tell too little, or may have been changed behind the look. What was started and
        stopped so is not started again: the reasons end the run.
        """
        nodes = step.starts
        if not nodes:
            return
        facts = self._look()
        found = alarmed(facts, Alarm.WIPE_AHEAD).reasons
        if not found:
            return
        self._undone = found
        stop = StopControllers(nodes)
        told = {"step": type(stop).__name__, "what": stop.sentence, "compared": None}
        self._tell(facts, stop.sentence)
        # Whoever asked the run to stop wants them stopped, too.
        done = self._hands.do(stop, lambda text: self._tell(facts, text), Event())
        self._journal.add(KraftEvent.STEP_DONE, **told, seconds=0, facts=dict(done))

    def _check(self, before: Facts, move: Move) -> None:
        """Look whether the cluster is where the step should lead.

        Raises:
            UnexpectedStageError: It is not, or an alarm was raised by it.
        """
        after = self._look().standing
        fine = {before.standing.stage, move.to.stage}
        for stage in (*fine, Stage.REGISTERING):
            fine |= _FOLLOWS.get(stage, frozenset())
        if move.step.starts and before.standing.stage is Stage.HEADLESS:
            fine |= _TOLD_BY_LOG
        if after.stage not in fine and after.stage is not Stage.UNKNOWN:
            raise UnexpectedStageError(move.step.sentence, move.to.stage, after.stage)


def comparison_data(compared: ImageComparison) -> StoreComparisonJson:
    """Return a comparison for journal and report: counts, digests, named differences."""
    return {
        "equal": compared.equal,
        "compared": {str(kind): number for kind, number in compared.compared.items()},
        "digests": {str(kind): digest for kind, digest in compared.digests.items()},
        "unproven": list(compared.unproven),
        "differences": [
            {"kind": each.kind, "name": each.name, "zookeeper": each.zookeeper, "log": each.log}
            for each in compared.differences
        ],
    }


def _shortened(compared: ImageComparison) -> Mapping[str, object]:
    """Return a comparison with some of its differences, and how many more there are.

    Each look reads the whole journal, and a busy cluster may differ in thousands of partitions.
    """
    more = len(compared.differences) - _DIFFERENCES
    if more <= 0:
        return comparison_data(compared)
    some = replace(compared, differences=compared.differences[:_DIFFERENCES])
    return {**comparison_data(some), "more": more}


def _both_told(compared: ImageComparison | None) -> Mapping[str, object] | None:
    """Return what a step was decided by: how much of both stores was compared, None for nothing.

    The digests are those of the last comparison that the journal has.
    """
    if compared is None:
        return None
    return {"equal": compared.equal, "things": sum(compared.compared.values())}


def _told(end: RunEnd) -> dict[str, object]:
    return {
        "stage": end.standing.stage,
        "steps": end.steps,
        "stopped": end.stopped,
        "refused": [str(each) for each in end.refused],
    }
