"""What people are told at the end of a restore. Pure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.pages.pictures import text_of
from towpath.archive.log import Archive
from towpath.archive.restore.progress import RestoreProgress, RestoreRow
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.task import RestoreTask
from towpath.archive.show.restore import result_picture
from towpath.model.nouns import Mode, SourceOffset, TopicName, TopicPartition

TOPIC = TopicName("orders")


@pytest.mark.parametrize("mode", [Mode.IDENTICAL, Mode.MAPPED])
def test_partitions_whose_offsets_are_not_those_of_the_archive_are_named(
    tmp_path: Path, mode: Mode
) -> None:
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1", {})
    stored.put(TOPIC, old_records(10))
    log, rules = stored.log, RestoreTask.of(stored.config()).rules
    [part] = scope_of(Archive(log, log.state), rules).topics[TOPIC].parts
    why = "offset 5 was taken by somebody else" if mode is Mode.MAPPED else ""
    row = RestoreRow(
        tp=TopicPartition(TOPIC, 0),
        target=TOPIC,
        part=part,
        at=SourceOffset(10),
        records=10,
        mode=mode,
        reason=why,
    )
    said = " ".join(text_of(result_picture(RestoreProgress(rows=(row,)), stop=False)).split())
    told = f"orders-0: offsets on the target are not those of the archive: {why}"
    assert row.done
    assert (told in said) is (mode is Mode.MAPPED)
