"""Two links between two clusters, one each way, that tell records apart by a header."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.logs.migrator import OURS, THEIRS, THIRD, as_connect, connect, last, recorded
from tests.support.logs.migrator import PROVENANCE as PROVENANCE_BYTES
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import build
from towpath.model.nouns import Side
from towpath.records.session import LinkSession
from towpath.settings import ClusterConfig
from towpath.wire import plain

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
    with ExitStack() as stack:
        links = [stack.enter_context(open_link(mirror.config)) for mirror in (there, back)]
        for each in links:
            each.prepare()
        for _ in range(3):
            there.catch_up()
            back.catch_up()
        for each in links:  # both run
            session = LinkSession(each.name, each.where, each.target)
            session.start()
            stack.callback(session.close)
        plans = build(there.config), build(back.config)
    for plan in plans:
        assert (plan.topics, plan.problems) == ({there.topic: there.topic}, ())
        said = [note.text for note in plan.notes]
        assert any("that link writes the header" in text for text in said), said
        assert any("records of a third cluster" in text for text in said), said
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


def cluster_id(cluster: LocalCluster) -> str:
    config = ClusterConfig.model_validate({"bootstrap": cluster.bootstrap})
    with Admin(config, Side.SOURCE) as admin:
        return str(admin.cluster.id())


class Migrator:
    """Redpanda's migrator from one cluster to another one, by its rules and in its form."""

    def __init__(self, source: LocalCluster, target: LocalCluster, topic: str) -> None:
        self._source, self._target, self._topic = source, target, topic
        self._ids = cluster_id(source), cluster_id(target)
        self._at = 0
        self.left_out = 0

    def catch_up(self) -> None:
        """Bring over what came since the last time."""
        found = consume(self._source.bootstrap, self._topic)[self._at :]
        self._at += len(found)
        for each in found:
            headers = tuple((name.encode(), value) for name, value in each.headers)
            record = plain.Record(each.key, each.value, headers, each.timestamp)
            done = connect(record, *self._ids)
            assert done != "fails", f"it would stop for ever at {each}"
            self.left_out += done == "left out"
            if done == "written":
                made = as_connect(record, self._ids[0], each.offset)
                produce(self._target.bootstrap, self._topic, [as_client(made)])


def as_client(record: plain.Record) -> Record:
    headers = tuple((name.decode(), value) for name, value in record.headers)
    return Record(record.key, record.value, headers, record.timestamp)


def test_one_direction_is_redpandas_migrator_and_each_record_is_once_on_each_side(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    """What it had brought before the link began is the recorded set, with these clusters' ids."""
    there = Mirror(tmp_path, source, target, new_name("two-ways"), more=CHANGES)
    ids = {THEIRS: cluster_id(source), OURS: cluster_id(target)}
    before = [each for each in recorded(ids) if last(each, PROVENANCE_BYTES) != THIRD.encode()]
    for cluster, own in ((source, b"s"), (target, b"t")):
        create_topic(cluster.bootstrap, there.topic)
        clients = [Record(b"k", b"%s%d" % (own, n)) for n in range(10)]
        brought = [as_client(each) for each in before] if cluster is source else []
        produce(cluster.bootstrap, there.topic, brought + clients)
    back = Migrator(target, source, there.topic)
    for _ in range(3):
        there.catch_up()
        back.catch_up()
    here, other = (consume(cluster.bootstrap, there.topic) for cluster in (source, target))
    clients_own = sorted(b"%s%d" % (own, n) for own in (b"s", b"t") for n in range(10))
    assert sorted(each.value or b"" for each in here) == sorted([*b_values(before), *clients_own])
    # What it brought from the target, by the header that counts, never goes back there.
    assert sorted(each.value or b"" for each in other) == sorted([b"a", b"b", b"i", *clients_own])
    assert back.left_out == 13, "what the link brought, which says where it comes from"
    homes = {dict(each.headers)[PROVENANCE] for each in other if each.headers}
    assert homes == {ids[THEIRS].encode()}


def b_values(records: list[plain.Record]) -> list[bytes]:
    return [each.value or b"" for each in records]


def test_a_chain_of_clusters_stops_records_of_a_third_one_too(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    chain = (
        "changes:\n"
        "  - topics: ['.*']\n"
        "    drop: [{provenance: path}]\n"
        "    headers: [{name: path, of: chain}]\n"
    )
    there = Mirror(tmp_path, source, target, new_name("chain"), more=chain)
    there = replace(there, link=f"{there.topic}-there")
    back = replace(there, source=target, target=source, link=f"{there.topic}-back")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, there.topic)
    brought = Record(b"k", b"third", (("path", THIRD.encode()),))
    produce(source.bootstrap, there.topic, [brought, Record(b"k", b"own")])
    for _ in range(3):
        there.catch_up()
        back.catch_up()
    here, other = (consume(cluster.bootstrap, there.topic) for cluster in (source, target))
    for found in (here, other):
        assert sorted(each.value or b"" for each in found) == [b"own", b"third"]
    (copy,) = (each for each in other if each.value == b"third")
    assert dict(copy.headers)["path"] == f"{THIRD},{cluster_id(source)}".encode()
