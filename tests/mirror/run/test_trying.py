"""When partitions that stopped are tried again. Pure."""

from __future__ import annotations

import pytest

from towpath.mirror.run.trying import Trying
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import TopicName


def row(topic: str, state: State, *codes: str) -> PartitionStatus:
    return PartitionStatus(
        topic=TopicName(topic), partition=0, target_topic=TopicName(topic), state=state,
        mode="identical", reason="", producer_id=1, source_end=0, target_end=0, lag_records=0,
        lag_seconds=0.0, records=0, bytes=0, gaps=(), error="", codes=codes,
    )  # fmt: skip


def test_what_lacked_an_answer_is_tried_again_soon_and_all_that_stopped_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("towpath.mirror.run.trying.time.monotonic", lambda: clock[0])
    rows = (
        row("away", State.STOPPED, "SCHEMA_ID_REFUSED", "SCHEMAS_UNSEEN"),
        row("slow", State.STOPPED, "SCHEMA_ID_REFUSED", "SCHEMA_ID_UNANSWERED"),
        row("full", State.STOPPED, "RECORD_TOO_LARGE"),
        row("new", State.NOT_STARTED),
        row("going", State.CAUGHT_UP),
    )
    trying = Trying()

    def due(at: float) -> set[str]:
        clock[0] = at
        return {tp.topic for tp in trying.due(rows)}

    assert due(29) == set()
    assert due(31) == {"away", "slow"} == due(62)
    assert due(63) == set(), "it was tried just now"
    assert due(601) == {"away", "slow", "full", "new"}
    assert due(602) == set()
