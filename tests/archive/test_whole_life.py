"""An archive in each kind of store by its commands alone, from the first run to the restore."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.clusters import Clusters
from tests.support.clusters.losses import lose
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, wait_until
from tests.support.objects.stores import KINDS, empty_section

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark,
    pytest.mark.alone,
    pytest.mark.timeout(600),
]
FORGOTTEN = b"k3"


class Life:
    """An archive, and what people ask it for."""

    def __init__(self, archive: Archive, here: Here) -> None:
        self._file, self._here = str(archive.file), here

    def ask(self, *words: str) -> Any:
        """Return what a command that needs no Spark tells as JSON."""
        kind, verb, *more = words
        ended = self._here(kind, verb, self._file, *more, "--output", "json")
        assert ended.code == 0, ended.said
        return ended.json

    def do(self, *words: str) -> Any:
        """Return what a command on Spark tells as JSON."""
        kind, verb, *more = words
        ended = self._here.on_spark(kind, verb, self._file, *more, "--output", "json")
        assert ended.code == 0, ended.said
        return ended.json

    def count(self, *more: str) -> int:
        """Return how many records a query finds."""
        told = self.do("archive", "query", "select count(*) as n from records", *more)
        return int(told["rows"][0]["n"])


def write(cluster: SharedCluster, topic: str, first: int, end: int) -> None:
    for at in range(first, end, 10):
        records = [Record(b"k%d" % (n % 7), b"%d" % n) for n in range(at, at + 10)]
        produce(cluster.bootstrap, topic, records)


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_life_of_an_archive(
    request: pytest.FixtureRequest,
    clusters: Clusters,
    target: SharedCluster,
    tmp_path: Path,
    new_name: Callable[[str], str],
    here: Here,
    kind: str,
) -> None:
    source, name = clusters.get("cut"), new_name("life")
    topic = create_topic(source.bootstrap, f"{name}.a")
    store = empty_section(request, kind, tmp_path)
    archive = Archive(
        tmp_path,
        source,
        name,
        store,
        segments={"max_messages": 30},
        grace="0s",
        target={"bootstrap": target.bootstrap},
        restore={"retention": "unlimited", "topics": {"rename": "{topic}.restored"}},
    )
    life = Life(archive, here)
    write(source, topic, 0, 100)
    life.do("archive", "run", "--until-caught-up")
    before = consume(source.bootstrap, topic)
    lose(source, {f"{topic}-0": 0.5})
    wait_until(lambda: 0 < end_offsets(source.bootstrap, topic)[1] < 100, "it lost half")
    write(source, topic, 500, 700)
    life.do("archive", "run", "--until-caught-up")
    after = consume(source.bootstrap, topic)
    fork = len(after) - 200
    assert (life.count(), life.count("--history", "0")) == (len(after), len(before))

    listed = life.ask("archive", "ls", topic)["segments"]
    assert {each["history"] for each in listed} == {0, 1}
    shown = life.ask("archive", "show", listed[0]["place"]["key"])
    assert all(each["object_says_the_same"] for each in shown["segments"])
    for scope in (("--deep",), ("--against", "source")):
        verified = life.do("archive", "verify", *scope)
        assert sum(each["records"] for each in verified["partitions"]) == 300
    merged = life.do("archive", "compact", "--now")
    assert (merged["segments_read"], merged["segments_written"]) == (len(listed), 2)
    assert (life.count(), life.count("--history", "0")) == (len(after), len(before))

    forgotten = life.do("archive", "forget", FORGOTTEN.decode(), "--yes", "--reason", "asked")
    old, new = ([each for each in some if each.key != FORGOTTEN] for some in (before, after))
    assert (life.count(), life.count("--history", "0")) == (len(new), len(old))
    gone = sum(each.key == FORGOTTEN for each in (*before, *after[fork:]))
    assert forgotten["records"] == gone
    life.do("archive", "verify", "--deep")

    life.ask("restore", "plan")
    restored = life.do("restore", "run", "--verify")
    assert restored["comparison"]["proven"]
    assert consume(target.bootstrap, f"{topic}.restored") == new
    life.ask("restore", "status")
    life.ask("restore", "thaw")
    archive.write(restore={"name": f"{name}.old", "topics": {"rename": "{topic}.old"}})
    proven = life.do("restore", "run", "--history", "0", "--verify")
    assert proven["comparison"]["proven"]
    assert consume(target.bootstrap, f"{topic}.old") == old

    version = life.ask("archive", "status")["version"]
    pruned = life.ask("archive", "prune", "--up-to-version", str(version), "--yes")
    assert pruned["pruned"]
    life.do("archive", "verify", "--deep")
    assert life.ask("archive", "ls", topic)["segments"] == []
    texts = [each["text"] for each in life.ask("archive", "events")["events"]]
    assert any("pruned of" in each for each in texts)
