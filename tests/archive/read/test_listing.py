"""What is named on the command line must be in the archive, for `archive ls` and others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here


@pytest.fixture
def file(tmp_path: Path) -> str:
    archive = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    archive.put("orders", old_records(5))
    return str(archive.file())


def test_a_topic_or_partition_that_is_not_archived_is_refused(file: str, here: Here) -> None:
    assert len(here("archive", "ls", file, "orders", "0", "-o", "json").json["segments"]) == 1
    topic = here("archive", "ls", file, "order")
    assert topic.code == 2, topic.said
    assert "TOPIC: the archive has no topic order; it has orders" in topic.err
    partition = here("archive", "ls", file, "orders", "7")
    assert partition.code == 2, partition.said
    assert "PARTITION: the archive has no partition 7 of topic orders" in partition.err


def test_a_verification_that_looks_at_nothing_does_not_call_it_whole(file: str, here: Here) -> None:
    refused = here("archive", "verify", file, "--sample", "0")
    assert (refused.code, "--sample: 0 would look at no object" in refused.err) == (2, True)
    nothing = here("archive", "verify", file, "--topics", "nosuch", "--output", "json")
    assert (nothing.code, nothing.json["whole"]) == (3, False), nothing.said
    assert "no object was looked at" in here("archive", "verify", file, "--topics", "nosuch").out
    assert here("archive", "verify", file).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("prune", "--older-than", "1d", "--topics", "orders", "--topics", "order"),
        ("compact", "--topics", "order"),
        ("forget", "key 1", "--topic", "order"),
    ],
    ids=lambda words: words[0],
)
def test_an_expression_that_matches_no_topic_is_refused(
    file: str, here: Here, words: tuple[str, ...]
) -> None:
    """Else a name that was mistyped would look as if nothing had to be done."""
    command, *more = words
    refused = here("archive", command, file, *more)
    assert refused.code == 2, refused.said
    assert "no topic of the archive matches 'order'" in refused.err


def test_a_partition_that_no_topic_has_is_refused(file: str, here: Here) -> None:
    refused = here("archive", "compact", file, "--partitions", "0", "--partitions", "9")
    assert refused.code == 2, refused.said
    assert "--partitions: no topic that is asked for has a partition 9" in refused.err
