"""`archive prune` removes the first segments, by age, size or version; the log says so first."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.archive.compacting import compacted, held_records, objects
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here
from towpath.archive.config.retention import RetentionConfig
from towpath.archive.log import ArchiveReading, CommitLog
from towpath.archive.upkeep.pruning import PruneWishes, plan_partitions, prune, wishes_of
from towpath.model.errors import ConfigError
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.slow

DAY = 86_400_000


@pytest.fixture
def archive(tmp_path: Path) -> MixedArchive:
    """Return an archive of two partitions, whose records are 40 to 31 days old."""
    made = MixedArchive(tmp_path)
    made.config()
    for number in (0, 1):
        for age in range(10):
            records = old_records(10, age * 10, 40 - age)
            made.own(records, age * 10, age * 10 + 10, number)
    return made


def planned(archive: MixedArchive, wishes: PruneWishes) -> list[tuple[int, int, int]]:
    state = archive.log.state
    then = archive.log.as_of(wishes.version) if wishes.version else None
    found = plan_partitions(state, wishes, now_ms(), then)
    return [(each.id.partition, each.end, len(each.segments)) for each in found]


def rule(**told: str) -> PruneWishes:
    return PruneWishes(rules=(RetentionConfig.model_validate(told),))


def test_age_size_and_version(archive: MixedArchive) -> None:
    assert planned(archive, rule(max_age="365d")) == []
    assert planned(archive, rule(max_age="852h")) == [(0, 50, 5), (1, 50, 5)]
    assert planned(archive, rule(max_size="1B")) == [(0, 90, 9), (1, 90, 9)]
    assert planned(archive, PruneWishes(version=4)) == [(0, 40, 4)]
    both = PruneWishes(rules=rule(max_age="924h").rules, version=12, topics=("ord.*",))
    assert planned(archive, both) == [(0, 100, 10), (1, 20, 2)]
    assert planned(archive, PruneWishes(version=12, topics=("other",))) == []
    first = RetentionConfig.model_validate({"topics": ["orders"], "max_age": "3650d"})
    keeps = PruneWishes(rules=(first, *rule(max_age="1d").rules))
    assert planned(archive, keeps) == []


def test_each_partition_keeps_the_size_that_it_may_have(archive: MixedArchive) -> None:
    """The newest segment stays, however large it is: a compaction may have made it."""
    table = archive.log.state.table()
    sizes = [each.place.size for each in table.between(partition(0)) if each.place]
    for kept, end in ((sum(sizes[-3:]), 70), (sum(sizes[-3:]) + 1, 60), (sum(sizes), 0)):
        found = planned(archive, rule(max_size=f"{kept}B"))
        assert next((end for number, end, _ in found if number == 0), 0) == end


def test_old_segments_behind_young_ones_stay(archive: MixedArchive) -> None:
    """Only the beginning can go: what is left tiles."""
    archive.own(old_records(10, 100, 400), 100, 110)
    assert planned(archive, rule(max_age="852h")) == [(0, 50, 5), (1, 50, 5)]


def test_it_is_in_the_log_before_anything_is_deleted(archive: MixedArchive) -> None:
    before = objects(archive.store, REGION)
    with ArchiveReading(archive.store, REGION, "restore") as reading:
        reading.passed(archive.log.state.version)
        done = prune(archive.config(), rule(max_age="852h"), threading.Event()).done
        assert done is not None
        assert (done.swept, done.waiting) == (0, 10)
        assert objects(archive.store, REGION) == before
    for number in (0, 1):
        left = held_records(archive.store, archive.log.state, partition(number))
        assert [each.record.offset for each in left] == list(range(50, 100))
    again = prune(archive.config(), rule(max_age="852h"), threading.Event())
    assert again.partitions == ()
    assert again.done is not None
    assert again.done.swept == 10
    assert len(objects(archive.store, REGION)) == 10
    assert compacted(archive.config()).written == 2


def test_something_must_be_asked_for(archive: MixedArchive) -> None:
    with pytest.raises(ConfigError, match="no option says what may go"):
        wishes_of(archive.config(), None, None, None)
    config = archive.config(retention=[{"max_age": "1d"}])
    assert wishes_of(config, None, None, None).rules == config.retention
    assert wishes_of(config, None, None, 7).rules == ()
    (given,) = wishes_of(config, 86400.0, 10, None).rules
    assert [given.max_age, given.max_size] == [86400, 10]


def test_the_command_shows_it_first(archive: MixedArchive, here: Here) -> None:
    words = ("archive", "prune", str(archive.file), "--older-than", "852h")
    shown = here(*words)
    assert shown.code == 0, shown.said
    assert "would be removed: 10 segments of 2 partitions, 100 records" in shown.out
    assert CommitLog.open(archive.store, REGION).state.version == 20
    done = here(*words, "--yes", "--output", "json")
    assert done.code == 0, done.said
    assert (done.json["pruned"], done.json["objects_deleted"]) == (True, 10)
    assert "nothing to prune" in here(*words).out
    wrong = here("archive", "prune", str(archive.file), "--older-than", "35")
    assert (wrong.code, "--older-than: 35 has no unit" in wrong.err) == (2, True)
    nothing = here("archive", "prune", str(archive.file))
    assert nothing.code == 2
    zero = here("archive", "prune", str(archive.file), "--older-than", "0s", "--keep-size", "0B")
    assert zero.code == 2, zero.said
    assert "--older-than: 0.000s is not between 1s and 36500d" in zero.err
    assert "--keep-size: 0B is not between" in zero.err


def test_histories_are_told_apart(tmp_path: Path, here: Here) -> None:
    archive = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    archive.put("orders", old_records(20))
    number = archive.fork("orders", 10)
    archive.put("orders", old_records(15, 10), number=number)
    words = ("archive", "prune", str(archive.file()), "--older-than", "1d")
    rows = [line.split()[:2] for line in here(*words).out.splitlines()]
    assert ["orders", "0"] in rows
    assert ["orders", "0~1"] in rows
    told = here(*words, "--output", "json").json["partitions"]
    assert {(each["topic_id"], each["history"]) for each in told} == {
        ("id-orders", 0), ("id-orders", 1)
    }  # fmt: skip
