"""Slices read decisions about ids in the ledger, and ask for missing ones there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.support.kafka import wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import AwaitedIds, DecidedIds, Entry, RefusedIds, Removed
from towpath.ledger.ledger import Ledger
from towpath.model.changes import IdChange, RecordChange
from towpath.model.errors import UnknownIdsError
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    Side,
    SourceOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.records import ids as asking
from towpath.records.ids import SliceIds
from towpath.records.work import Assignment, CopySlice
from towpath.settings import ClusterConfig
from towpath.wire.change import UnknownId
from towpath.wire.ids import IdTable
from towpath.wire.naming import Part

pytestmark = pytest.mark.broker
CHANGE = RecordChange(ids=IdChange(wait_ms=100))
STRICT = RecordChange(ids=IdChange(wait_ms=100, strict=True))
ABSENT = Reason.of(ReasonCode.SCHEMA_ID_ABSENT)


def partition(number: int) -> Assignment:
    tp = TopicPartition(TopicName("orders"), number)
    return Assignment(
        source=tp, target=tp, source_id=TopicId("s"), target_id=TopicId("t"),
        producer_id=ProducerId(1 << 41), filler_id=ProducerId(1 << 42), start=SourceOffset(0),
    )  # fmt: skip


def value(*names: int) -> tuple[UnknownId, ...]:
    return tuple(UnknownId(Part.VALUE, name) for name in names)


class Side2:
    """A target with a ledger, slices that read it, and a run that answers."""

    def __init__(self, stack: ExitStack, cluster: LocalCluster, link: str) -> None:
        self._config = ClusterConfig(bootstrap=cluster.addresses)
        self._stack, self.link = stack, LinkName(link)
        self._admin = stack.enter_context(Admin(self._config, Side.TARGET))
        client = stack.enter_context(Client(self._config, Side.TARGET, self._admin))
        self.ledger = Ledger(self._admin, client)
        self.ledger.create()
        self.news = 0

    def slice(self) -> SliceIds:
        work = CopySlice(
            link=self.link, source=self._config, target=self._config, assignments=(), run_id="r",
            round=1, seconds=60,
        )  # fmt: skip
        made = SliceIds(work, self._admin)
        made.listen(self._heard)
        self._stack.callback(made.close)
        return made

    def _heard(self) -> None:
        self.news += 1

    def asked(self, count: int = 1) -> list[AwaitedIds | Removed]:
        """Return what was asked since the last call, once there is so much."""
        found: list[AwaitedIds | Removed] = []

        def any_asked() -> bool:
            read = self.ledger.read_ids(self.link, wait=1.0)
            found.extend(each for each in read if isinstance(each, AwaitedIds | Removed))
            return len(found) >= count

        wait_until(any_asked, "a slice asks")
        return found

    def write(self, *entries: Entry) -> None:
        self.ledger.append(entries)

    def decided(self, name: str, **pairs: int) -> DecidedIds:
        ids = tuple((int(key[1:]), becomes) for key, becomes in pairs.items())
        return DecidedIds(link=self.link, name=name, at=1, subjects={"orders-value": ids})


@pytest.fixture
def side(lone: LocalCluster, new_name: Callable[[str], str]) -> Iterator[Side2]:
    with ExitStack() as stack:
        yield Side2(stack, lone, new_name("slice-ids"))


def once(ready: Callable[[], bool]) -> None:
    wait_until(ready, "there are decisions")


def test_two_slices_that_want_one_id_get_the_same_decision(side: Side2) -> None:
    side.write(side.decided("a", i1=101))
    first, second = side.slice(), side.slice()
    a, b = partition(0), partition(1)
    for each in (first, second):
        wait_until(lambda each=each: len(each.table(a, CHANGE).value) == 1, "it has read")  # type: ignore[misc]
    wants = first.want(a, CHANGE, value(1, 7)), second.want(b, CHANGE, value(7, 8))
    assert not any(want() for want in wants)
    asked = side.asked(2)
    assert {each.tp: each.values for each in asked if isinstance(each, AwaitedIds)} == {
        a.source: (7,), b.source: (7, 8),
    }  # fmt: skip
    side.write(side.decided("b", i7=107), side.decided("c", i7=999, i8=108))
    once(wants[0])
    once(wants[1])
    expected = IdTable.of(value={1: 101, 7: 107, 8: 108})
    for each in (first, second):
        table = each.table(a, CHANGE)
        assert table.value.tolist() == expected.value.tolist()
        assert each.table(b, CHANGE) is each.table(b, CHANGE)
    assert side.news > 0
    gone = side.asked(2)
    assert all(isinstance(each, Removed) for each in gone), "nothing is waited for any more"


def test_without_an_answer_nothing_is_decided(side: Side2, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_GRACE", 0.2)
    slice_ = side.slice()
    slice_.table(partition(0), CHANGE)
    with pytest.raises(UnknownIdsError, match="did not answer in time"):
        once(slice_.want(partition(0), CHANGE, value(7)))
    side.write(side.decided("late", i7=107))
    wait_until(lambda: len(slice_.table(partition(0), CHANGE).value) == 1, "it has read")
    assert slice_.table(partition(0), CHANGE).value.tolist() == (
        IdTable.of(value={7: 107}).value.tolist()
    )


def test_strict_lets_nothing_pass(side: Side2, monkeypatch: pytest.MonkeyPatch) -> None:
    slice_ = side.slice()
    slice_.table(partition(0), STRICT)
    want = slice_.want(partition(0), STRICT, value(7))
    wait_until(lambda: slice_.caught_up, "it has read")
    assert not want()
    [asked] = side.asked()
    assert isinstance(asked, AwaitedIds)
    told = RefusedIds(link=side.link, topic=asked.topic, partition=0, name="old", at=1, why=ABSENT)
    side.write(told)
    wait_until(lambda: bool(slice_.books.refused), "it has read")
    assert not want(), "that was the answer to another question"
    side.write(replace(told, name=asked.name))
    with pytest.raises(UnknownIdsError, match="schema id 7 in values") as raised:
        once(want)
    assert raised.value.why == ABSENT
    monkeypatch.setattr(asking, "_GRACE", 0.2)
    silent = slice_.want(partition(1), STRICT, value(8))
    with pytest.raises(UnknownIdsError, match="did not answer"):
        once(silent)
