"""MirrorMaker 2's records, byte by byte."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.mirror.mm2.records import Checkpoint, Heartbeat, NotOfMirrorMakerError, OffsetSync
from towpath.model.nouns import SourceOffset, TargetOffset, TopicName, TopicPartition

CHECKPOINT = Checkpoint(
    group="g1",
    tp=TopicPartition(TopicName("us.orders"), 3),
    source=SourceOffset(1000),
    target=TargetOffset(900),
)
SYNC = OffsetSync(
    tp=TopicPartition(TopicName("orders"), 3), source=SourceOffset(1000), target=TargetOffset(900)
)
HEARTBEAT = Heartbeat(source="us", target="eu", at=1_700_000_000_000)
GOLDEN = [
    (
        CHECKPOINT,
        "00026731 0009 75732e6f7264657273 00000003",
        "0000 00000000000003e8 0000000000000384 0000",
    ),
    (SYNC, "0006 6f7264657273 00000003", "00000000000003e8 0000000000000384"),
    (HEARTBEAT, "0002 7573 0002 6575", "0000 0000018bcfe56800"),
]


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_bytes_are_those_of_mirror_maker(
    record: Checkpoint | OffsetSync | Heartbeat, key: str, value: str
) -> None:
    assert record.key == bytes.fromhex(key)
    assert record.value == bytes.fromhex(value)
    assert type(record).read(record.key, record.value) == record


TEXTS = st.text(max_size=50)
OFFSETS = st.integers(-1, 2**63 - 1)
TPS = st.builds(TopicPartition, TEXTS.map(TopicName), st.integers(0, 2**31 - 1))
RECORDS = st.one_of(
    st.builds(
        Checkpoint,
        group=TEXTS,
        tp=TPS,
        source=OFFSETS.map(SourceOffset),
        target=OFFSETS.map(TargetOffset),
        metadata=TEXTS,
    ),
    st.builds(
        OffsetSync, tp=TPS, source=OFFSETS.map(SourceOffset), target=OFFSETS.map(TargetOffset)
    ),
    st.builds(Heartbeat, source=TEXTS, target=TEXTS, at=OFFSETS),
)


@given(RECORDS, st.binary(max_size=10))
def test_what_is_written_is_read_and_what_follows_is_ignored(
    record: Checkpoint | OffsetSync | Heartbeat, more: bytes
) -> None:
    assert type(record).read(record.key + more, record.value + more) == record


@given(st.sampled_from([Checkpoint, OffsetSync, Heartbeat]), st.binary(), st.binary())
def test_other_bytes_are_refused_with_one_kind_of_error(
    kind: type[Checkpoint] | type[OffsetSync] | type[Heartbeat], key: bytes, value: bytes
) -> None:
    with suppress(NotOfMirrorMakerError):
        kind.read(key, value)


@given(RECORDS, st.data())
def test_bytes_that_end_too_early_are_refused(
    record: Checkpoint | OffsetSync | Heartbeat, data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, len(record.value) - 1))
    with pytest.raises(NotOfMirrorMakerError):
        type(record).read(record.key, record.value[:size])


def test_a_version_of_the_future_is_read_as_java_reads_it() -> None:
    later = b"\x00\x01" + CHECKPOINT.value[2:]
    assert Checkpoint.read(CHECKPOINT.key, later) == CHECKPOINT


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="40000 bytes, and 32767 are the most"):
        Heartbeat(source="a" * 40_000, target="b", at=0).key  # noqa: B018  # it raises
