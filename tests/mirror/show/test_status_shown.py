"""The status of a link as text, at 80 columns and in a pipe."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from towpath.cli.main import main
from towpath.ledger.alive import Life, RunLife, this_host
from towpath.ledger.entries import LinkStage, LinkState, Session
from towpath.ledger.rates import Limits
from towpath.mirror.show.status_json import link_as_json
from towpath.mirror.show.status_picture import link_picture, picture
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.totals import SortOrder, ordered
from towpath.mirror.status.whole_link import LinkStatus
from towpath.model.nouns import LinkName, TopicName
from towpath.runtime.clock import now_ms
from towpath.settings import RateConfig

SINCE = 1_700_049_600_000
"""2023-11-15, 12:00 UTC."""


def row(topic: str, state: State = State.CAUGHT_UP, lag: int = 0, at: int = 10) -> PartitionStatus:
    return PartitionStatus(
        topic=TopicName(topic), partition=0, target_topic=TopicName(topic), state=state,
        mode="identical", reason="", producer_id=1, source_end=at, target_end=at,
        lag_records=lag, lag_seconds=1.5 if lag else 0.0, records=at, bytes=at * 1000, gaps=(),
        error="full" if state is State.STOPPED else "", source_log_end=at + max(0, lag),
        target_log_end=at,
    )  # fmt: skip


ROWS = (
    row("audit-log-of-all-payments", at=3_000_000_000),
    row("clicks", State.BEHIND, lag=1_234_567, at=123_456_789),
    row("orders", State.BEHIND, lag=5),
    row("refunds", State.STOPPED),
    row("users", State.NO_LEADER, lag=-1),
)
RUN = RunLife(state=Life.ALIVE, host="h1", pid=7, since=SINCE, beat=SINCE, silence=1.2)
SEEN = LinkStatus(link=LinkName("shop"), run=RUN, lease=None, rows=ROWS, failed=())


def as_text(shown: RenderableType, width: int) -> list[str]:
    console = Console(width=width, highlight=False, markup=False, color_system=None)
    with console.capture() as printed:
        console.print(shown)
    return [line.rstrip() for line in printed.get().splitlines()]


def test_80_columns_hold_whole_numbers_and_what_matters_comes_first() -> None:
    assert as_text(link_picture(SEEN), 80) == [
        "link shop; run: alive on h1, pid 7, since 2023-11-15T12:00:00Z, last heartbeat",
        "1.2 s ago",
        "3,123,456,819 records, 2.8 TiB copied; lag 1,234,572 (about 1.1 GiB, 1.5 s),",
        "unknown of 1 partition",
        "5 partitions: ✗ 1 stopped, ! 1 no leader now, → 2 behind, ✓ 1 caught up",
        "",
        "partition               state                copied to     source end        lag",
        "─" * 80,
        "refunds-0               ✗ stopped                   10             10          0",
        "users-0                 ! no leader now             10             10          ?",
        "clicks-0                → behind           123,456,789    124,691,356  1,234,567",
        "orders-0                → behind                    10             15          5",
        "audit-log-of-all-payments-0",
        "                        ✓ caught up      3,000,000,000  3,000,000,000          0",
        "refunds-0: full",
    ]


def test_a_pipe_has_every_column_in_one_line_each() -> None:
    lines = as_text(link_picture(SEEN), 10_000)
    assert [re.split(" {3,}", lines[at]) for at in (4, 8)] == [
        [
            "partition", "state", "mode", "copied to", "source end", "target end", "lag",
            "lag time",
        ],
        [
            "clicks-0", "→ behind", "identical", "123,456,789", "124,691,356", "123,456,789",
            "1,234,567", "1.5 s",
        ],
    ]  # fmt: skip


def test_a_screen_shows_the_partitions_that_matter() -> None:
    rows = tuple(row(f"t{number:03}") for number in range(200)) + ROWS
    seen = LinkStatus(link=LinkName("shop"), run=None, lease=None, rows=rows, failed=())
    lines = as_text(link_picture(seen, most=4), 80)
    assert lines[0] == "link shop; run: none is alive"
    assert lines[-1] == "… and 201 more partitions"
    assert sum("-0 " in line for line in lines) == 4


def test_rows_are_in_the_order_that_is_asked_for() -> None:
    def names(order: SortOrder) -> list[str]:
        return [each.topic[:2] for each in ordered(ROWS, order)]

    assert names(SortOrder.TROUBLE) == ["re", "us", "cl", "or", "au"]
    assert names(SortOrder.LAG) == ["us", "cl", "or", "au", "re"]
    assert names(SortOrder.NAME) == ["au", "cl", "or", "re", "us"]


def test_a_table_without_partitions_is_left_out() -> None:
    assert as_text(picture(()), 80) == []


def test_what_failed_over_is_not_still_to_be_copied() -> None:
    over = row("payments", State.FAILED_OVER, lag=3)
    seen = replace(SEEN, rows=(over, row("orders", State.BEHIND, lag=5)))
    shown = as_text(link_picture(seen), 160)
    assert any("copied; lag 5 (" in each for each in shown)
    assert "3 offsets of the source, of what failed over, will not be copied" in shown
    assert over.why == "payments-0: offsets 10 to 12 not copied when it failed over"
    assert link_as_json(seen)["totals"]["lag_records"] == 5


def test_what_a_gateway_promoted_is_called_so() -> None:
    moved = row("payments", State.PROMOTED, lag=3)
    shown = as_text(link_picture(replace(SEEN, rows=(moved, row("a", State.BEHIND, lag=5)))), 160)
    assert any("» promoted" in each for each in shown)
    assert any("copied; lag 5 (" in each for each in shown)
    assert "3 offsets of the source, of what was promoted, will not be copied" in shown
    assert moved.why == "payments-0: offsets 10 to 12 not copied when it was promoted"


def test_the_state_of_a_promoted_topic_is_called_so_too() -> None:
    topics = "orders", "refunds"
    states = tuple(
        LinkState(
            link=LinkName("shop"), topic=TopicName(topic), state=LinkStage.FAILED_OVER,
            since=SINCE, user="ann", host="h1", version="1",
        )
        for topic in topics
    )  # fmt: skip
    rows = row("orders", State.PROMOTED), row("refunds", State.FAILED_OVER)
    lines = as_text(link_picture(replace(SEEN, rows=rows, states=states)), 200)
    assert [line for line in lines if line.startswith("topic ")] == [
        "topic orders: promoted since 2023-11-15T12:00:00Z, by ann on h1",
        "topic refunds: failed over since 2023-11-15T12:00:00Z, by ann on h1",
    ]


def test_what_was_stopped_by_hand_is_told_apart_from_lag() -> None:
    stopped = row("payments", State.STOPPED_BY_HAND, lag=3)
    shown = as_text(link_picture(replace(SEEN, rows=(stopped, row("a", State.BEHIND, lag=5)))), 160)
    assert any("copied; lag 5 (" in each for each in shown)
    assert "3 offsets of the source, of what was stopped by hand, will not be copied" in shown
    assert stopped.why == "payments-0: offsets 10 to 12 not copied, as the topic is stopped"


def test_json_has_totals_the_run_and_both_ends() -> None:
    told = link_as_json(SEEN)
    assert told["run"] is not None
    assert told["run"]["state"] == "alive"
    assert told["totals"]["states"] == {
        "stopped": 1, "no leader now": 1, "caught up": 1, "behind": 2
    }  # fmt: skip
    clicks = told["partitions"][1]
    assert (clicks["source_log_end"], clicks["target_log_end"]) == (124_691_356, 123_456_789)
    assert link_as_json(replace(SEEN, rows=()))["totals"]["partitions"] == 0


def test_the_age_of_the_lag_is_at_least_the_longest_known() -> None:
    """A partition that was never copied made it 0.0 s, or that of the others."""
    fresh = replace(
        row("new", State.NOT_STARTED, lag=7), lag_seconds=-1.0, records=0, lag_log_bytes=700
    )
    seen = replace(SEEN, rows=(*ROWS[:-1], fresh))
    assert "lag 1,234,579 (about 1.1 GiB, at least 1.5 s)" in as_text(link_picture(seen), 200)[1]
    told = link_as_json(seen)["totals"]
    assert (told["lag_seconds"], told["lag_seconds_longest_known"], told["lag_unknown"]) == (
        None,
        1.5,
        1,
    )
    unseen = replace(seen, rows=(replace(fresh, lag_log_bytes=-1),))
    assert "lag 7 (? B, ? s)" in as_text(link_picture(unseen), 200)[1]
    told = link_as_json(unseen)["totals"]
    assert (told["lag_seconds_longest_known"], told["lag_bytes_estimated"]) == (None, None)


def test_limits_are_told_with_how_long_the_lag_takes_at_least() -> None:
    pair = {"link": "1MB", "topics": {"clicks": "500KB"}}
    seen = replace(SEEN, limits=Limits(RateConfig.model_validate(pair)))
    lines = as_text(link_picture(seen), 200)
    assert "the link is limited to 1MB/s by `run.max_rate` of the file" in lines
    assert (
        "each topic that matches clicks is limited to 500KB/s by `run.max_rate` of the file"
        in lines
    )
    least = "with these limits, what is not copied yet takes 41m 09s at least"
    assert least in lines
    data = link_as_json(seen)
    assert data["max_rate"]["link"] == 1_000_000
    assert data["max_rate"]["file"]["topics"] == {"clicks": 500_000}
    assert data["lag_seconds_at_least"] == pytest.approx(2469.13, abs=0.1)
    assert link_as_json(SEEN)["lag_seconds_at_least"] is None


def session(*, over: bool = False, ago: int = 0, host: str = "far", pid: int = 1) -> Session:
    return Session(
        link=LinkName("shop"), run_id="r", host=host, pid=pid, started=SINCE,
        beat=now_ms() - ago, ended_round=0, over=over,
    )  # fmt: skip


def test_a_sentence_tells_whether_a_run_lives() -> None:
    since = "on far, pid 1, since 2023-11-15T12:00:00Z"
    told = [
        (session(), rf"alive {since}, last heartbeat \d\.\d s ago"),
        (session(ago=180_000), rf"silent for 3m \d\ds: the run {since} is dead, frozen or cut off"),
        (session(over=True), rf"none is alive; the last one, {since}, ended 20\S+Z"),
        (session(host=this_host(), pid=2**22 + 1), r"none is alive; .*, died at about 20\S+Z"),
    ]
    for last, said in told:
        assert re.fullmatch(said, str(RunLife.of(last)))


def test_wrong_options_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "x.yaml", "--topics", "*"]) == 2
    assert "'*' is not a regular expression: nothing to repeat" in capsys.readouterr().err
    assert main(["status", "x.yaml", "--watch", "-o", "json"]) == 2
    assert "shows text only" in capsys.readouterr().out
