"""The records of the quarantine topic: their bytes, and what is read of a real topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kafka import Record, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books.refused import disjoint
from towpath.ledger.entries import RefusedRecords
from towpath.ledger.quarantine import writer
from towpath.ledger.quarantine.format import (
    HEADER,
    KEY_HEADER,
    QuarantinedRecord,
    QuarantineKey,
    ReplayMark,
    decode,
)
from towpath.ledger.quarantine.reader import QuarantineReader
from towpath.model.changes import Undeliverable
from towpath.model.errors import RefusedError
from towpath.model.nouns import (
    QUARANTINE,
    LinkName,
    ProducerId,
    Side,
    SourceOffset,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import ClusterConfig
from towpath.wire import plain

LINK = LinkName("shop")
KEY = QuarantineKey(LINK, TopicName("orders"), 3, SourceOffset(4711), ProducerId(1 << 40))
WHY = Reason.of(
    ReasonCode.RECORD_TOO_LARGE, partition="orders-3", offset=4711, size=9, target="eu.orders"
)
OWN = plain.Record(b"k", b"v", ((b"h", b"1"), (b"h", None)), 1_600_000_000_000, 4711)
RECORD = QuarantinedRecord(key=KEY, why=WHY, at=1_700_000_000_000, record=OWN)
MARK = ReplayMark(
    key=KEY,
    target=TopicPartition(TopicName("eu.orders"), 3),
    user="ann",
    host="ops-1",
    at=1_700_000_000_001,
)

parts = st.none() | st.binary(max_size=20)
names = st.sampled_from([b"", b"h", HEADER, KEY_HEADER, b"\xff"])
own_records = st.builds(
    plain.Record,
    parts,
    parts,
    st.lists(st.tuples(names, parts), max_size=4).map(tuple),
    st.integers(-1, 2**63 - 1),
    st.just(4711),
)


def test_the_bytes_of_a_record_that_is_set_aside_stay() -> None:
    made = RECORD.encode()
    assert made.key == b'["shop","orders",3,4711,1099511627776]'
    assert (made.value, made.timestamp) == (b"v", 1_700_000_000_000)
    (name, told), key, *own = made.headers
    assert (name, key, tuple(own)) == (b"towpath-quarantine", (KEY_HEADER, b"k"), OWN.headers)
    body = json.loads(told or b"")
    assert body.pop("why") == str(WHY)
    assert body == {
        "v": 1,
        "what": "record",
        "timestamp": 1_600_000_000_000,
        "reason": {
            "code": "RECORD_TOO_LARGE",
            "offset": 4711,
            "partition": "orders-3",
            "size": 9,
            "target": "eu.orders",
        },
        "change": "",
    }
    assert decode(made) == RECORD


def test_the_bytes_of_a_mark_stay() -> None:
    made = MARK.encode()
    assert (made.key, made.value) == (RECORD.encode().key, None)
    assert made.headers == (
        (
            HEADER,
            b'{"v":1,"what":"replayed","topic":"eu.orders","partition":3,"user":"ann",'
            b'"host":"ops-1"}',
        ),
    )
    assert decode(made) == MARK


@given(own_records)
def test_a_record_comes_back_as_it_was(own: plain.Record) -> None:
    """Also where its own headers have our names."""
    one = replace(RECORD, record=own)
    [read] = plain.decode(plain.encode([one.encode()]))
    assert decode(read) == one


@pytest.mark.parametrize(
    "record",
    [
        plain.Record(None, None),
        plain.Record(b"[]", None, ((HEADER, b"{}"),)),
        replace(RECORD.encode(), key=b"shop"),
        replace(RECORD.encode(), headers=RECORD.encode().headers[:1]),
        replace(RECORD.encode(), headers=RECORD.encode().headers[1:]),
        replace(MARK.encode(), headers=((HEADER, b'{"v":2,"what":"replayed"}'),)),
        replace(MARK.encode(), headers=((HEADER, None),)),
    ],
)
def test_what_others_wrote_is_no_record(record: plain.Record) -> None:
    assert decode(record) is None


def test_a_reason_of_a_later_version_is_told_by_its_sentence() -> None:
    made = RECORD.encode()
    told = json.loads(made.headers[0][1] or b"")
    later = json.dumps({**told, "reason": {"code": "LATER"}, "why": "too new"}).encode()
    read = decode(replace(made, headers=((HEADER, later), *made.headers[1:])))
    assert isinstance(read, QuarantinedRecord)
    assert read.why == Reason.of(ReasonCode.TOLD, text="too new")


def refused(first: int, end: int, name: str) -> RefusedRecords:
    return RefusedRecords(
        link=LINK,
        topic=KEY.topic,
        partition=KEY.partition,
        producer_id=KEY.producer_id,
        first=SourceOffset(first),
        end=SourceOffset(end),
        why=WHY,
        policy=Undeliverable.SKIP,
        generation=-1,
        name=name,
        at=0,
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)), max_size=8))
def test_the_first_decision_about_an_offset_holds(ranges: list[tuple[int, int]]) -> None:
    decisions = [refused(first, first + n, str(i)) for i, (first, n) in enumerate(ranges)]
    expected: dict[int, str] = {}
    for each in decisions:
        for offset in range(each.first, each.end):
            expected.setdefault(offset, each.name)
    found = disjoint(decisions)
    told = [(offset, each.name) for each in found for offset in range(each.first, each.end)]
    assert told == sorted(expected.items())


@pytest.fixture
def config(lone: LocalCluster) -> ClusterConfig:
    return ClusterConfig(bootstrap=lone.addresses)


@pytest.fixture
def admin(lone: LocalCluster, config: ClusterConfig) -> Iterator[Admin]:
    """Connect to a cluster without a quarantine topic."""
    with Admin(config, Side.TARGET) as made:
        door = AdminClient({"bootstrap.servers": lone.bootstrap})
        for name in made.topics.describe([QUARANTINE]):
            door.delete_topics([name])[name].result(10)
        wait_until(lambda: not made.topics.describe([QUARANTINE]), "it is gone")
        yield made


@given(st.lists(st.integers(0, 60), max_size=30), st.data())
def test_records_are_written_in_order_however_small_their_batches_must_be(
    sizes: list[int], data: st.DataObject
) -> None:
    """The target takes batches of 45 bytes of values; the first larger record is named."""
    together = data.draw(st.integers(50, 1000))
    made = [
        replace(
            RECORD, key=KEY._replace(offset=SourceOffset(n)), record=replace(OWN, value=b"v" * s)
        )
        for n, s in enumerate(sizes)
    ]
    taken: list[int] = []

    class Narrow:
        """A target that takes small batches."""

        def produce(self, _: TopicPartition, batch: bytes) -> None:
            records = plain.decode(batch)
            if sum(len(each.value or b"") for each in records) > 45:
                raise RefusedError("target", "producing", 10, "MESSAGE_TOO_LARGE")
            taken.extend(json.loads(each.key or b"")[3] for each in records)

    large = [n for n, size in enumerate(sizes) if size > 45]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_TOGETHER", together)
        if large:
            with pytest.raises(RefusedError) as caught:
                writer.put(Narrow(), made)  # type: ignore[arg-type]  # a stand-in
            assert caught.value.records == (large[0],)
        else:
            writer.put(Narrow(), made)  # type: ignore[arg-type]  # a stand-in
    assert taken == [*range(large[0] if large else len(sizes))]


@pytest.mark.broker
def test_a_topic_is_made_written_and_read(
    lone: LocalCluster, config: ClusterConfig, admin: Admin
) -> None:
    with Client(config, Side.TARGET, admin) as client:
        reader = QuarantineReader(admin, client)
        assert not reader.exists()
        assert reader.overview(LINK) == {}
        for _ in range(2):
            writer.prepare(admin)
        configs = admin.configs.describe([QUARANTINE])[QUARANTINE]
        assert (configs["cleanup.policy"].value, configs["retention.ms"].value) == ("delete", "-1")
        large = replace(OWN, value=b"\x00\xff" * 1_000_000)  # above the broker's own limit
        other = KEY._replace(link=LinkName("other"))
        many = [
            replace(RECORD, key=KEY._replace(offset=SourceOffset(n)), record=OWN)
            for n in range(2000)
        ]
        writer.put(client, [replace(RECORD, record=large), replace(RECORD, key=other), *many])
        writer.put(client, [RECORD])  # as a copier does that was killed before it could go on
        produce(lone.bootstrap, QUARANTINE, [Record(b"x", b"y")])
        found = reader.overview(LINK)
        assert len(found) == 2001
        assert next(iter(found)) == KEY
        assert found[KEY].size == large.size
        assert reader.foreign == 1
        read = list(reader.records(LINK))
        assert read[0].record.value == large.value
        assert [each.key.offset for each in read[1:]] == list(range(2000))
        reader.settle()
