"""The file says what is changed; it is edited; plan, copies and status go by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.copying.chaos import Copiers, copy_without_receipts
from tests.support.here import Here
from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
BEFORE = "changes:\n  - {topics: ['.*'], headers: [{name: env, value: prod}]}\n"
AFTER = "changes:\n  - {topics: ['.*'], drop: [{tombstones: true}], redact: [env]}\n"


def records(first: int) -> list[Record]:
    return [
        Record(b"k", None if n % 5 == 4 else b"%d" % n, (("env", b"test"),))
        for n in range(first, first + 10)
    ]


def test_an_edited_file_holds_behind_what_a_killed_copier_wrote_under_the_old_one(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    copiers: Copiers,
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("edited"), timeout="2s", more=BEFORE)
    mirror.create()
    produce(source.bootstrap, mirror.topic, records(0))
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.IDENTICAL, "")
    produce(source.bootstrap, mirror.topic, records(10))
    copy_without_receipts(mirror, copiers, 20)
    produce(source.bootstrap, mirror.topic, records(20))
    opened = mirror.books().change
    edited = replace(mirror, more=AFTER)
    file = tmp_path / f"{mirror.topic}.yaml"
    assert "its change differs" not in here("plan", str(file)).said
    said = " ".join(here("plan", write(edited)).said.split())
    assert "its change differs from the one it was opened with (1 partition)" in said
    assert "becomes mapped (1 partition), because rules drop records" in said
    for _ in range(2):
        [done] = edited.catch_up()
        assert done.error == ""
    assert done.mode is Mode.MAPPED
    found = consume(target.bootstrap, mirror.topic)
    assert [(r.value, dict(r.headers)["env"]) for r in found] == [
        *((r.value, b"prod") for r in records(0) + records(10)),
        *((r.value, b"REDACTED") for r in records(20) if r.value is not None),
    ]
    books = edited.books()
    assert books.change not in {opened, ""}
    assert [source for source, _, _ in books.changed] == [20]
    [row] = here("status", str(file), "--output", "json").json["partitions"]
    assert row["change"] == books.change
    assert dict(row["tally"]) == {"dropped:tombstones": 2, "headers": 20, "redacted": 8}


def write(mirror: Mirror) -> str:
    """Write the file of a mirror, and return its path."""
    return str(mirror.folder / f"{mirror.config.link}.yaml")
