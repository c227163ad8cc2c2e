"""Records that tests write to a source."""

from __future__ import annotations

import random

from confluent_kafka import Producer

from tests.support.kafka import Record
from tests.support.mirror import Mirror

ODD = (
    Record(None, None, (), 1),
    Record(b"", b"", (), 2),
    Record(b"k", None, (("null", None), ("empty", b"")), 3),
    Record(b"k", b"v", (("same", b"1"), ("same", b"2"), ("same", b"1")), 4),
    Record(b"\xff\xfe", b"\x00" * 3, (("bytes", b"\xff\x00\xfe"),), 5),
    Record(b"x", b"y" * 200_000, (), 1_700_000_000_000),
)


COMPACT = {
    "cleanup.policy": "compact",
    "segment.ms": "50",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "100",
}


def numbered(first: int, end: int) -> list[Record]:
    return [Record(b"k", b"%d" % number) for number in range(first, end)]


def transactions(mirror: Mirror, rng: random.Random, steps: int) -> None:
    """Write interleaved transactions, committed, aborted and plain, and leave none open."""
    boot, topic = mirror.source.bootstrap, mirror.topic
    writers = [
        Producer({"bootstrap.servers": boot, "transactional.id": f"{topic}-{i}", "linger.ms": 1})
        for i in range(3)
    ]
    for writer in writers:
        writer.init_transactions(30)
    plain = Producer({"bootstrap.servers": boot})
    is_open = [False] * 3
    for step in range(steps):
        i = rng.randrange(4)
        if i == 3:
            plain.produce(topic, b"plain-%d" % step)
            plain.flush()
            continue
        if not is_open[i]:
            writers[i].begin_transaction()
            is_open[i] = True
        if rng.random() < 0.6:
            for n in range(rng.randrange(1, 20)):
                writers[i].produce(topic, b"%d-%d-%d" % (i, step, n), partition=0)
            writers[i].flush()
        else:
            commit = rng.random() < 0.6
            (writers[i].commit_transaction if commit else writers[i].abort_transaction)(30)
            is_open[i] = False
    for i in range(3):
        if is_open[i]:
            writers[i].commit_transaction(30)
