"""Parts of an archive on a broker: a range, a filter, other partitions; what contradicts them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Ended, Here
from tests.support.kafka import Record as Consumed
from tests.support.kafka import consume, create_topic, end_offsets, produce
from towpath.dev.broker import LocalCluster
from towpath.wire.placing import hashes
from towpath.wire.plain import Record

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
NewName = Callable[[str], str]


@pytest.fixture
def stored(tmp_path: Path, target: LocalCluster, new_name: NewName) -> StoredArchive:
    return StoredArchive(tmp_path, new_name("shop"), target.bootstrap)


def plain(record: Consumed | Record) -> tuple[object, ...]:
    named = [(n.decode() if isinstance(n, bytes) else n, v) for n, v in record.headers]
    return record.key, record.value, tuple(named), record.timestamp


def run(here: Here, file: Path, *words: str, code: int = 0) -> Ended:
    ended = here.on_spark("restore", "run", str(file), *words)
    assert ended.code == code, ended.said
    return ended


def test_a_range_comes_back_at_its_own_offsets(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic = new_name("orders")
    stored.describe(topic, {"retention.ms": "-1"}, partitions=2)
    records = old_records(60, 5)
    stored.put(topic, records, cuts=[20, 41])
    stored.put(topic, old_records(10), partition=1)
    until = datetime.fromtimestamp(records[40].timestamp / 1000, UTC).isoformat()
    words = ("--from", "12", "--to", until)
    planned = here("restore", "plan", str(stored.file()), *words)
    assert planned.code == 0, planned.said
    assert "offsets 12 to 44 come back of 5 to 64" in planned.out
    run(here, stored.file(), *words)
    found = consume(target.bootstrap, topic, [0])
    assert [each.offset for each in found] == [*range(12, 45)]
    assert [*map(plain, found)] == [*map(plain, records[7:40])]
    assert end_offsets(target.bootstrap, topic, 1) == (10, 10)
    status = here("restore", "status", str(stored.file()), *words, "--output", "json")
    assert status.json["complete"], status.said
    # Started again with a later end, it goes on; with an earlier beginning, it refuses.
    run(here, stored.file(range={"from": 12}))
    assert [each.offset for each in consume(target.bootstrap, topic, [0])] == [*range(12, 65)]
    refused = here("restore", "plan", str(stored.file()))
    assert refused.code == 3, refused.said
    assert "began" in refused.out
    assert "at offset 12, and not at 5" in refused.out


def test_a_filter_and_another_name(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic, copy = new_name("orders"), new_name("copy")
    stored.describe(topic, {"retention.ms": "-1"})
    records = old_records(50)
    stored.put(topic, records, cuts=[17, 30])
    rules = {
        "topics": [topic],
        "keep": [{"key": {"prefixes": ["key 1", "key 2"]}}, {"header": {"name": "n"}}],
        "drop": [{"tombstones": True}, {"since": records[45].timestamp}],
    }
    kept = [
        each
        for each in records[:45]
        if (each.key or b"")[:5] in (b"key 1", b"key 2") or each.headers
        if each.value is not None
    ]
    file = stored.file(filter=[rules], topics={"rename": copy})
    planned = here("restore", "plan", str(file))
    assert planned.code == 0, planned.said
    assert "only some records come back" in planned.out
    ended = run(here, file, "--output", "json")
    assert [*map(plain, consume(target.bootstrap, copy))] == [*map(plain, kept)]
    [row] = ended.json["partitions"]
    assert (row["mode"], row["state"], row["target"]) == ("mapped", "restored", copy)
    refused = here("restore", "plan", str(stored.file(topics={"rename": copy})))
    assert refused.code == 3, refused.said
    assert "another `restore.filter`" in refused.out


def test_keys_keep_their_order_among_other_partitions(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    """The archived topic had two partitions first, then three."""
    topic = new_name("orders")
    stored.describe(topic, {"retention.ms": "-1"}, partitions=3)
    names = [b"key %d" % n for n in range(30)]
    home = dict(zip(names, hashes(pa.array(names, pa.binary())).tolist(), strict=True))
    logs: list[list[Record]] = [[], [], []]
    for number in range(400):
        key = names[number * 7 % 30]
        log = logs[home[key] % (2 if number < 200 else 3)]
        log.append(Record(key, b"%d" % number, (), 1_700_000_000_000 + number, len(log)))
    for partition, log in enumerate(logs):
        stored.put(topic, log, cuts=[len(log) // 2], partition=partition)
    rules = {"topics": [topic], "count": 4, "place": "key"}
    file = stored.file(partitions=[rules])
    planned = here("restore", "plan", str(file))
    assert planned.code == 0, planned.said
    assert "3 partitions become 4" in planned.out
    run(here, file)
    seen: list[int] = []
    for partition in range(4):
        found = consume(target.bootstrap, topic, [partition])
        assert {home[each.key or b""] % 4 for each in found} <= {partition}
        for name in names:
            of_key = [int(each.value or b"") for each in found if each.key == name]
            assert of_key == sorted(of_key)
            seen += of_key
    assert sorted(seen) == [*range(400)]
    run(here, file)
    assert sum(len(consume(target.bootstrap, topic, [n])) for n in range(4)) == 400
    refused = here("restore", "plan", str(stored.file()))
    assert refused.code == 3, refused.said
    assert "placed otherwise" in refused.out


def test_a_topic_that_is_there_with_other_partitions(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic = create_topic(target.bootstrap, new_name("orders"), 5)
    stored.describe(topic, {"retention.ms": "-1"}, partitions=2)
    stored.put(topic, records := old_records(30))
    rules = {"topics": [topic], "count": 3, "place": "key"}
    planned = here("restore", "plan", str(stored.file(partitions=[rules])))
    assert planned.code == 3, planned.said
    assert "placed by their keys among 3" in planned.out
    planned = here(
        "restore", "plan", str(stored.file(partitions=[{**rules, "place": "same", "count": 1}]))
    )
    assert planned.code == 2, planned.said
    run(here, stored.file(partitions=[rules | {"count": 5}]))
    found = [each for n in range(5) for each in consume(target.bootstrap, topic, [n])]
    assert sorted(map(plain, found), key=repr) == sorted(map(plain, records), key=repr)


def test_a_range_of_chosen_keys_into_a_topic_that_lives(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    """It is refused with the way out; with `shared` it is done, behind what is there."""
    topic = create_topic(target.bootstrap, new_name("orders"), 2)
    produce(target.bootstrap, topic, [Consumed(b"mine", b"mine", partition=0)] * 3)
    stored.describe(topic, {"retention.ms": "-1"}, partitions=2)
    records = old_records(60)
    stored.put(topic, records, cuts=[20, 41])
    stored.put(topic, old_records(10), partition=1)
    chosen = {"topics": [topic], "keep": [{"key": {"prefixes": ["key 1", "key 2"]}}]}
    words = ("--from", "12", "--to", "25")
    refused = here("restore", "plan", str(stored.file(filter=[chosen])), *words)
    assert refused.code == 3, refused.said
    assert "restore.topics.shared" in " ".join(refused.out.split())
    file = stored.file(filter=[chosen], topics={"shared": True})
    planned = here("restore", "plan", str(file), *words)
    assert planned.code == 0, planned.said
    assert "offsets will be mapped" in " ".join(planned.out.split())
    run(here, file, *words, "--verify")
    found = consume(target.bootstrap, topic, [0])
    assert [each.key for each in found[:3]] == [b"mine"] * 3
    prefixes = (b"key 1", b"key 2")
    wanted = [each for each in records[12:25] if (each.key or b"").startswith(prefixes)]
    assert [*map(plain, found[3:])] == [*map(plain, wanted)]
    assert consume(target.bootstrap, topic, [1]) == []
