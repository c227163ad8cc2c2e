"""The picture of a run at 80 columns."""

from __future__ import annotations

from rich.console import Console

from towpath.cluster.connect.answering import Silence
from towpath.mirror.run.progress import RunPhase, RunProgress
from towpath.mirror.show.run_picture import picture
from towpath.mirror.show.topics import Rates, TopicLines
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import TopicName
from towpath.model.rates import RateLimits


def row(topic: str, state: State, at: int = 0, lag: int = 0) -> PartitionStatus:
    return PartitionStatus(
        topic=TopicName(topic), partition=0, target_topic=TopicName(topic), state=state,
        mode="identical", reason="", producer_id=hash(topic), source_end=at, target_end=at,
        lag_records=lag, lag_seconds=0.0, records=at, bytes=at * 1024, gaps=(),
        error={State.STOPPED: "full", State.NO_LEADER: "gone"}.get(state, ""),
    )  # fmt: skip


def progress(*rows: PartitionStatus) -> RunProgress:
    made = RunProgress(began=0.0, phase=RunPhase.COPYING, slots=2, rows=rows)
    made.start()
    return made


def shown(
    run: RunProgress, rates: Rates, now: float, screen: tuple[int, int] = (80, 24)
) -> list[str]:
    console = Console(width=screen[0], highlight=False, markup=False, color_system=None)
    with console.capture() as printed:
        console.print(picture("shop", run, TopicLines.of(run), rates, now, screen))
    return [line.rstrip() for line in printed.get().splitlines()]


def test_80_columns_hold_totals_rates_and_whole_numbers() -> None:
    run = progress(
        row("clicks", State.BEHIND, lag=123_456_789), row("orders", State.CAUGHT_UP),
        row("refunds", State.STOPPED), row("users", State.NO_LEADER, lag=-1),
    )  # fmt: skip
    rates = Rates()
    rates.take(100.0, TopicLines.of(run))
    run.rows = (
        row("clicks", State.BEHIND, at=23_456_789, lag=100_000_000),
        row("orders", State.CAUGHT_UP, at=5), *run.rows[2:],
    )  # fmt: skip
    rates.take(110.0, TopicLines.of(run))
    lines = shown(run, rates, 110.0)
    assert max(map(len, lines)) <= 80
    assert lines[:6] == [
        "shop  1m 50s  copying  round 1  2 slices",
        "23,456,794 records, 22.4 GiB copied; 2,345,679 records/s, 2.2 GiB/s; lag",
        "100,000,000, ETA 43 s",
        "4 partitions: ✗ 1 stopped, ! 1 no leader now, → 1 behind, ✓ 1 caught up",
        "stopped: refunds-0: full",
        "no leader now: users-0: gone",
    ]
    table = [line.replace("\u00a0", " ") for line in lines[-4:]]
    assert [line.split()[:2] for line in table] == [
        ["✗", "refunds"], ["!", "users"], ["→", "clicks"], ["✓", "orders"],
    ]  # fmt: skip
    assert "23,456,789" in table[2]
    assert "100,000,000" in table[2]
    assert "2.2 GiB/s" in table[2]


def test_limits_are_shown_and_no_eta_is_sooner_than_they_allow() -> None:
    run = progress(row("clicks", State.BEHIND, at=1000, lag=3000))
    run.limited = ("the link is limited to 10KB/s by `run.max_rate` of the file",)
    run.waiting = ("waiting for the limit of the link 90% of the time",)
    run.rates = RateLimits(102_400, {TopicName("clicks"): 1024.0})
    rates = Rates()
    rates.take(100.0, TopicLines.of(run))
    run.rows = (row("clicks", State.BEHIND, at=2000, lag=2000),)
    rates.take(110.0, TopicLines.of(run))
    lines = shown(run, rates, 110.0)
    assert "lag 2,000, ETA 20 s" in " ".join(lines[1:3])
    assert "limit: the link is limited to 10KB/s by `run.max_rate` of the file" in lines
    assert "limit: waiting for the limit of the link 90% of the time" in lines
    assert "33m 20s" in lines[-1], "the topic has a lower limit of its own"
    run.rates = RateLimits(10_240)
    assert "ETA 3m 20s" in " ".join(shown(run, rates, 110.0)[1:3])


def test_of_200_topics_those_that_matter_are_shown() -> None:
    rows = [row(f"t{number:03}", State.CAUGHT_UP) for number in range(198)]
    rows += [row("slow", State.BEHIND, lag=7), row("stuck", State.STOPPED)]
    lines = shown(progress(*rows), Rates(), 1.0)
    assert len(lines) < 24
    table = [line.replace("\u00a0", " ") for line in lines]
    assert [line.split()[1] for line in table[7:9]] == ["stuck", "slow"]
    assert lines[-1] == f"… and {200 - (len(lines) - 8)} more that are caught up"
    few = shown(
        progress(*rows[:-2], *(row(f"x{n}", State.BEHIND, lag=1) for n in range(30))), Rates(), 1.0
    )
    assert few[-1].startswith("… and ")
    assert "behind, ✓ 198 caught up" in few[-1]


def test_silence_brokers_that_are_away_and_trouble_stand_above_the_table() -> None:
    run = progress(row("orders", State.BEHIND, lag=1))
    run.silences = lambda: (Silence("target", "broker 1 (b:9092)", 12.3),)
    run.away = lambda: ("source: broker 2 (c:9092) is away",)
    run.trouble = "target: asking for metadata: no answer in time"
    lines = shown(run, Rates(), 5.0)
    assert lines[3:6] == [
        "! no answer from the target (broker 1 (b:9092)) for 12 s",
        "! source: broker 2 (c:9092) is away",
        "✗ target: asking for metadata: no answer in time",
    ]


def test_a_run_that_has_looked_at_nothing_yet_has_a_clock() -> None:
    run = RunProgress(began=0.0)
    assert shown(run, Rates(), 3.0) == ["shop  3.0 s  looking at both clusters"]


def test_the_clock_goes_on_from_the_start_of_the_command() -> None:
    run, console = RunProgress(began=20.0), Console(width=80)
    with console.capture() as printed:
        console.print(picture("shop", run, TopicLines.of(run), Rates(), 21.0, (80, 24), 0.0))
    assert printed.get() == "shop  21 s  looking at both clusters\n"


def test_rates_fall_while_nothing_new_comes() -> None:
    run = progress(row("orders", State.BEHIND, lag=100))
    rates = Rates()
    rates.take(0.0, TopicLines.of(run))
    run.rows = (row("orders", State.BEHIND, at=50, lag=50),)
    lines = TopicLines.of(run)
    rates.take(5.0, lines)
    assert (rates.of(5.0).records, rates.of(5.0).left) == (10.0, 5.0)
    rates.take(10.0, lines)
    assert rates.of(10.0).records == 5.0
    assert rates.of(10.0, TopicName("other")).records == 0.0
