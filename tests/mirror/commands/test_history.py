"""`towpath history`: events as sentences, and what is said where there are none."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from rich.console import Console

from tests.support.kafka import PATIENCE, wait_until
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.cli.options import time_of
from towpath.cli.show import events
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import MissingEvents
from towpath.ledger.event_log import EventLog
from towpath.ledger.events import Event, Origin, What
from towpath.mirror.show import history_picture as shown
from towpath.mirror.show.history_picture import History, picture, sentence
from towpath.model.errors import ConfigError
from towpath.model.nouns import EVENTS, LinkName, Side
from towpath.model.reasons import Reason, ReasonCode, as_data

NOON = 1_700_049_600_000
"""2023-11-15, 12:00 UTC."""
RETENTION = as_data(Reason(ReasonCode.RETENTION))
STEP = {"subject": "topics", "do": "CreateTopic", "part": "", "plan": "", "owned": True, "step": {}}
MOVED = {
    "state": "promoted", "back": False, "topics": ["orders"], "groups": ["billing"], "held": 65,
    "silent": 3488, "user": "ann", "host": "ops-1", "why": "",
}  # fmt: skip
STATE = {"mode": "identical", "before": "", "producer_id": 5, "why": ""}
SENTENCES: list[tuple[str, str, Mapping[str, Any], str]] = [
    (
        What.LINK_CHANGED, "", {"source_cluster": "S", "target_cluster": "T", "level": 3},
        "the link joins source S and target T, feature level 3",
    ),
    (What.RUN_STARTED, "", {"run_id": "x", "until_caught_up": False}, "the run started"),
    (
        What.RUN_STARTED, "", {"run_id": "x", "until_caught_up": True},
        "the run started, to end when caught up",
    ),
    (What.RUN_ENDED, "", {"run_id": "x", "error": ""}, "the run ended"),
    (What.RATE_SET, "", {"topics": [], "rate": 5_000_000}, "the link was limited to 5MB/s"),
    (
        What.RATE_SET, "", {"topics": ["a", "b"], "rate": 0},
        "topics a, b were freed of their limit",
    ),
    (
        What.RATE_SET, "", {"topics": ["a"], "rate": None},
        "the limits of topics a were taken back; those of the file hold",
    ),
    (
        What.RATE_SET, "", {"topics": [], "rate": None},
        "the limits that were set were taken back; those of the file hold",
    ),
    (What.RUN_ENDED, "", {"run_id": "x", "error": "BUSY"}, "the run ended with error BUSY"),
    (
        What.ROUND_STARTED, "", {"number": 3, "slices": 2, "partitions": 1},
        "round 3 started with 2 slices for 1 partition",
    ),
    (What.ROUND_ENDED, "", {"number": 3}, "round 3 ended"),
    (
        What.ROUND_FAILED, "", {"number": 3, "code": "SPARK_TASK", "error": "a slice failed"},
        "round 3 failed (SPARK_TASK): a slice failed",
    ),
    (
        What.ROUND_UNEVEN, "",
        {"number": 3, "slice": 0, "lagging": 4, "load": 2_000_000, "next_load": 1_020_000},
        "slice 0 of round 3 has too much to copy (partitions that lag: 4) while another slice has"
        " room; the next round spreads all partitions anew, with at most 51% of that load in a"
        " slice",
    ),
    (
        What.LEASE_TAKEN_OVER, "", {"command": "run", "where": "on h, pid 3"},
        "the lease was taken over from `towpath run` (on h, pid 3), which ended without giving it"
        " back",
    ),
    (What.STEP_DONE, "eu.orders", STEP, "done: create topic eu.orders"),
    (
        What.STEP_FAILED, "eu.orders", {**STEP, "error": "no room"},
        "failed: create topic eu.orders: no room",
    ),
    (What.STEP_DONE, "x", {**STEP, "do": "LaterStep"}, "done: LaterStep topic x"),
    (
        What.PARTITION_STATE, "orders-0", {**STATE, "state": "stopped", "why": "orders-0: full"},
        "orders-0 stopped: full",
    ),
    (
        What.PARTITION_STATE, "orders-0", {**STATE, "state": "copied", "before": "stopped"},
        "orders-0 is copied again with identical offsets",
    ),
    (
        What.PARTITION_STATE, "orders-0",
        {**STATE, "state": "copied", "mode": "mapped", "why": "asked for"},
        "orders-0 is copied with mapped offsets, because asked for",
    ),
    (
        What.PARTITION_STATE, "orders-0", {**STATE, "state": "excluded"},
        "orders-0 is excluded",
    ),
    (
        What.PARTITION_GAP, "orders-0",
        {"first": 5, "end": 10, "why": RETENTION, "went_on": True},
        "orders-0: offsets 5 to 9 not copied: retention at the source removed them before they"
        " were copied; copying went on behind",
    ),
    (
        What.PARTITION_GAP, "orders-0",
        {"first": 5, "end": 5, "why": {"code": "LATER"}, "went_on": False},
        "orders-0 ended at offset 5: LATER",
    ),
    (
        What.PARTITION_REPAIRED, "orders-0", {"start": 0, "offset": 7, "acknowledged": 12},
        "orders-0 is copied again from offset 7 on; the target had lost up to 11",
    ),
    (What.CUTOVER_STARTED, "", {"topics": 2}, "the cutover of 2 topics started"),
    (What.CUTOVER_ENDED, "", {"complete": True, "trouble": []}, "the cutover is complete"),
    (
        What.CUTOVER_ENDED, "", {"complete": False, "trouble": ["a differs", "b differs"]},
        "the cutover ended before it was complete: a differs; b differs",
    ),
    (What.FAILOVER_STARTED, "", {"topics": []}, "a failover of the link began"),
    (What.FAILOVER_UNDONE, "", {"topics": ["a", "b"]}, "the failover of a, b was taken back"),
    (
        What.FAILOVER_ENDED, "",
        {"state": "failed_over", "lost": 1200, "again": 0, "trouble": []},
        "the link failed over: 1,200 offsets not mirrored, 0 records read twice",
    ),
    (
        What.FAILOVER_ENDED, "", {"state": "sealed", "lost": -1, "again": 0, "trouble": ["a", "b"]},
        "the failover ended before it was complete: a; b",
    ),
    (What.FAILBACK_STARTED, "", {"wins": ""}, "the failback started"),
    (
        What.FAILBACK_STARTED, "", {"wins": "target"},
        "the failback started; the records of the target stay",
    ),
    (
        What.FAILBACK_ENDED, "", {"back": "shop-back", "salvaged": 1},
        "the link is turned round: link shop-back copies back what clients wrote",
    ),
    (What.SALVAGE_REPLAYED, "", {"records": 2}, "2 records of salvage topics replayed"),
    (
        What.GROUP_OVERTAKEN, "mover",
        {"partition": "a-0", "committed": 12, "copied": 10, "offsets": 2, "partitions": 1},
        "another program has committed offset 12 of a-0 for group mover, where the link had copied"
        " up to 10; 2 offsets of 1 partition copied all the same, and twice on the target where"
        " that program wrote them",
    ),
    (
        What.STRAYS_KEPT, "", {"records": 2},
        "2 records kept aside that came to the source of topics whose clients use the target",
    ),
    (
        What.STRAYS_KEPT, "", {"records": 1, "topics": ["a", "b"], "deleted": 3},
        "1 record kept aside that came to the source of a, b; the source had deleted 3 offsets"
        " before",
    ),
    (
        What.PROMOTION_ENDED, "", MOVED,
        "promoted (asked by ann on ops-1): orders, group billing: producers were held for 65 ms,"
        " consumers for 3,488 ms",
    ),
    (
        What.PROMOTION_ENDED, "", {**MOVED, "topics": [], "why": "it goes on"},
        "promoted (asked by ann on ops-1): group billing; it goes on",
    ),
    (
        What.PROMOTION_ENDED, "",
        {**MOVED, "state": "undone", "topics": [], "groups": [], "host": "", "why": "it was late"},
        "the promotion of all topics was undone (asked by ann): it was late",
    ),
    (
        What.PROMOTION_ENDED, "",
        {**MOVED, "state": "refused", "back": True, "why": "no link back"},
        "the way back of orders, group billing was refused (asked by ann on ops-1): no link back",
    ),
    ("group.moved", "billing", {"to": "x"}, "group.moved billing to=x"),
    (What.ROUND_ENDED, "", {"count": 3}, "round.ended count=3"),
]  # fmt: skip


def event(what: str, about: str = "", **facts: Any) -> Event:
    origin = Origin(user="ann", login="mirror", host="h1", pid=7, version="0.2")
    return Event(
        id="a", at=NOON, link=LinkName("shop"), what=what, about=about, facts=facts, origin=origin
    )


def as_text(history: History, width: int = 80) -> str:
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as printed:
        console.print(picture("shop", history))
    return printed.get()


@pytest.mark.parametrize(("what", "about", "facts", "said"), SENTENCES)
def test_an_event_is_a_sentence(what: str, about: str, facts: Mapping[str, Any], said: str) -> None:
    assert sentence(event(what, about, **facts)) == said


def test_every_kind_of_event_has_a_sentence() -> None:
    assert {*shown._SENTENCES, *events._COMMON} == set(What)


def test_a_line_tells_when_who_where_and_what_and_marks_trouble() -> None:
    events = event(What.ROUND_ENDED, number=3), event(What.RUN_ENDED, error="BUSY")
    assert as_text(History(events=events, earlier=2)).splitlines() == [
        "2 earlier events not shown; raise --limit to see more",
        "2023-11-15T12:00:00Z  ann@h1  round 3 ended",
        "2023-11-15T12:00:00Z  ann@h1  ! the run ended with error BUSY",
    ]


def test_nothing_is_cut_at_80_columns() -> None:
    long = event(What.ROUND_FAILED, number=3, code="X", error="word " * 40 + "y" * 100)
    text = as_text(History(events=(long,)))
    assert max(map(len, text.splitlines())) <= 80
    assert "y" * 100 in text.replace("\n", "")


def test_an_empty_history_and_missing_events_are_said_plainly() -> None:
    assert "does not exist on the target" in as_text(History(events=(), topic=False))
    assert as_text(History(events=()), 200) == (
        f"no event of link shop is in topic {EVENTS} on the target\n"
    )
    missing = MissingEvents(2, "denied")
    said = as_text(History(events=(), since=NOON, foreign=1, missing=missing), 200)
    assert said.splitlines() == [
        f"no event of link shop since 2023-11-15T12:00:00Z is in topic {EVENTS} on the target",
        f"the last command of the link: 2 events are not written to topic {EVENTS}: denied",
        f"1 record in topic {EVENTS} cannot be read by this version of Towpath",
    ]


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2h", NOON - 7_200_000), ("2023-11-15", NOON - 43_200_000),
        ("2023-11-15T13:00", NOON + 3_600_000), ("2023-11-15T13:00+01:00", NOON),
    ],
)  # fmt: skip
def test_since_takes_an_age_or_a_date(text: str, ms: int) -> None:
    assert time_of(text, NOON) == ms


def test_since_says_what_it_takes() -> None:
    with pytest.raises(ConfigError, match="'yesterday' is neither an age such as 2h or 3d nor"):
        time_of("yesterday", NOON)


@pytest.mark.broker
def test_from_no_topic_of_events_to_a_history(
    tmp_path: Path,
    source: LocalCluster,
    lone: LocalCluster,
    new_name: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = Mirror(tmp_path, source, lone, new_name("history"))
    config, file = mirror.config, str(tmp_path / f"{mirror.topic}.yaml")
    with Admin(config.target, Side.TARGET) as admin:
        if EVENTS in admin.topics.describe([EVENTS]):
            door = AdminClient({"bootstrap.servers": lone.bootstrap})
            door.delete_topics([EVENTS])[EVENTS].result(PATIENCE)
            wait_until(lambda: EVENTS not in admin.topics.describe([EVENTS]), "it is gone")
        assert main(["history", file]) == 0
        assert f"topic {EVENTS} does not exist on the target" in capsys.readouterr().out
        log, other = (
            EventLog(config.target, admin, LinkName(name)) for name in (mirror.topic, "other")
        )
        for number in range(3):
            log.tell(What.ROUND_ENDED, number=number)
            other.tell(What.ROUND_ENDED, number=number)
        log.close()
        other.close()
    assert main(["history", file, "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 earlier event not shown; raise --limit to see more"
    assert [line.partition("  ")[2].partition("  ")[2] for line in lines[1:]] == [
        "round 1 ended", "round 2 ended",
    ]  # fmt: skip
    assert main(["history", file, "--since", "1h", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["link"], told["topic_exists"], told["missing"]) == (mirror.topic, True, None)
    assert [each["text"] for each in told["events"]] == [f"round {n} ended" for n in range(3)]
    assert told["events"][0]["origin"]["host"]
    assert main(["history", file, "--since", "2000-01-01T00:00Z"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
