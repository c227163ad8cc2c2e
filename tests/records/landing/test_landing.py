"""Lanes land batches that come from no fetch response, as a restore does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.copying.lanes import COMMIT, marker
from tests.support.kafka import consume, create_topic
from tests.support.logs.batches import at_offsets, batch
from tests.support.shelf import Batches, Shelf
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import Ledger
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.ledger.producers import producer_id
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.copy import Copier
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.source.trouble import cut
from towpath.records.target.opening import Opener
from towpath.records.work import Assignment, Slice, Summary
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig
from towpath.wire.plain import Record

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
ARCHIVED = TopicId("9f2d1c4e-0000-0000-0000-000000000001")
START = 5
"""Retention had removed what was before when the records were archived."""


class Restore:
    """Some batches in memory, and the partition on the target that gets them."""

    def __init__(self, target: LocalCluster, topic: str, offsets: list[list[int]]) -> None:
        self.config, self.link = ClusterConfig(bootstrap=target.addresses), LinkName(topic)
        create_topic(target.bootstrap, topic)
        self.tp = TopicPartition(TopicName(topic), 0)
        self.batches: Batches = [(each[-1] + 1, made(each)) for each in offsets]
        self.end = offsets[-1][-1] + 1

    def run(self, end: int, shelf: Callable[[Landing], Shelf] | None = None) -> Summary:
        """Restore up to an offset; nothing but the target can be reached."""
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(self.config, Side.TARGET))
            client = stack.enter_context(Client(self.config, Side.TARGET, admin))
            ledger = Ledger(admin, client)
            ledger.create()
            work = self.work(admin, end)
            opener = Opener(work, admin, client, ledger, LinkBooks(self.link))
            stack.callback(opener.close)
            feed = shelf or (lambda to: Shelf(to, {self.tp: self.batches}))
            copier = Copier(work, admin, opener, feed)
            stack.callback(copier.close)
            copier.run()
            [done] = copier.summaries()
        return done

    def work(self, admin: Admin, end: int) -> Slice:
        topic = admin.topics.describe([self.tp.topic])[self.tp.topic]
        ids = self.link, ClusterId("archive"), ARCHIVED, topic.id, self.tp
        assignment = Assignment(
            source=self.tp,
            target=self.tp,
            source_id=ARCHIVED,
            target_id=topic.id,
            producer_id=producer_id(*ids),
            filler_id=producer_id(*ids, purpose="filler"),
            start=SourceOffset(START),
            end=SourceOffset(end),
            marker_id=producer_id(*ids, purpose="marker"),
            fill=10,
        )
        return Slice(
            link=self.link,
            target=self.config,
            assignments=(assignment,),
            run_id=new_name(),
            round=1,
            seconds=float("inf"),
            settled=True,
        )

    def books(self) -> PartitionBooks:
        with self.ledger() as ledger:
            return ledger.books(self.link).of(self.tp)

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(self.config, Side.TARGET))
            yield Ledger(admin, stack.enter_context(Client(self.config, Side.TARGET, admin)))


class CutShelf(Shelf):
    """Hands on the log as it was, then is told that it was cut, and hands on what came after."""

    def __init__(
        self, landing: Landing, tp: TopicPartition, before: Batches, at: int, after: Batches
    ) -> None:
        super().__init__(landing, {tp: before})
        self._tp, self._at, self._after = tp, SourceOffset(at), after

    def _hand(self, lane: Lane) -> None:
        super()._hand(lane)
        before = self._batches[self._tp]
        if before is not self._after and lane.expected == before[-1][0]:
            lost = cut(self._at, lane.expected)
            self._landing.note_gap(lane, lost, True)
            lane.jump(lost.go_on, lost.why)
            self._batches = {self._tp: self._after}
            self._landing.go(lane)
            super()._hand(lane)


def made(offsets: list[int]) -> bytearray:
    records = [Record(b"k", b"%d" % offset, timestamp=now_ms()) for offset in offsets]
    return batch(at_offsets(records, offsets))


def test_batches_in_memory_land_at_their_own_offsets(
    target: LocalCluster, new_name: NewName
) -> None:
    """Retention took the beginning of their log, and compaction an offset."""
    restore = Restore(target, new_name("restored"), [[5, 6, 7], [8], [10, 11]])
    done = restore.run(restore.end)
    assert (done.error, done.mode, done.source_end) == ("", Mode.IDENTICAL, 12)
    found = consume(target.bootstrap, restore.tp.topic)
    assert [(r.offset, r.value) for r in found] == [(n, b"%d" % n) for n in (5, 6, 7, 8, 10, 11)]


def test_a_restore_goes_on_where_it_stood(target: LocalCluster, new_name: NewName) -> None:
    batches = [[*range(n, n + 3)] for n in range(5, 305, 3)]
    restore = Restore(target, new_name("restored"), batches)
    whole, restore.batches = restore.batches, restore.batches[:40]
    assert restore.run(restore.batches[-1][0]).error == ""
    receipt = restore.books().receipt
    assert receipt is not None
    assert receipt.source_end == restore.batches[-1][0]
    restore.batches = whole
    done = restore.run(restore.end)
    assert (done.error, done.mode) == ("", Mode.IDENTICAL)
    found = consume(target.bootstrap, restore.tp.topic)
    assert [(r.offset, r.value) for r in found] == [(n, b"%d" % n) for n in range(5, 305)]


def test_markers_where_the_log_was_cut_lead_to_no_old_record(
    target: LocalCluster, new_name: NewName
) -> None:
    """Nothing but the gap in the ledger tells that offsets 8 and 9 were written again."""
    restore = Restore(target, new_name("restored"), [[5, 6, 7], [8, 9], [10, 11]])
    after = [(9, marker(8, 1, COMMIT)), (10, marker(9, 2, COMMIT)), (13, made([10, 11, 12]))]
    before = restore.batches
    done = restore.run(13, lambda to: CutShelf(to, restore.tp, before, 8, after))
    assert (done.error, done.mode, done.source_end) == ("", Mode.MAPPED, 13)
    books = restore.books()
    [gap] = books.gaps
    assert (gap.first, gap.end, gap.went_on) == (8, 12, True)
    assert gap.target is not None
    assert gap.target >= 12, "all that was on its way landed before"
    offsets = books.offsets()
    first = offsets.next_target(SourceOffset(10))
    for offset in (8, 9, 10):
        answer = offsets.to_target(SourceOffset(offset))
        assert answer.exactness is Exactness.EXACT
        assert 12 <= answer.offset <= first
    assert offsets.to_target(SourceOffset(7)) == TranslatedOffset(TargetOffset(7), Exactness.EXACT)
    found = {r.offset: r.value for r in consume(target.bootstrap, restore.tp.topic)}
    assert (found[first], found[first + 1]) == (b"10", b"11")
