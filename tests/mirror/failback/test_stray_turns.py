"""When a run keeps aside what came to the source of promoted topics, and what it says. Pure."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tests.support.failback import SALVAGED, found, log
from towpath.ledger.books import LinkBooks
from towpath.mirror.failback.kept_portions import PORTION, joined, portions
from towpath.mirror.failback.salvage.replay import salvaged_partitions
from towpath.mirror.failback.stray_loop import KeepingLimit, StrayTurns, told
from towpath.mirror.status.cutovers import left_at_source
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition
from towpath.model.rates import NO_LIMIT, RateLimits


def row(
    end: int, kept: int = 0, *, topic: str = "t", state: State = State.PROMOTED, strays: int = 0
) -> PartitionStatus:
    """Return the row of a partition that moved at offset 10, and ends at the source."""
    return PartitionStatus(
        topic=TopicName(topic), partition=0, target_topic=TopicName(topic), state=state,
        mode="identical", reason="", producer_id=1, source_end=10, target_end=10,
        lag_records=end - 10, lag_seconds=0.0, records=10, bytes=0, gaps=(), error="",
        source_log_end=end, kept=kept, keepable=True, strays=strays,
    )  # fmt: skip


T = TopicPartition(TopicName("t"), 0)


def test_what_came_to_a_promoted_topic_is_due_at_once_and_again_as_more_comes() -> None:
    turns = StrayTurns()
    assert turns.due([row(10)], 0.0) == {}
    assert turns.due([row(12)], 0.0) == {T: 12}
    turns.kept({T: 12}, 1.0)
    assert turns.due([row(12)], 500.0) == {}, "the rows have not read the ledger yet"
    assert turns.due([row(13, 2)], 10.9) == {}, "records that go on coming are kept together"
    assert turns.due([row(13, 2)], 11.0) == {T: 13}
    assert turns.due([row(13, 3)], 11.0) == {}


@pytest.mark.parametrize("state", [each for each in State if each is not State.PROMOTED])
def test_after_a_failover_somebody_decides_whose_records_stay(state: State) -> None:
    assert StrayTurns().due([row(12, state=state)], 0.0) == {}


def test_a_topic_that_fails_is_tried_again_ever_more_seldom_and_others_are_not_held_up() -> None:
    turns, bad = StrayTurns(), TopicName("bad")
    rows, waits, now = [row(12), row(12, topic="bad")], [], 0.0
    assert {tp.topic for tp in turns.due(rows, now)} == {"t", "bad"}
    for _ in range(7):
        turns.failed([bad], now)
        assert {tp.topic for tp in turns.due(rows, now)} == {"t"}
        later = next(each for each in range(1, 1000) if len(turns.due(rows, now + each)) > 1)
        waits.append(later)
        now += later
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    turns.kept({TopicPartition(bad, 0): 12}, now)
    turns.failed([bad], now)
    assert turns.due([row(13, topic="bad")], now + 10.0), "it counts from the start again"


def test_limits_of_copying_leave_a_tenth_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            slept.append(timeout or 0.0)
            return False

    monkeypatch.setattr("towpath.mirror.failback.stray_loop.time.monotonic", lambda: sum(slept))
    limit, topic = KeepingLimit(Stop()), TopicName("t")
    limit.wait(1 << 20)
    limit.follow(NO_LIMIT, [topic])
    assert slept == []
    limit.follow(RateLimits(8e6, {topic: 4e6, TopicName("other"): 1.0}), [topic])
    for _ in range(100):
        limit.wait(500_000)
    # Each record is read twice, to be copied and compared.
    assert pytest.approx(sum(slept), rel=0.05) == 2 * 100 * 500_000 / 0.4e6
    limit.follow(NO_LIMIT, [topic])
    before = len(slept)
    limit.wait(1 << 30)
    assert len(slept) == before


def test_what_was_kept_is_told_with_the_command_that_replays_it() -> None:
    assert told({TopicName("a"): 2, TopicName("b"): 0}) == [
        "kept aside: 2 records of a that came to the source after it was promoted; replay with"
        " `towpath salvage replay FILE --topics a`"
    ]


def test_the_ledger_has_one_entry_of_a_partition_however_often_something_came() -> None:
    more = replace(SALVAGED, first=15, end=20, records=3, deleted=2, at=9)
    both = replace(SALVAGED, end=20, records=8, deleted=2, at=9)
    assert joined([SALVAGED], more) == both
    assert joined([], more) == more
    gap = replace(more, first=16)
    assert joined([SALVAGED], gap) == gap
    other = replace(SALVAGED, side=Side.TARGET)
    assert joined([other], more) == more
    books = LinkBooks(LinkName("l"))
    for entry in (SALVAGED, both, replace(SALVAGED, end=14)):
        books.take(entry)
    known = books.of(SALVAGED.tp).salvages
    assert [*known.values()] == [both], "a late entry of another process hides nothing"


def test_much_is_kept_in_portions_of_which_the_ledger_tells() -> None:
    small = found(log(12), log(10))
    large = found(log(10 + 2 * PORTION + 5, 15), log(10))
    told = [
        [(own.first, own.end, own.deleted) for _, own in some]
        for some in portions([(each, each.source) for each in (small, large)])
    ]
    first, second = 15 + PORTION, 15 + 2 * PORTION
    assert told == [[(10, 12, 0), (10, first, 5)], [(first, second, 0)]]
    assert [*portions([])] == []


def test_offsets_without_records_have_no_salvage_topic_to_show() -> None:
    books = LinkBooks(LinkName("l"))
    books.take(replace(SALVAGED, records=0))
    assert salvaged_partitions(books) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(12)], "; not kept: 2 offsets; `towpath salvage keep FILE` keeps them aside, as a run"
         " does by itself (`gateway.keep_strays`)"),
        ([row(12, state=State.FAILED_OVER)],
         "; not kept: 2 offsets; `towpath salvage keep FILE` keeps them aside"),
        ([row(12, 2, strays=2), row(11, 1, topic="u", strays=1)],
         "; all of it is kept aside: 2 records of t, 1 record of u, replay with"
         " `towpath salvage replay FILE`"),
        ([row(13, 2, strays=2)],
         "; kept aside: 2 records of t, replay with `towpath salvage replay FILE`; not kept: 1"
         " offset; `towpath salvage keep FILE` keeps them aside, as a run does by itself"
         " (`gateway.keep_strays`)"),
        ([row(12, 2)], "; it has no records"),
    ],
)  # fmt: skip
def test_status_says_what_is_kept_aside_and_what_is_left(
    rows: list[PartitionStatus], said: str
) -> None:
    assert left_at_source(rows).endswith(said)
