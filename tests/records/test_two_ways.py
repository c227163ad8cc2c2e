"""Two links between two clusters, one each way, that tell records apart by a header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side

pytestmark = pytest.mark.broker
PROVENANCE, OFFSET = "redpanda-migrator-provenance", "redpanda-migrator-offset"
CHANGES = (
    "changes:\n"
    "  - topics: ['.*']\n"
    f"    drop: [{{provenance: {PROVENANCE}}}]\n"
    "    headers: [{name: env, value: test}]\n"
    "    redpanda: {}\n"
)


def test_each_record_is_once_on_each_side(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    there = Mirror(tmp_path, source, target, new_name("two-ways"), more=CHANGES)
    there = replace(there, link=f"{there.topic}-there")
    back = replace(there, source=target, target=source, link=f"{there.topic}-back")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, there.topic)
        records = [Record(b"k", b"%s %d" % (cluster.bootstrap.encode(), n)) for n in range(10)]
        produce(cluster.bootstrap, there.topic, records)
    for _ in range(3):
        there.catch_up()
        back.catch_up()
    sides = [consume(cluster.bootstrap, there.topic, (0,)) for cluster in (source, target)]
    assert [len(each) for each in sides] == [20, 20]
    values = [sorted(record.value or b"" for record in each) for each in sides]
    assert values[0] == values[1]
    assert len({*values[0]}) == 20

    for mirror, found in ((there, sides[1]), (back, sides[0])):
        config = mirror.config
        with Admin(config.source, Side.SOURCE) as admin:
            home = str(admin.cluster.id()).encode()
        copied = [dict(record.headers) for record in found if record.headers]
        assert len(copied) == 10
        assert {each[PROVENANCE] for each in copied} == {home}
        assert {each["env"] for each in copied} == {b"test"}
        offsets = [int.from_bytes(each[OFFSET] or b"", "big") for each in copied]
        assert offsets == list(range(10))
        assert all(len(each[OFFSET] or b"") == 8 for each in copied)
