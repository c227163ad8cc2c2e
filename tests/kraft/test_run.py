"""The loop of a migration, on the model of a cluster that outlines use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event

import pytest

from tests.support.kraft.worlds import (
    at_stage,
    kraft_config,
    migration_znode,
    start_of,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.config import KraftConfig
from towpath.kraft.decide.moves import Facts
from towpath.kraft.errors import KraftJournalError, StepStoppedError, UnexpectedStageError
from towpath.kraft.facts.image import ImageComparison, ImageDifference, ImageKind
from towpath.kraft.facts.nouns import BrokerMode, Goal, Stage
from towpath.kraft.facts.seen import CopiedRange, Observation
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.run.loop import KraftRun
from towpath.kraft.show.data import end_data
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.model.errors import StoppedError
from towpath.runtime.deadline import Deadline

CONFIG = kraft_config()
_BEGAN = KraftEvent.STEP_BEGAN


def behind(seen: Observation, step: KraftStep) -> Observation:
    """Return what would be seen once a step is done."""
    return step.after(CONFIG, seen)


class World:
    """A cluster without faults: eyes and hands of a run."""

    def __init__(self, seen: Observation, journal: KraftJournal) -> None:
        self.seen, self.journal, self.done = seen, journal, list[KraftStep]()
        self.next: Callable[[Observation, KraftStep], Observation] = behind

    def look(self, _: Deadline) -> Observation:
        return replace(self.seen, proven=self.journal.proven)

    def do(self, step: KraftStep, tell: Callable[[str], None], stop: Event) -> Mapping[str, object]:
        del stop
        tell("doing it")
        self.done.append(step)
        self.seen = self.next(self.seen, step)
        return {"seconds": 1}

    def run(self, told: list[str] | None = None, config: KraftConfig = CONFIG) -> KraftRun:
        said = [] if told is None else told
        return KraftRun(config, self, self, self.journal, lambda _facts, text: said.append(text))


@pytest.fixture
def journal(tmp_path: Path) -> KraftJournal:
    return KraftJournal(tmp_path / "journal")


def events(journal: KraftJournal, event: KraftEvent) -> list[Mapping[str, object]]:
    return [each.facts for each in journal.entries() if each.event is event]


def test_a_run_goes_to_its_goal_and_writes_down_how(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)
    end = world.run().bring_to(Goal.DUAL_WRITE, Event())
    assert end.reached
    assert end.standing.stage is Stage.DUAL_WRITE
    assert len(events(journal, KraftEvent.STEP_DONE)) == end.steps == len(world.done)
    stages = [each["stage"] for each in events(journal, KraftEvent.STAGE)]
    assert stages[0] == "zookeeper"
    assert stages[-1] == "dual_write"
    assert journal.proven.probed is not None


def test_clients_get_time_between_the_restarts_of_two_brokers(journal: KraftJournal) -> None:
    world, told = World(start_of(CONFIG), journal), list[str]()
    began = time.monotonic()
    end = world.run(told, kraft_config(pause="40ms")).bring_to(Goal.DUAL_WRITE, Event())
    assert end.reached
    restarts = sum(isinstance(step, RollBroker) for step in world.done)
    assert "waiting 0.04 s for clients to come back" in told
    assert time.monotonic() - began >= 0.04 * (restarts - 1)


def test_who_ends_a_wait_is_told_what_the_step_had_changed(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)

    def waiting(seen: Observation, step: KraftStep) -> Observation:
        if isinstance(step, Compare):
            raise StepStoppedError("both are equal", "nothing was changed by this step")
        return behind(seen, step)

    world.next = waiting
    end = world.run().bring_to(Goal.DUAL_WRITE, Event())
    assert end.stopped
    assert not end.reached
    assert end.left.endswith("waited for: both are equal; nothing was changed by this step")
    assert end_data(end)["left"] == end.left
    assert events(journal, KraftEvent.RUN_ENDED)[-1]["stopped"] is True
    [failed] = events(journal, KraftEvent.STEP_FAILED)
    assert str(failed["why"]).startswith("stopped: while this was waited for: both are equal")
    world.next = behind
    assert world.run().bring_to(Goal.DUAL_WRITE, Event()).reached, "it goes on from there"


def test_who_stops_a_run_need_not_wait_for_clients(journal: KraftJournal) -> None:
    world, stop = World(start_of(CONFIG), journal), Event()

    def stopping(seen: Observation, step: KraftStep) -> Observation:
        if isinstance(step, RollBroker):
            stop.set()
        return behind(seen, step)

    world.next = stopping
    end = world.run(config=kraft_config(pause="1h")).bring_to(Goal.DUAL_WRITE, stop)
    assert end.stopped
    assert sum(isinstance(step, RollBroker) for step in world.done) == 1


BOTH = frozenset({Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE, Stage.FINALIZING})


@pytest.mark.parametrize("goal", [Goal.DUAL_WRITE, Goal.FINAL, Goal.ZOOKEEPER])
def test_no_step_is_done_while_both_are_written_that_was_not_compared(
    journal: KraftJournal, goal: Goal
) -> None:
    """As each step is decided by one look, and the journal says what that look compared."""
    begin = Stage.HYBRID if goal is Goal.DUAL_WRITE else Stage.DUAL_WRITE
    world = World(at_stage(CONFIG, begin), journal)
    stages: list[tuple[Stage, bool]] = []

    def watched(seen: Observation, step: KraftStep) -> Observation:
        stages.append((stage_of(seen).stage, seen.comparison is not None))
        return behind(seen, step)

    world.next = watched
    assert world.run().bring_to(goal, Event()).reached
    done = events(journal, KraftEvent.STEP_DONE)
    assert len(done) == len(stages)
    both = [each for each, (stage, _) in zip(done, stages, strict=True) if stage in BOTH]
    assert both
    assert all(compared for stage, compared in stages if stage in BOTH)
    assert all(each["compared"] == {"equal": True, "things": 0} for each in both)


@pytest.mark.parametrize("goal", [Goal.DUAL_WRITE, Goal.FINAL, Goal.ZOOKEEPER])
@pytest.mark.parametrize("stage", [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE])
def test_without_a_comparison_no_step_is_done(
    journal: KraftJournal, goal: Goal, stage: Stage
) -> None:
    world = World(replace(at_stage(CONFIG, stage), comparison=None), journal)
    end = world.run().bring_to(goal, Event())
    assert world.done == []
    assert not end.reached


def test_the_journal_lists_some_of_many_differences(journal: KraftJournal) -> None:
    kind = ImageKind.PARTITIONS
    many = tuple(ImageDifference(kind, f"t-{each}: isr", "1", "2") for each in range(1_000))
    unequal = ImageComparison({kind: 5_000}, {kind: "00"}, many)
    world = World(replace(at_stage(CONFIG, Stage.DUAL_WRITE), comparison=unequal), journal)
    stop = Event()

    def halted(seen: Observation, _step: KraftStep) -> Observation:
        stop.set()
        return seen

    world.next = halted
    assert world.run().bring_to(Goal.DUAL_WRITE, stop).stopped
    (told,) = events(journal, KraftEvent.COMPARED)
    differences = told["differences"]
    assert isinstance(differences, list)
    assert (len(differences), told["more"], told["equal"]) == (100, 900, False)


def test_a_second_run_finds_nothing_to_do(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)
    world.run().bring_to(Goal.DUAL_WRITE, Event())
    before = len(world.done)
    assert world.run().bring_to(Goal.DUAL_WRITE, Event()).steps == 0
    assert len(world.done) == before


def test_there_and_back_and_there_again(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)
    for goal, stage in [
        (Goal.DUAL_WRITE, Stage.DUAL_WRITE),
        (Goal.ZOOKEEPER, Stage.ZOOKEEPER),
        (Goal.DUAL_WRITE, Stage.DUAL_WRITE),
        (Goal.FINAL, Stage.FINAL),
    ]:
        end = world.run().bring_to(goal, Event())
        assert (end.reached, end.standing.stage) == (True, stage), end.refused
    assert any(isinstance(each, StopControllers) for each in world.done)


def test_a_second_migration_takes_no_proof_from_the_first_one(journal: KraftJournal) -> None:
    """Its quorum may have been elected as often as a broker was, when that probe passed."""
    world = World(start_of(CONFIG), journal)
    for goal in Goal.DUAL_WRITE, Goal.ZOOKEEPER:
        world.run().bring_to(goal, Event())
    epoch = journal.proven.probed
    assert epoch is not None

    def elected_often(seen: Observation, step: KraftStep) -> Observation:
        seen = behind(seen, step)
        return replace(seen, quorum=replace(seen.quorum, epoch=epoch)) if seen.quorum else seen

    world.next = elected_often
    world.done.clear()
    assert world.run().bring_to(Goal.DUAL_WRITE, Event()).reached
    in_kraft = [isinstance(each, RollBroker) and each.mode is BrokerMode.KRAFT
                for each in world.done]  # fmt: skip
    assert Compare() in world.done[: in_kraft.index(True)]


def test_a_stop_in_the_middle_of_the_copy_proves_nothing(journal: KraftJournal) -> None:
    """Nothing was compared before it, and the copy may have ended meanwhile."""
    hybrid = at_stage(CONFIG, Stage.HYBRID)
    assert hybrid.log is not None
    copied = CopiedRange(begin=3, state=8, end=hybrid.log.end - 1)
    seen = with_zookeeper(with_log(hybrid, copied=copied), migration=migration_znode(-1))
    world = World(replace(seen, comparison=None), journal)
    stop = Event()

    def stopping(seen: Observation, step: KraftStep) -> Observation:
        stop.set()
        return behind(seen, step)

    world.next = stopping
    assert world.run().bring_to(Goal.ZOOKEEPER, stop).standing.stage is Stage.HEADLESS
    assert [type(step) for step in world.done] == [StopControllers]
    assert journal.proven.stopped is None
    assert events(journal, KraftEvent.STOPPED) == []


@pytest.mark.parametrize(
    "stage", [Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING, Stage.HYBRID]
)
def test_nothing_is_finalized_that_was_not_migrated(journal: KraftJournal, stage: Stage) -> None:
    """One wrong command on a cluster in ZooKeeper mode must not take it to the end."""
    world = World(at_stage(CONFIG, stage), journal)
    end = world.run().bring_to(Goal.FINAL, Event())
    assert (end.reached, end.steps, world.done) == (False, 0, [])
    (refused,) = end.refused
    assert refused.code is FindingCode.TOO_EARLY
    assert f"stage {stage}" in str(refused)
    assert "run `towpath kraft run`" in str(refused)


def test_nothing_is_done_with_the_journal_of_another_cluster(journal: KraftJournal) -> None:
    journal.belong_to("another")
    world = World(start_of(CONFIG), journal)
    before = (journal.folder / "journal.jsonl").read_bytes()
    with pytest.raises(KraftJournalError, match="the history of cluster another"):
        world.run().bring_to(Goal.DUAL_WRITE, Event())
    assert not world.done
    assert (journal.folder / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("stage", [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE])
@pytest.mark.parametrize("running", [False, True])
def test_controllers_that_are_started_again_may_be_anywhere_behind_the_copy(
    journal: KraftJournal, stage: Stage, running: bool
) -> None:
    """Only their log tells where; while they start themselves nobody has told it yet."""
    seen = at_stage(CONFIG, stage)
    for node in seen.controllers:
        seen = with_controller(seen, node, running=running, flag=None)
    world = World(replace(seen, quorum=None, log=None, comparison=None), journal)
    end = world.run().bring_to(Goal.DUAL_WRITE, Event())
    assert (end.reached, end.standing.stage) == (True, Stage.DUAL_WRITE)
    assert world.done[0] == StartControllers(tuple(seen.controllers)), "all that are without one"
    stages = [each["stage"] for each in events(journal, KraftEvent.STAGE)]
    assert stages[:2] == [Stage.HEADLESS, stage]


def test_a_stop_ends_it_behind_a_step(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)
    stop = Event()

    def halted(seen: Observation, step: KraftStep) -> Observation:
        stop.set()
        return behind(seen, step)

    world.next = halted
    end = world.run().bring_to(Goal.DUAL_WRITE, stop)
    assert (end.stopped, end.reached, len(world.done)) == (True, False, 1)


def test_a_step_that_leads_elsewhere_stops_everything(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)
    world.next = lambda _seen, _step: at_stage(CONFIG, Stage.FINAL)
    with pytest.raises(UnexpectedStageError, match="is in stage final"):
        world.run().bring_to(Goal.DUAL_WRITE, Event())
    assert len(world.done) == 1


def test_a_step_that_fails_is_written_down(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)

    def failing(_seen: Observation, _step: KraftStep) -> Observation:
        raise StoppedError("it")

    world.next = failing
    with pytest.raises(StoppedError):
        world.run().bring_to(Goal.DUAL_WRITE, Event())
    (failed,) = events(journal, KraftEvent.STEP_FAILED)
    assert failed["step"] == type(world.done[0]).__name__


def test_a_lost_journal_costs_a_comparison_and_nothing_else(
    journal: KraftJournal, tmp_path: Path
) -> None:
    world = World(start_of(CONFIG), journal)
    world.run().bring_to(Goal.DUAL_WRITE, Event())
    world.journal = KraftJournal(tmp_path / "another")
    world.done.clear()
    end = world.run().bring_to(Goal.FINAL, Event())
    assert end.reached, end.refused
    assert isinstance(world.done[0], Compare)


def test_what_goes_on_is_told(journal: KraftJournal) -> None:
    told: list[str] = []
    World(start_of(CONFIG), journal).run(told).bring_to(Goal.DUAL_WRITE, Event())
    assert "doing it" in told
    assert any("restart broker" in each for each in told)


def test_facts_are_made_of_what_is_seen_now(journal: KraftJournal) -> None:
    world = World(start_of(CONFIG), journal)
    assert Facts.of(CONFIG, world.look(Deadline.after(1))).standing.stage is Stage.ZOOKEEPER


def test_what_is_refused_for_good_is_told_at_once(journal: KraftJournal) -> None:
    world = World(at_stage(CONFIG, Stage.FINAL), journal)
    before = time.monotonic()
    end = world.run().bring_to(Goal.ZOOKEEPER, Event())
    assert not end.reached
    assert end.refused
    assert time.monotonic() - before < 10


class FullAt(KraftJournal):
    """A journal whose disk is full at one entry."""

    def __init__(self, folder: Path, at: int) -> None:
        super().__init__(folder)
        self.left = at

    def add(self, event: KraftEvent, **facts: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise KraftJournalError(str(self.folder), "No space left on device")
        super().add(event, **facts)


@pytest.mark.slow
@pytest.mark.parametrize("goal", [Goal.DUAL_WRITE, Goal.FINAL, Goal.ZOOKEEPER])
def test_a_disk_that_is_full_at_any_entry_stops_the_run_and_nothing_is_lost(
    tmp_path: Path, goal: Goal
) -> None:
    begin = at_stage(CONFIG, Stage.ZOOKEEPER if goal is Goal.DUAL_WRITE else Stage.DUAL_WRITE)
    for at in count(1, 3):
        full = FullAt(tmp_path / f"{at}", at)
        world = World(begin, full)
        try:
            assert world.run().bring_to(goal, Event()).reached
            assert at > 10
            break  # no entry is left at which it could be full
        except KraftJournalError:
            began = [each.facts["what"] for each in full.entries() if each.event is _BEGAN]
            assert len(world.done) <= len(began), "nothing is done that was not written down"
            world.journal = KraftJournal(full.folder)
            assert world.run().bring_to(goal, Event()).reached
            assert at < 200
