"""Topics that another tool mirrored: real logs whose times do not ascend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clients.groups import standing
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    commit,
    consume,
    create_topic,
    delete_before,
    end_offsets,
    produce,
)
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.groups.foreign import OFFSET_HEADER
from towpath.groups.foreign_offsets import translate
from towpath.groups.reading import Log
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.ledger.offsets import Exactness
from towpath.model.nouns import Side, SourceOffset, TopicName, TopicPartition
from towpath.settings import ClusterConfig, load

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
TIMES = [1000, 5000, 2000, 9000, 2000, 2000, 2000, 2000, 7000, 3000]
"""They overlap, and several records are of one millisecond."""


@contextmanager
def logs(source: LocalCluster, target: LocalCluster, topic: str) -> Iterator[tuple[Log, Log]]:
    with ExitStack() as stack:
        made = []
        for cluster, side in ((source, Side.SOURCE), (target, Side.TARGET)):
            config = ClusterConfig(bootstrap=cluster.addresses)
            admin = stack.enter_context(Admin(config, side))
            client = stack.enter_context(Client(config, side, admin))
            made.append(Log(admin, client, TopicPartition(TopicName(topic), 0)))
        yield made[0], made[1]


def copied(
    source: LocalCluster, target: LocalCluster, topic: str, copy: str, *, headers: bool
) -> None:
    """Copy as another tool does, ten offsets further, by two transactions."""
    records = consume(source.bootstrap, topic)
    made = [
        replace(
            each,
            headers=((OFFSET_HEADER.decode(), each.offset.to_bytes(8, "big")),) if headers else (),
        )
        for each in records
    ]
    produce(target.bootstrap, copy, [Record(None, b"x")] * 10)
    delete_before(target.bootstrap, copy, 10)
    half = len(made) // 2
    for part in (made[:half], made[half:]):
        produce(target.bootstrap, copy, part, config={"transactional.id": copy})


@pytest.mark.parametrize("headers", [True, False])
def test_every_offset_of_a_topic_with_times_in_any_order(
    source: LocalCluster, target: LocalCluster, new_name: NewName, headers: bool
) -> None:
    """The source's markers lie before some of the offsets, and behind the last record."""
    topic = new_name("foreign")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, topic, 1, {"retention.ms": "-1"})
    for part in (TIMES[:4], TIMES[4:]):
        records = [Record(b"k", b"%d" % at, (), time) for at, time in enumerate(part, 10)]
        produce(source.bootstrap, topic, records, config={"transactional.id": topic})
    copied(source, target, topic, topic, headers=headers)
    there = consume(target.bootstrap, topic)
    assert len(there) == len(TIMES)
    at_source = [each.offset for each in consume(source.bootstrap, topic)]
    with logs(source, target, topic) as (ours, theirs):
        for offset in range(end_offsets(source.bootstrap, topic)[1] + 1):
            answer = translate(ours, theirs, SourceOffset(offset))
            left = [value for at, value in zip(at_source, there, strict=True) if at >= offset]
            read = [each for each in there if each.offset >= answer.offset]
            if headers or not offset:
                assert (read, answer.exactness) == (left, Exactness.EXACT), offset
            else:
                assert answer.exactness is Exactness.BOUNDED
                assert read[-len(left) :] == left or not left, offset
        produce(source.bootstrap, topic, [Record(b"k", b"late", (), 1)])
        late = translate(ours, theirs, SourceOffset(end_offsets(source.bootstrap, topic)[1]))
        if headers:
            end = end_offsets(target.bootstrap, topic)[1]
            assert (late.offset, late.exactness) == (end, Exactness.NOT_YET)
        else:
            assert (late.offset, late.exactness) == (10, Exactness.BOUNDED)


def test_a_link_brings_groups_over_in_topics_of_another_tool(
    source: LocalCluster, target: LocalCluster, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    """The tool has given the topic another name, and the link itself mirrors another topic."""
    topic = new_name("foreign")
    mirror = Mirror(tmp_path, source, target, new_name("beside"))
    mirror.create()
    create_topic(source.bootstrap, topic)
    create_topic(target.bootstrap, f"eu.{topic}")
    records = [Record(b"k", b"%d" % at) for at in range(10)]
    produce(source.bootstrap, topic, records)
    copied(source, target, topic, f"eu.{topic}", headers=True)
    mirror.catch_up()
    group = f"{topic}-billing"
    commit(source.bootstrap, group, topic, 0, 7)
    file = tmp_path / f"{mirror.topic}.yaml"
    foreign = f"foreign: {{include: ['{topic}'], rename: 'eu.{{topic}}'}}"
    file.write_text(file.read_text() + f"groups: {{include: ['{topic}-.*'], {foreign}}}\n")
    done = here("groups", "sync", str(file), "-o", "json")
    assert done.code == 0, done.said
    [told] = done.json["groups"]
    [position] = told["positions"]
    assert position["answer"] == {"offset": 18, "exactness": "exact", "why": ""}
    assert (position["mirror"]["topic"], position["outcome"]) == (f"eu.{topic}", "CONFIRMED")

    with open_link(load(file)) as link:
        sync = GroupSync(link)
        assert sync.once().good
        delete_before(target.bootstrap, f"eu.{topic}", 20)
        [later] = sync.once().positions
    assert later.answer is not None
    assert (later.answer.offset, later.answer.exactness) == (20, Exactness.BEFORE_START)
    assert standing(target, group, f"eu.{topic}") == (20, "")
