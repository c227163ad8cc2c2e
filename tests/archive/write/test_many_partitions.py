"""The cost of a run's turns with very many partitions: each is looked at once, and if need be."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import ArchiveState
from towpath.archive.model import PartitionId
from towpath.archive.write.cycles import Cycle, Cycles
from towpath.archive.write.scheduling import Scheduler
from towpath.archive.write.slice.archive_work import EgressResult, EgressSlice
from towpath.archive.write.slice.cycle_plan import PartitionView
from towpath.archive.write.source_look import PartitionEnds, SourceLook
from towpath.archive.write.standing import PartitionStanding
from towpath.archive.write.standings import Standings
from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import TaskFailedError, TowpathError, UnreachableError
from towpath.model.nouns import ClusterId, ProducerId, SourceOffset, TopicId, TopicName

CLUSTER = ClusterId("many")
TOPICS, EACH = 120, 10


class Counted(Standings):
    """Partitions that count how often all of them are compared by name."""

    compared = 0

    def again(self, partitions: Collection[PartitionId]) -> frozenset[PartitionId]:
        self.compared += 1
        return super().again(partitions)


class Begun(Cycles):
    """Cycles that begin nothing, and keep what they were to begin."""

    def __init__(self) -> None:
        super().__init__(None, threading.Event())
        self.slices: list[EgressSlice] = []
        self.over: list[Cycle] = []
        self.partitions: set[tuple[PartitionId, bool]] = set()

    def begin(
        self, slices: Sequence[EgressSlice], partitions: frozenset[PartitionId], *, retry: bool
    ) -> None:
        self.slices += slices
        self.partitions |= {(each, retry) for each in partitions}

    def ended(self) -> list[Cycle]:
        over, self.over = self.over, []
        return over


def config() -> ArchiveConfig:
    told = {
        "archive": "many",
        "kind": "archive",
        "region": "here",
        "source": {"bootstrap": "127.0.0.1:1"},
        "store": {"url": "file:///nowhere"},
        "topics": {"include": [".*"]},
    }
    return ArchiveConfig.model_validate(told)


def look(end: int) -> SourceLook:
    topics = {
        TopicId(f"id{n}"): TopicInfo(
            TopicName(f"t{n}"), TopicId(f"id{n}"), internal=False, partitions=()
        )
        for n in range(TOPICS)
    }
    ends = PartitionEnds(SourceOffset(0), SourceOffset(end), SourceOffset(end))
    ids = (PartitionId(CLUSTER, each, n) for each in topics for n in range(EACH))
    return SourceLook(cluster=CLUSTER, topics=topics, ends=dict.fromkeys(ids, ends))


@pytest.fixture
def standings() -> Counted:
    return Counted(ArchiveState())


def scheduler(standings: Standings, **more: Any) -> tuple[Scheduler, Begun]:
    made = Scheduler(
        config(), standings, None, threading.Event(), lambda *_: None, all_due=True, **more
    )
    made.cycles.close()
    made.cycles = begun = Begun()
    return made, begun


def test_a_cycle_of_many_tasks_compares_all_partitions_once(standings: Counted) -> None:
    asked = list[Collection[TopicId]]()

    def left_out(topics: Collection[TopicId]) -> Mapping[TopicId, frozenset[ProducerId]]:
        asked.append(topics)
        return {TopicId("id3"): frozenset({ProducerId(7)})}

    standings.saw(look(20))
    made, begun = scheduler(standings, left_out=left_out)
    made.begin(8)
    assert len(begun.slices) > 2
    assert sum(len(each.ranges) for each in begun.slices) == TOPICS * EACH
    assert begun.partitions == {(each.id, False) for each in standings}
    assert standings.compared == 1
    assert [len(each) for each in asked] == [TOPICS]
    with_topic = [each for each in begun.slices if any(of.topic == "t3" for of in each.ranges)]
    assert [each for each in begun.slices if each.left_out] == with_topic


def test_what_has_nothing_to_archive_is_not_planned(
    standings: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewed, view = list[PartitionId](), PartitionStanding.view

    def counted(each: PartitionStanding, now: float) -> PartitionView:
        viewed.append(each.id)
        return view(each, now)

    monkeypatch.setattr(PartitionStanding, "view", counted)
    standings.saw(look(0))
    made, begun = scheduler(standings)
    made.begin(8)
    assert (viewed, begun.slices) == ([], [])
    standings.saw(look(20))
    made.begin(8)
    assert len(viewed) == TOPICS * EACH


def fail(made: Scheduler, standings: Standings, error: TowpathError | None) -> Begun:
    """Let a cycle of all partitions fail, as a whole or each by itself; all are due again."""
    begun, everybody = made.cycles, frozenset(each.id for each in standings)
    assert isinstance(begun, Begun)
    cycle = Cycle(everybody, retry=False, slices=1, error=error, ended=True)
    if error is None:
        why = UnreachableError("source", "fetching", "no answer").reason
        cycle.results = tuple(
            EgressResult(id=each, start=SourceOffset(0), trouble=why) for each in everybody
        )
    begun.over = [cycle]
    assert made.take()
    for each in standings:
        each.again = 0.0
    return begun


def tried(made: Scheduler, begun: Begun, cycles: int) -> list[int]:
    """Return how many partitions each of the next cycles tries again."""
    sizes = list[int]()
    for _ in range(cycles):
        begun.partitions.clear()
        made.begin(8)
        sizes.append(sum(retry for _, retry in begun.partitions))
    return sizes


@pytest.mark.parametrize("whole", [False, True])
def test_where_the_source_was_away_many_are_tried_again_at_a_time(
    standings: Counted, whole: bool
) -> None:
    standings.saw(look(20))
    made, _ = scheduler(standings)
    away = TaskFailedError("source: broker 1 cannot be reached", UnreachableError.code, 4)
    begun = fail(made, standings, away if whole else None)
    assert tried(made, begun, 4) == [500, 500, 200, 0]


def test_halves_find_the_partition_that_kills_its_slice(standings: Counted) -> None:
    standings.saw(look(20))
    made, _ = scheduler(standings)
    begun = fail(made, standings, TowpathError("Spark failed: a worker crashed"))
    assert tried(made, begun, 3) == [64, 64, 64]
    for number, each in enumerate(standings):
        each.busy, each.failures = False, int(number < 3)
        each.suspect = number < 3
    assert tried(made, begun, 3) == [2, 1, 0]
