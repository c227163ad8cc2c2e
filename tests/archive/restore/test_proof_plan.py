"""What is compared after a restore: each archived offset that came back, once. Pure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archive.archives import CLUSTER
from tests.support.archive.compacting import compacted
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.ledger.books import opened, receipt
from towpath.archive.log import Archive
from towpath.archive.restore.progress import RestoreRow
from towpath.archive.restore.proof.proof_plan import ProofPlan
from towpath.archive.restore.proof.proof_work import SegmentCut
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.task import RestoreTask
from towpath.ledger.books import LinkBooks
from towpath.model.digest import Digest
from towpath.model.nouns import LinkName, SourceOffset, TargetOffset, TopicName, TopicPartition

TOPIC = TopicName("orders")
TP = TopicPartition(TOPIC, 0)
FORK, END = 45, 100


@pytest.mark.parametrize("compacts", [False, True])
def test_what_another_history_has_in_place_of_it_is_not_compared(
    tmp_path: Path, compacts: bool
) -> None:
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1", {"grace": "0s"})
    stored.put(TOPIC, old_records(END), cuts=range(10, END, 10))
    number = stored.fork(TOPIC, FORK)
    stored.put(TOPIC, old_records(END - FORK, FORK, days=39), cuts=[60], number=number)
    if compacts:
        assert not compacted(stored.config()).failed
    task, log = RestoreTask.of(stored.config()), stored.log
    archive = Archive(log, log.state)
    scope = scope_of(archive, task.rules)
    [part] = scope.topics[TOPIC].parts
    assert part.records == END
    books = LinkBooks(LinkName("l"))
    books.take(opened(TP))
    run = (SourceOffset(0), TargetOffset(0), END)
    ends = SourceOffset(END), TargetOffset(END)
    books.take(receipt(TP, records=END, run=run, source_end=ends[0], target_end=ends[1]))
    row = RestoreRow(tp=TP, target=TOPIC, part=part, at=SourceOffset(END), mode="identical")

    [work] = ProofPlan(task, archive, scope, books, CLUSTER).slices([row])

    [found] = work.ranges
    assert (found.first, found.end) == (0, END)
    sizes = [
        each.end - each.first if isinstance(each, SegmentCut) else each.records
        for each in found.archived
        if isinstance(each, SegmentCut | Digest)
    ]
    assert sum(sizes) == END
    [cut] = [each for each in found.archived if isinstance(each, SegmentCut)]
    assert cut.end == FORK
