"""Records that go on unopened where clients read mirror topics, and what is opened."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.producer import ProduceResponse

from tests.support.clients.mirror_gate import (
    FIRST,
    Gate,
    batch,
    produce,
    produced,
)
from tests.support.clients.promoted_routes import PRODUCER, framed, promoted
from tests.support.clients.steered import places
from towpath.gateway.frames import FrameError
from towpath.gateway.produce_parts import ProducePart
from towpath.gateway.produce_parts import codes as codes_of


def forbid_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be decoded."""

    def opened(*_: object) -> Any:
        raise AssertionError("it is opened")

    monkeypatch.setattr("towpath.gateway.produce_requests.decoded", opened)


@pytest.mark.parametrize("acks", [-1, 1])
def test_what_goes_to_one_leader_is_opened_neither_there_nor_back(
    acks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    asked = produce(("topic-b", 0, batch(0, 0)), ("topic-a", 0, batch(0, 0)), acks=acks)
    said = produced(("topic-b", 0, 0), ("topic-a", 0, 6))
    forbid_opening(monkeypatch)
    found = gate.step(asked, 9)
    assert places(found) == [FIRST]
    assert found is not None
    assert found.sends[0].frame == framed(asked, 9)
    change = found.sends[0].change
    assert change is not None
    assert change(said, 9) == said
    assert gate.asks == 1, "who leads topic-a is looked at"


@pytest.mark.parametrize(
    "parts",
    [
        (("topic-a", 0, batch(0, 0)), ("topic-b", 1, batch(0, 0))),
        (("topic-a", 0, batch(0, 0)), ("other", 0, batch(0, 0))),
        (("topic-a", 0, batch(0, 0)), ("topic-c", 0, batch(0, 0))),
        (("moved", 0, batch(0, 10)), ("topic-a", 0, batch(0, 0))),
    ],
)
def test_what_goes_elsewhere_as_well_is_opened(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(promoted())
    forbid_opening(monkeypatch)
    with pytest.raises(AssertionError, match="it is opened"):
        gate.step(produce(*parts), 9)


def test_records_of_a_promoted_topic_pass_as_they_do_without_mirrors() -> None:
    gate = Gate()
    assert not gate.steering.passing(gate.client).versions
    gate = Gate(promoted())
    rule = gate.steering.passing(gate.client)
    assert rule.versions
    assert rule.part is not None
    known = PRODUCER + 1  # of which the record does not tell
    assert rule.part(ProducePart("moved", 0, known, transactional=False))
    assert not rule.part(ProducePart("topic-a", 0, known, transactional=False))
    gate.routes.held = frozenset({"moved"})
    assert not gate.steering.passing(gate.client).versions


@given(
    st.integers(3, 9),
    st.lists(
        st.tuples(st.text(min_size=1, max_size=200), st.lists(st.integers(-1, 100), max_size=4)),
        max_size=4,
    ),
    st.lists(st.none() | st.text(max_size=9), max_size=3),
)
def test_codes_are_found_as_decoding_finds_them(
    version: int, topics: list[tuple[str, list[int]]], texts: list[str | None]
) -> None:
    kind = ProduceResponse.TopicProduceResponse
    each = kind.PartitionProduceResponse
    errors = [each.BatchIndexAndErrorMessage(batch_index=n, batch_index_error_message=text)
              for n, text in enumerate(texts)]  # fmt: skip
    made = ProduceResponse(
        responses=[
            kind(
                name=name,
                partition_responses=[
                    each(index=n, error_code=code, base_offset=n, log_append_time_ms=-1,
                         log_start_offset=0, record_errors=errors,
                         error_message=texts[0] if texts else None)
                    for n, code in enumerate(found)
                ],
            )
            for name, found in topics
        ],
        throttle_time_ms=0,
    )  # fmt: skip
    frame = framed(made, version)
    assert codes_of(frame, version) == {code for _, found in topics for code in found}
    if topics:
        with pytest.raises(FrameError):
            codes_of(frame[: len(frame) // 3], version)
