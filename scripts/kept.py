"""The proof of the demo's archive: `python scripts/kept.py keep|lose|compare ...`.

`keep FILE BOOTSTRAP TOPIC...` notes what a consumer reads of topics: the offset, key, value,
headers and time of each record. `lose BOOTSTRAP TOPIC...` deletes them. `compare FILE BOOTSTRAP`
reads them again, and proves that a consumer gets the same as before.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient

_PATIENCE = 30.0
"""Seconds without a record, or until a topic is gone, after which something is wrong."""

Kept = dict[str, tuple[int, int, int, str]]
"""By partition: number of records, first and last offset, and the digest of all of them."""


def keep(bootstrap: str, topics: Iterable[str]) -> Kept:
    """Return what a consumer reads of topics."""
    return dict(
        sorted((tp, told) for topic in topics for tp, told in _partitions(bootstrap, topic))
    )


def compared(before: Kept, bootstrap: str) -> Iterator[str]:
    """Yield a sentence for each topic; exit if a consumer reads anything else than before."""
    topics = sorted({tp.rpartition("-")[0] for tp in before})
    now = keep(bootstrap, topics)
    for tp in sorted(before.keys() | now.keys()):
        if before.get(tp) != now.get(tp):
            sys.exit(f"{tp}: it was {before.get(tp)} before, and is {now.get(tp)} now")
    for topic in topics:
        own = [told for tp, told in now.items() if tp.rpartition("-")[0] == topic]
        yield (
            f"{topic}: {sum(each[0] for each in own):,} records in {len(own)} partitions, each with"
            " the offset, key, value, headers and time that it had"
        )


def lose(bootstrap: str, topics: list[str]) -> str:
    """Delete topics, and wait until they are gone; return a sentence about it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for answer in admin.delete_topics(topics, operation_timeout=_PATIENCE).values():
        answer.result(_PATIENCE)
    return f"{', '.join(topics)}: deleted at {bootstrap}"


def _partitions(bootstrap: str, topic: str) -> Iterator[tuple[str, tuple[int, int, int, str]]]:
    with closing(_consumer(bootstrap)) as consumer:
        places = consumer.list_topics(topic, _PATIENCE).topics[topic].partitions
        for part in places:
            consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING)])
            digest, offsets = hashlib.sha256(), list[int]()
            for record in _read(consumer):
                offsets.append(record.offset() or 0)
                digest.update(_row(record))
            first, last = (offsets[0], offsets[-1]) if offsets else (-1, -1)
            yield f"{topic}-{part}", (len(offsets), first, last, digest.hexdigest())


def _read(consumer: Consumer) -> Iterator[Message]:
    """Yield records until the end of the one partition."""
    while True:
        message = consumer.poll(_PATIENCE)
        if message is None:
            sys.exit(f"no record came within {_PATIENCE:.0f} s")
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # the client's own name
            return
        else:
            sys.exit(str(error))


def _row(record: Message) -> bytes:
    """Return all that must be the same of a record."""
    told = (
        record.offset(), record.timestamp(), record.key(), record.value(), record.headers()
    )  # fmt: skip
    return repr(told).encode()


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "demo-proof",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )


def main(arguments: list[str]) -> None:
    """Do what the module says."""
    match arguments:
        case ["keep", file, bootstrap, *topics]:
            kept = keep(bootstrap, topics)
            Path(file).write_text(json.dumps(kept))
            count = sum(each[0] for each in kept.values())
            sys.stdout.write(f"{count:,} records of {', '.join(topics)} noted\n")
        case ["lose", bootstrap, *topics]:
            sys.stdout.write(lose(bootstrap, topics) + "\n")
        case ["compare", file, bootstrap]:
            noted = json.loads(Path(file).read_text())
            before = {tp: (told[0], told[1], told[2], told[3]) for tp, told in noted.items()}
            for text in compared(before, bootstrap):
                sys.stdout.write(text + "\n")
        case _:
            sys.exit("usage: python scripts/kept.py keep|lose|compare ...")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1:])
