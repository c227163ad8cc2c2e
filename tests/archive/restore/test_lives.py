"""Topics that were lost and came back: their lives, and what the archive left out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archives import archiving, segment
from tests.support.archive.stored import REGION, StoredArchive, old_records
from towpath.archive.config import ArchiveConfig, FilteredOffsets, RestoreConfig
from towpath.archive.log import AsOf, open_archive
from towpath.archive.model import GapKind
from towpath.archive.read.lives import left_out_sentences, lives_of
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.parts import filtered_of
from towpath.archive.restore.preflight import of_filtered
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.task import RestoreTask
from towpath.archive.show.lives import lives_data
from towpath.model.errors import ConfigError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import SourceOffset, TopicId, TopicName

ORDERS = TopicName("orders")


@pytest.fixture
def stored(tmp_path: Path) -> StoredArchive:
    return StoredArchive(tmp_path, "shop", "127.0.0.1:1")


def scope(stored: StoredArchive, *lives: str, **restore: object) -> RestoreScope:
    rules = RestoreConfig.model_validate(restore)
    return scope_of(open_archive(stored.store, REGION, AsOf(lives=lives)), rules)


def left_out(stored: StoredArchive) -> None:
    """Archive 10 records, 30 offsets that a restore wrote, and one record."""
    gap = segment(10, 40, gaps=range(10, 40), kind=GapKind.FILTERED)
    stored.log.append(archiving(segment(0, 10)))
    stored.log.append(archiving(gap))
    stored.log.append(archiving(segment(40, 42, gaps=[41], kind=GapKind.FILTERED)))


def test_each_life_of_a_topic_can_be_named(stored: StoredArchive) -> None:
    stored.put("orders", old_records(5), number="first")
    stored.put("orders", old_records(2), number="second")
    found = scope(stored)
    assert found.topics[ORDERS].topic.id == "second"
    (note,) = (each.text for each in found.notes if "several topics" in each.text)
    assert "`--life ID` restores another one: first (seen until 20" in note
    for asked in ("first", "fi"):
        old = scope(stored, asked)
        assert (old.topics[ORDERS].topic.id, old.topics[ORDERS].records) == ("first", 5)
        assert not old.awaiting
    with pytest.raises(ConfigError, match="no topic has an id with third"):
        scope(stored, "third")


def test_a_life_that_begins_like_another_one_is_asked_for_again(stored: StoredArchive) -> None:
    stored.put("orders", old_records(5), number="one")
    stored.put("orders", old_records(5), number="one-more")
    stored.put("orders", old_records(5), number="one-more-so")
    assert scope(stored, "one").topics[ORDERS].topic.id == "one"
    with pytest.raises(ConfigError, match="several topics have an id that begins with one-"):
        scope(stored, "one-")


def test_lives_are_listed_with_their_times(stored: StoredArchive) -> None:
    stored.put("orders", old_records(5), number="first")
    stored.put("orders", old_records(5), partition=1, number="first")
    stored.put("orders", old_records(2), number="second")
    left_out(stored)
    found = {each.id: each for each in lives_of(stored.log.state)}
    first, second = found[TopicId("first")], found[TopicId("second")]
    assert (first.topic, first.partitions, first.records, first.latest) == (ORDERS, 2, 10, False)
    assert (second.records, second.seen >= first.seen) == (2, True)
    assert first.begun is not None
    assert first.first is not None
    assert first.last is not None
    assert first.first <= first.last
    third = found[TopicId("id-orders")]
    assert (third.records, third.filtered, third.latest) == (11, 31, True)
    assert left_out_sentences(stored.log.state) == [
        "orders (topic id id-orders): 31 offsets left out, as a restore had written them"
        " (filtered); a restore of this archive lacks them"
    ]
    assert lives_data([third])["lives"][0]["begun"] == "1970-01-01T00:00:00Z"


def test_offsets_that_were_left_out_are_counted(stored: StoredArchive) -> None:
    left_out(stored)
    topic = scope(stored).topics[ORDERS]
    assert (topic.records, topic.filtered) == (11, 31)
    part = scope(stored, range={"from": "20"}).topics[ORDERS]
    assert (part.records, part.filtered) == (1, 21)
    archive = open_archive(stored.store, REGION, AsOf())
    (partition,) = archive.partitions()
    assert filtered_of(archive, {partition: (SourceOffset(0), SourceOffset(10))}) == {}


def test_offsets_that_were_left_out_are_a_problem_unless_that_is_meant(
    stored: StoredArchive,
) -> None:
    left_out(stored)
    found = scope(stored)
    (problem,) = of_filtered(RestoreConfig(), found)
    assert isinstance(problem, Problem)
    assert problem.text.startswith("31 offsets do not come back: they were left out of the archive")
    assert problem.text.endswith("set `restore.filtered: accept` if that is meant")
    (note,) = of_filtered(RestoreConfig(filtered=FilteredOffsets.ACCEPT), found)
    assert isinstance(note, Note)
    stored.put("other", old_records(2))
    whole = scope(stored, topics={"include": ["other"]})
    assert [*of_filtered(RestoreConfig(), whole)] == []


def meant(**restore: Any) -> list[FilteredOffsets | None]:
    told = {
        "kind": "archive",
        "archive": "shop",
        "source": {"bootstrap": "127.0.0.1:1"},
        "store": {"url": "file:///tmp/none"},
        "region": "eu",
        "topics": {"include": [".*"]},
        "target": {"bootstrap": "127.0.0.1:1"},
        "restore": restore,
    }
    config = ArchiveConfig.model_validate(told)
    return [each.rules.filtered for each in RestoreTask.each(config)]


def test_what_another_region_left_out_is_meant() -> None:
    """It is what this region, or a third one, archives itself."""
    assert meant() == [None]
    assert meant(region="us") == [FilteredOffsets.ACCEPT]
    assert meant(region="us", filtered="problem") == [FilteredOffsets.PROBLEM]
    assert meant(sources=[{"region": "eu"}, {"region": "us"}]) == [None, FilteredOffsets.ACCEPT]
