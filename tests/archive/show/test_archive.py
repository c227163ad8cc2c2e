"""How an archive stands, as people see it. Pure."""

from __future__ import annotations

from rich.console import Console

from tests.support.archive.archives import partition_id
from towpath.archive.show.archive import status_picture
from towpath.archive.status.compaction_status import CompactionStatus
from towpath.archive.status.status import ArchivedPartition, ArchiveStatus
from towpath.archive.write.progress import ArchiveRowState
from towpath.archive.write.source_look import PartitionEnds
from towpath.model.nouns import SourceOffset, TopicName


def test_a_topic_that_the_source_has_no_more_is_told_by_its_id() -> None:
    """Another topic may have its name by now, so two rows could not be told apart."""
    end = SourceOffset(50)
    gone = ArchivedPartition(
        id=partition_id(),
        topic=TopicName("orders"),
        state=ArchiveRowState.GONE,
        begin=SourceOffset(0),
        archived_to=end,
        ends=PartitionEnds(SourceOffset(0), end),
        exposed=0.0,
    )
    compaction = CompactionStatus(
        rules=0, next=None, merges=0, segments=0, bytes=0, waiting=0, merged=None, lease=None,
        last=None,
    )  # fmt: skip
    found = ArchiveStatus(
        where="file:///archive/eu/_log/", version=1, time=0, partitions=(gone,), objects=0, size=0,
        lease=None, compaction=compaction,
    )  # fmt: skip
    console = Console(width=300, color_system=None)
    with console.capture() as shown:
        console.print(status_picture(found))
    said = f"the source has no topic with the id {partition_id().topic_id} that `topics` takes"
    assert said in shown.get()
