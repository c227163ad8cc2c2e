"""One range of offsets on a real broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.kafka import Record, create_topic, produce
from towpath.cluster.admin import Admin
from towpath.dataframes import reading
from towpath.dataframes.errors import RecordsLostError, TopicMadeAgainError
from towpath.dataframes.ranges import OffsetRange
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicId, TopicName, TopicPartition
from towpath.settings import ClusterConfig

NewName = Callable[[str], str]


@pytest.mark.broker
def test_what_changed_since_the_plan_ends_a_task_or_is_told(
    source: LocalCluster,
    new_name: NewName,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(reading, "_PATIENCE", 1.0)
    topic = create_topic(source.bootstrap, new_name("read"))
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(10)])
    config = ClusterConfig.model_validate({"bootstrap": source.bootstrap})
    with Admin(config, Side.SOURCE) as admin:
        info = admin.topics.find(TopicName(topic))
    assert info is not None
    whole = OffsetRange(TopicPartition(TopicName(topic), 0), info.id, 0, 10)

    def rows(part: OffsetRange, *, fails: bool) -> int:
        return sum(map(len, reading.read_range(config, part, headers=False, fails=fails)))

    assert rows(whole, fails=True) == 10
    again = replace(whole, topic_id=TopicId("AAAAAAAAAAAAAAAAAAAAAQ"))
    with pytest.raises(TopicMadeAgainError):
        rows(again, fails=True)
    assert rows(again, fails=False) == 0
    assert "offsets 0 to 9 are gone with their topic, which was created again" in said(capfd)
    # The log was cut below what was planned, as an unclean election does.
    for part, left in ((replace(whole, end=15), 10), (replace(whole, start=12, end=15), 0)):
        first = max(part.start, 10)
        with pytest.raises(RecordsLostError, match=f"offsets {first} to 14 were deleted"):
            rows(part, fails=True)
        assert rows(part, fails=False) == left
        assert f"offsets {first} to 14 are lost, and skipped; records that get these" in said(capfd)


def said(capfd: pytest.CaptureFixture[str]) -> str:
    return capfd.readouterr().err
