"""What a restore brings back: topics of the archive as of a version, and what is said of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.archive.archives import CLUSTER, WRITER
from tests.support.archive.stored import REGION, StoredArchive, old_records
from towpath.archive.config import RestoreConfig
from towpath.archive.errors import NoVersionError
from towpath.archive.log import AsOf, open_archive
from towpath.archive.log.entries import Draft, EntryKind
from towpath.archive.model import PartitionId
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.parts import expired
from towpath.archive.restore.scope import scope_of
from towpath.model.nouns import SourceOffset, TopicId, TopicName


@pytest.fixture
def stored(tmp_path: Path) -> StoredArchive:
    return StoredArchive(tmp_path, "shop", "127.0.0.1:1")


def scope(stored: StoredArchive, as_of: AsOf | None = None, **restore: object) -> RestoreScope:
    rules = RestoreConfig.model_validate(restore)
    return scope_of(open_archive(stored.store, REGION, as_of or AsOf()), rules)


def test_topics_come_as_they_were_described(stored: StoredArchive) -> None:
    stored.describe("orders", {"retention.ms": "-1"}, partitions=4)
    stored.put("orders", old_records(20, 5), cuts=[9])
    stored.put("orders", old_records(3), partition=2)
    made = scope(stored).topics[TopicName("orders")]
    assert made.described
    assert made.topic.partitions == 4
    assert made.topic.own == {"retention.ms": "-1"}
    assert [(part.id.partition, part.start, part.end) for part in made.parts] == [
        (0, 5, 25),
        (2, 0, 3),
    ]
    assert [list(part.segments.ends) for part in made.parts] == [[9, 25], [3]]
    assert made.records == 23
    assert made.bytes > 0


def test_a_topic_without_description_gets_defaults_and_a_note(stored: StoredArchive) -> None:
    stored.put("orders", old_records(3), partition=2)
    found = scope(stored)
    made = found.topics[TopicName("orders")]
    assert (made.described, made.topic.partitions, made.topic.own) == (False, 3, {})
    [note] = found.notes
    assert note.about == "orders"
    assert "target's defaults and 3 partitions" in note.text


def test_topics_that_a_cluster_keeps_for_itself_stay_in_the_archive(stored: StoredArchive) -> None:
    """An older Towpath archived them."""
    for name in ("orders", "__remote_log_metadata"):
        stored.describe(name, {}, partitions=1)
        stored.put(name, old_records(3))
    found = scope(stored)
    assert [*found.topics] == ["orders"]
    assert [str(note) for note in found.notes] == [
        "restore.topics.include: never restored, as each cluster keeps its own:"
        " __remote_log_metadata"
    ]
    assert not scope(stored, topics={"include": ["ord.*"]}).notes


def test_a_version_and_a_time_of_the_past(stored: StoredArchive) -> None:
    stored.put("orders", old_records(5))
    before = stored.log.state
    stored.put("orders", old_records(5, 5))
    name = TopicName("orders")
    assert scope(stored).topics[name].parts[0].end == 10
    old = scope(stored, AsOf(version=before.version))
    assert (old.version, old.topics[name].parts[0].end) == (before.version, 5)
    assert list(old.topics[name].parts[0].segments.ends) == [5]
    assert scope(stored, AsOf(time=before.time)).version >= before.version
    with pytest.raises(NoVersionError):
        scope(stored, AsOf(time=before.time - 1000))


def test_of_topics_of_one_name_the_last_one_comes_back(stored: StoredArchive) -> None:
    stored.put("orders", old_records(5), number="first")
    stored.put("orders", old_records(2), number="second")
    found = scope(stored)
    assert found.topics[TopicName("orders")].topic.id == "second"
    assert any("several topics of this name" in note.text for note in found.notes)


def test_a_log_that_was_cut_comes_back_as_the_source_had_it(stored: StoredArchive) -> None:
    stored.put("orders", old_records(20), cuts=[10])
    number = stored.fork("orders", 15)
    stored.put("orders", old_records(30, 15), number=number)
    found = scope(stored)
    (part,) = found.topics[TopicName("orders")].parts
    assert (part.id.topic_id, part.start, part.end) == (number, 0, 45)
    assert found.topics[TopicName("orders")].topic.id == "id-orders"
    (told,) = (note.text for note in found.notes if "was cut" in note.text)
    assert "offsets of histories: 0 to 14 of 0, 15 to 44 of 1; `--history 0`" in told
    (old,) = scope(stored, AsOf(history=0)).topics[TopicName("orders")].parts
    assert (old.id.topic_id, old.start, old.end, old.records) == ("id-orders", 0, 20, 20)


def test_other_names_and_those_that_collide(stored: StoredArchive) -> None:
    for topic in ("eu.orders", "us.orders", "eu.users"):
        stored.put(topic, old_records(2))
    rules = {"include": [r"(\w+)\.(?P<what>\w+)"], "rename": "old.{what}"}
    found = scope(stored, topics=rules)
    assert found.topics[TopicName("eu.users")].target == "old.users"
    assert {problem.about for problem in found.problems} == {"eu.orders", "us.orders"}
    assert all("would be named old.orders" in problem.text for problem in found.problems)


def test_an_archive_without_a_wanted_topic_is_a_problem(stored: StoredArchive) -> None:
    stored.put("orders", old_records(2))
    [problem] = scope(stored, topics={"include": ["users"]}).problems
    assert "no topic that matches" in problem.text


def test_what_was_pruned_since_is_told(stored: StoredArchive) -> None:
    first, second = stored.put("orders", old_records(10), cuts=[4])
    before = stored.log.state.version
    prune = Draft(writer=WRITER, kind=EntryKind.PRUNE, remove=(first.id,))
    stored.log.append(prune)
    found = scope(stored, AsOf(version=before))
    [part] = found.topics[TopicName("orders")].parts
    assert (part.start, part.end, part.records) == (4, 10, second.records)
    assert any("offsets 0 to 3 were pruned" in note.text for note in found.notes)


def test_records_that_retention_would_delete_are_counted(stored: StoredArchive) -> None:
    stored.describe("orders")
    [_, newer] = stored.put("orders", old_records(10), cuts=[4])
    made = scope(stored).topics[TopicName("orders")]
    state = stored.log.state
    assert newer.min_time is not None
    assert newer.max_time is not None
    assert expired(state, made, newer.max_time + 1) == 10
    assert expired(state, made, newer.max_time) == 4
    assert expired(state, made, 0) == 0


def test_partitions_know_who_they_were(stored: StoredArchive) -> None:
    stored.put("orders", old_records(1))
    [part] = scope(stored).topics[TopicName("orders")].parts
    assert part.id == PartitionId(CLUSTER, TopicId("id-orders"), 0)
    assert part.start == SourceOffset(0)


def test_a_range_of_offsets_and_of_times(stored: StoredArchive) -> None:
    records = old_records(20, 5)
    stored.put("orders", records, cuts=[9, 14])
    stored.put("orders", old_records(3), partition=2)
    name = TopicName("orders")

    def ranges(first: object, end: object) -> list[tuple[int, int]]:
        made = scope(stored, range={"from": first, "to": end}).topics[name]
        return [(part.start, part.end) for part in made.parts]

    assert ranges(7, 16) == [(7, 16), (3, 3)]
    assert ranges(None, 2) == [(5, 5), (0, 2)]
    assert ranges("100", None) == [(25, 25), (3, 3)]
    times = [
        datetime.fromtimestamp(records[place].timestamp / 1000, UTC).isoformat()
        for place in (0, 6, 9)
    ]
    assert ranges(times[1], times[2])[0] == (11, 14)
    assert ranges(times[0], None)[0] == (5, 25)
    assert ranges("2100-01-01T00:00:00Z", None) == [(25, 25), (3, 3)]
    found = scope(stored, range={"from": 7, "to": 16})
    [note] = [each for each in found.notes if each.about == "orders-0"]
    assert note.text == "offsets 7 to 15 come back of 5 to 24"
    assert found.topics[name].records == 9


def test_a_time_in_a_lost_object_is_a_problem(stored: StoredArchive) -> None:
    records = old_records(20)
    [_, gone] = stored.put("orders", records, cuts=[10])
    stored.put("users", old_records(2, days=1))
    stored.path(gone).unlink()
    time = datetime.fromtimestamp(records[15].timestamp / 1000, UTC).isoformat()
    found = scope(stored, range={"from": time})
    assert [*found.topics] == ["users"]
    [problem] = found.problems
    assert problem.about == "orders"
    assert "so it is not known which offset" in problem.text


def test_a_filter_is_told(stored: StoredArchive) -> None:
    stored.put("orders", old_records(5))
    stored.put("users", old_records(5))
    rule = {"topics": ["orders"], "keep": [{"key": {"prefixes": ["key 1"]}}]}
    found = scope(stored, filter=[rule])
    assert found.topics[TopicName("orders")].change.rules == ("all but key",)
    assert not found.topics[TopicName("users")].change.drops
    assert any("only some records come back (all but key)" in each.text for each in found.notes)


def test_another_number_of_partitions(stored: StoredArchive) -> None:
    stored.describe("orders", partitions=3)
    stored.put("orders", old_records(5), partition=1)
    stored.put("orders", old_records(4), partition=2)
    name = TopicName("orders")

    def placed(**how: object) -> RestoreScope:
        return scope(stored, partitions=[{"topics": ["orders"], **how}])

    assert placed(count=5).topics[name].count == 5
    assert not placed(count=5).problems
    [problem] = placed(count=2).problems
    assert "records of the others would have no place; use `place: key`" in problem.text
    found = placed(count=2, place="key")
    made = found.topics[name]
    assert [(tp.partition, part.end) for tp, part in made.by_partition.items()] == [
        (0, 18),
        (1, 18),
    ]
    assert [part.id.topic_id for part in made.written] != ["id-orders"] * 2
    assert any("3 partitions become 2" in each.text for each in found.notes)
    rules = [{"topics": ["orders"], "count": 2, "place": "key"}]
    [problem] = scope(stored, partitions=rules, offsets="identical").problems
    assert "get other offsets" in problem.text
