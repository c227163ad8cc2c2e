"""Records of salvage topics: nothing of the record itself is changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from towpath.mirror.failback.salvage.format import (
    MARK,
    ReplayedMark,
    SalvagedRecord,
    SalvageOrigin,
    decode,
    salvage_topic,
)
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.wire import plain

ORIGIN = SalvageOrigin(ClusterId("c"), TopicName("orders"), TopicId("i"), 3, 4711)
_BYTES = st.none() | st.binary(max_size=5)
_HEADERS = st.lists(
    st.tuples(st.binary(max_size=3) | st.just(b"towpath.salvage.offset") | st.just(MARK), _BYTES),
    max_size=3,
)


@given(_BYTES, _BYTES, _HEADERS, st.integers(-1, 2**62))
def test_a_record_comes_back_byte_by_byte(
    key: bytes | None, value: bytes | None, headers: list[plain.Header], timestamp: int
) -> None:
    own = plain.Record(key, value, tuple(headers), timestamp, 4711)
    made = SalvagedRecord(origin=ORIGIN, record=own).encode()
    assert (made.key, made.value, made.timestamp) == (key, value, timestamp)
    assert made.headers[6:] == own.headers
    assert decode(made) == SalvagedRecord(origin=ORIGIN, record=own, offset=0)


def test_a_record_that_was_salvaged_before_keeps_what_it_told_then() -> None:
    first = SalvagedRecord(origin=ORIGIN, record=plain.Record(b"k", b"v", (), 5, 4711)).encode()
    other = ORIGIN._replace(cluster=ClusterId("d"), offset=0)
    again = decode(SalvagedRecord(origin=other, record=first).encode())
    assert isinstance(again, SalvagedRecord)
    assert again.origin == other
    assert again.record == first


def test_marks_and_records_of_others_are_told_apart() -> None:
    mark = ReplayedMark(
        topic=TopicName("orders"), partition=3, first=0, end=9, records=7, user="u", host="h", at=1
    )
    assert decode(mark.encode()) == mark
    for headers in ((), ((MARK, b"x"),), ((MARK, None), (b"a", b"b")), ((b"a", b"b"),)):
        assert decode(plain.Record(b"k", b"v", headers)) is None


def test_a_salvage_topic_has_a_name_that_kafka_allows() -> None:
    assert salvage_topic(TopicName("orders")) == "orders.salvage"
    assert len(salvage_topic(TopicName("x" * 249))) == 249
