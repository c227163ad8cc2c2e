"""Two links in opposite directions on the same topic, which leave out what the other one wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import FROM_TWIN
from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import build
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.verdict import Verdict
from towpath.mirror.verify.verify import verify
from towpath.model.nouns import Mode
from towpath.model.reasons import ReasonCode

pytestmark = pytest.mark.broker


def copied(mirror: Mirror) -> int:
    receipt = mirror.books().receipt
    assert receipt is not None
    return receipt.records


@dataclass
class Twins:
    """Two links that name each other."""

    there: Mirror
    back: Mirror
    written: int = 0

    @property
    def both(self) -> tuple[Mirror, Mirror]:
        return self.there, self.back

    def prepare(self, *links: Mirror) -> None:
        for each in links or self.both:
            with open_link(each.config) as link:
                link.prepare()

    def write(self, cluster: LocalCluster, count: int = 10, **config: str) -> None:
        numbers = range(self.written, self.written + count)
        records = [Record(b"k", b"%d" % n) for n in numbers]
        produce(cluster.bootstrap, self.there.topic, records, config)
        self.written += count

    def seen(self, cluster: LocalCluster) -> Counter[bytes]:
        found = consume(cluster.bootstrap, self.there.topic, (0,))
        return Counter(record.value or b"" for record in found)

    def require_equal(self) -> None:
        """Each record is on each side once, and the comparison of each link counts all of them."""
        expected = {b"%d" % n: 1 for n in range(self.written)}
        for mirror in self.both:
            assert self.seen(mirror.source) == expected
            (found,) = verify(mirror.config, Scope(parallelism=1), lambda *_: None)
            assert (found.verdict, found.why) == (Verdict.EQUAL, "")
            assert found.comparison is not None
            counts, other = found.comparison.counts, self.other(mirror)
            assert (counts.equal, counts.twin) == (copied(mirror), copied(other))
            assert counts.foreign == copied(other)
            assert any(f"which link {other.link} copies" in note for note in found.notes)

    def other(self, mirror: Mirror) -> Mirror:
        return self.back if mirror is self.there else self.there


@pytest.fixture
def twins(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Twins:
    topic = new_name("twins")
    there = Mirror(
        tmp_path, source, target, topic, link=f"{topic}-there", more=f"  twin: {topic}-back\n"
    )
    back = Mirror(
        tmp_path, target, source, topic, link=f"{topic}-back", more=f"  twin: {topic}-there\n"
    )
    return Twins(there, back)


def test_each_record_is_once_on_each_side(twins: Twins) -> None:
    twins.there.create()
    for mirror in twins.both:
        twins.write(mirror.source)
    twins.prepare()
    for _ in range(3):
        for mirror in twins.both:
            mirror.catch_up()
            twins.write(mirror.source)
    for mirror in twins.both * 2:
        mirror.catch_up()
    twins.require_equal()
    for mirror in twins.both:
        books = mirror.books()
        assert books.receipt is not None
        assert books.mode is Mode.MAPPED
        assert [each.code for each in books.receipt.reasons] == [ReasonCode.TWO_WAYS]
        assert books.receipt.records == 40
        assert dict(books.receipt.tally) == {FROM_TWIN: 40}


def test_a_link_that_ran_alone_gets_a_twin(twins: Twins) -> None:
    """Its offsets were identical so far, and transactions of clients leave gaps."""
    alone = replace(twins.there, more="")
    twins.there.create()
    twins.write(alone.source)
    twins.prepare(alone)
    alone.catch_up()
    assert alone.books().mode is Mode.IDENTICAL
    (problem,) = [each.text for each in build(twins.back.config).problems]
    assert "no `topics.twin`" in problem
    assert f"in the file of link {twins.there.link}" in problem

    twins.prepare()
    twins.write(twins.back.source)
    for cluster in (alone.source, alone.target):
        twins.write(cluster, 4, **{"transactional.id": twins.there.topic})
    for mirror in twins.both * 2:
        mirror.catch_up()
    twins.require_equal()
    ends = [mirror.books().receipt for mirror in twins.both]
    for mirror in twins.both * 2:
        mirror.catch_up()
    again = [mirror.books().receipt for mirror in twins.both]
    assert [each and each.target_end for each in ends] == [
        each and each.target_end for each in again
    ]
    assert build(twins.back.config).problems == ()
