"""Keys are as specified, and no two things have the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from towpath.archive import keys
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicName


def key(topic: str, start: int = 100_000, end: int = 200_001, **how: object) -> str:
    given = (TopicName(topic), 107, 0, SourceOffset(start), SourceOffset(end))
    return keys.segment_key("us-west-1", *given, **how)  # type: ignore[arg-type]


def test_the_key_of_a_segment_is_as_specified() -> None:
    start, last = "00000000000000100000", "00000000000000200000"
    expected = f"us-west-1/sensor.events/107/0/{start}-{last}.parquet"
    assert key("sensor.events") == expected
    assert key("sensor.events", suffix=SegmentFormat.BATCHES) == f"{expected[:-8]}.batches"
    assert key("sensor.events", attempt="4f") == f"{expected[:-8]}.4f.parquet"
    assert key("sensor.events", spread=True)[4:] == f"/{expected}"


def test_the_partitions_of_a_topic_are_spread() -> None:
    at = SourceOffset
    made = {
        keys.segment_key("eu", TopicName("t"), each, 0, at(0), at(1), spread=True)[:4]
        for each in range(100)
    }
    assert len(made) > 90


def test_shared_objects_have_keys_of_their_own() -> None:
    made = [keys.shared_key("eu", TopicName("t"), 0) for _ in range(100)]
    assert len(set(made)) == 100
    assert all(each.startswith("eu/_shared/t/0/") and each.endswith(".parquet") for each in made)
    assert keys.shared_key("eu", TopicName("t"), 0, spread=True)[4:].startswith("/eu/_shared/t/0/")


def test_the_log_has_a_place_that_no_topic_can_take() -> None:
    assert keys.entry_key("eu", 7) == "eu/_log/00000000000000000007.json"
    assert keys.checkpoint_key("eu", 700) == "eu/_log/checkpoints/00000000000000000700.parquet"
    assert key("_log").startswith("us-west-1/%5Flog/107/")
    assert key("_shared").startswith("us-west-1/%5Fshared/107/")
    assert key("_logs").startswith("us-west-1/_logs/107/")


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_two_names_never_become_one(names: list[str]) -> None:
    one, other = (keys.quoted(name) for name in names)
    assert one != other
    assert "/" not in one
    assert one not in {".", "..", "_log", "_shared"}
