"""Where a mirror topic ends at the source."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.mirror.mm2.copied_positions import CopiedPositions
from towpath.mirror.mm2.seam import Seam, digest, find_seam
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.wire.plain import Record


def at(*contents: bytes, first: int = 0) -> list[tuple[SourceOffset, bytes]]:
    return [(SourceOffset(first + n), each) for n, each in enumerate(contents)]


def test_the_last_record_of_the_mirror_tells_where_to_go_on() -> None:
    assert find_seam([b"a", b"b"], at(b"a", b"b", b"c", first=10)) == Seam(SourceOffset(12), 2)
    assert find_seam([b"b"], at(b"a", b"b", b"c", first=10)) == Seam(SourceOffset(12), 1)


def test_equal_records_are_told_apart_by_those_before_them() -> None:
    assert find_seam([b"a", b"x"], at(b"b", b"x", b"a", b"x")) == Seam(SourceOffset(4), 2)


def test_nothing_is_guessed() -> None:
    assert find_seam([], at(b"a")) is None
    assert find_seam([b"z"], at(b"a")) is None
    assert find_seam([b"x", b"x"], at(b"x", b"x", b"x")) is None


def test_records_that_mirror_maker_wrote_twice_before_the_end_do_no_harm() -> None:
    twice = [b"a", b"b", b"c", b"b", b"c"]
    assert find_seam(twice, at(b"a", b"b", b"c", b"d")) == Seam(SourceOffset(3), 2)


@given(st.integers(0, 30), st.integers(1, 30), st.data())
def test_the_seam_is_found_wherever_it_is(before: int, length: int, data: st.DataObject) -> None:
    source = at(*(b"%d" % n for n in range(before + length)))
    end = data.draw(st.integers(1, before + length))
    begin = data.draw(st.integers(0, end - 1))
    mirror = [each for _, each in source[begin:end]]
    assert find_seam(mirror, source) == Seam(SourceOffset(end), len(mirror))


@given(st.lists(st.sampled_from([b"a", b"b"]), max_size=8), st.lists(st.sampled_from([b"a", b"b"])))
def test_where_two_places_fit_equally_none_is_taken(
    mirror: list[bytes], source: list[bytes]
) -> None:
    found = find_seam(mirror, at(*source))
    if found is None:
        return
    ends = [n for n in range(len(source)) if source[: n + 1][-1:] == mirror[-1:]]
    fits = {n: _fit(mirror, source[: n + 1]) for n in ends}
    assert [n for n in ends if fits[n] == max(fits.values())] == [found.next - 1]


def _fit(mirror: list[bytes], source: list[bytes]) -> int:
    pairs = zip(reversed(mirror), reversed(source), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(mirror), len(source)))


def test_digests_tell_records_apart() -> None:
    records = [
        Record(None, b"v", (), 1),
        Record(b"", b"v", (), 1),
        Record(b"k", None, (), 1),
        Record(b"k", b"", (), 1),
        Record(b"k", b"v", (), 1),
        Record(b"k", b"v", ((b"h", None),), 1),
        Record(b"k", b"v", ((b"h", b""),), 1),
    ]
    assert len({digest(each, with_time=True) for each in records}) == len(records)
    early, late = Record(b"k", b"v", (), 1, 5), Record(b"k", b"v", (), 2, 6)
    assert digest(early, with_time=True) != digest(late, with_time=True)
    assert digest(early, with_time=False) == digest(late, with_time=False)


def key(cluster: str = "us", connector: str = "MirrorSourceConnector") -> bytes:
    return json.dumps([connector, {"cluster": cluster, "partition": 3, "topic": "orders"}]).encode()


def test_positions_are_those_of_one_source_and_the_last_one_counts() -> None:
    found = CopiedPositions("us")
    found.take(key(), b'{"offset":5}')
    found.take(key(), b'{"offset":9}')
    found.take(key("eu"), b'{"offset":1}')
    found.take(
        b'["MirrorCheckpointConnector",{"partition":0,"topic":"a","group":"g"}]', b'{"offset":0}'
    )
    assert found.offsets == {TopicPartition(TopicName("orders"), 3): 9}
    found.take(key(), None)
    assert found.offsets == {}


@pytest.mark.parametrize("raw", [None, b"", b"{", b"[]", b"\xff", b'["a",{}]', b"[" * 5000])
def test_what_others_wrote_to_the_topic_is_passed_over(raw: bytes | None) -> None:
    found = CopiedPositions("us")
    found.take(raw, b'{"offset":5}')
    assert found.offsets == {}
    found.take(key(), raw)
    assert found.offsets == {}
