"""What a Spark task makes of its slice."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from pyspark import TaskContext

from towpath.mirror.run import slices
from towpath.model.nouns import LinkName, Side
from towpath.records.work import CopySlice, Summary, Throttled
from towpath.settings import ClusterConfig


@pytest.mark.parametrize("attempt", [None, 0, 1], ids=["none", "first", "again"])
def test_a_slice_knows_how_often_spark_tried_it_before(
    monkeypatch: pytest.MonkeyPatch, attempt: int | None
) -> None:
    task = None if attempt is None else SimpleNamespace(attemptNumber=lambda: attempt)
    monkeypatch.setattr(TaskContext, "get", lambda: task)
    done: list[int] = []

    def copy(work: CopySlice, _: Throttled, **_more: object) -> Iterator[Summary]:
        done.append(work.attempt)
        yield from ()

    monkeypatch.setattr(slices, "copy", copy)
    cluster = ClusterConfig(bootstrap=("host:1",))
    work = CopySlice(
        link=LinkName("link"),
        source=cluster,
        target=cluster,
        assignments=(),
        run_id="run",
        round=1,
        seconds=1.0,
    )
    assert [batch.num_rows for batch in slices.run_slice(work)] == [0]
    assert done == [attempt or 0]


def test_how_long_brokers_asked_a_slice_to_wait_is_told_in_a_row_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def copy(_: CopySlice, throttled: Throttled, **_more: object) -> Iterator[Summary]:
        throttled |= {Side.SOURCE: 1.5, Side.TARGET: 0.0}
        yield from ()

    monkeypatch.setattr(slices, "copy", copy)
    cluster = ClusterConfig(bootstrap=("host:1",))
    work = CopySlice(
        link=LinkName("link"),
        source=cluster,
        target=cluster,
        assignments=(),
        run_id="run",
        round=1,
        seconds=1.0,
    )
    [row] = [row for batch in slices.run_slice(work) for row in batch.to_pylist()]
    assert row == {
        "topic": "", "partition": -1, "error": "", "under_way": False,
        "throttled_source": 1.5, "throttled_target": 0.0,
    }  # fmt: skip
