"""The consumer of the demo that moves: `python scripts/consumer.py begin|end ...`.

`begin SOURCE GROUP TOPIC COUNT` reads some records at the source as a member of a group. `end
SOURCE TARGET GROUP TOPIC` goes on as a member of the same group on the target, and proves that both
parts together are each record of the source exactly once.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

_PATIENCE = 30.0
"""Seconds without a record after which something is wrong."""

Row = tuple[int, bytes | None, bytes | None, int]
"""What must be the same of a record on both sides: partition, key, value, timestamp."""


def begin(source: str, group: str, topic: str, count: int) -> str:
    """Read some records as a member of a group, and commit; return a sentence about it."""
    with closing(_consumer(source, group, "earliest")) as consumer:
        consumer.subscribe([topic])
        places: dict[int, int] = {}
        for number, record in enumerate(_read(consumer), 1):
            places[_part(record)] = (record.offset() or 0) + 1
            if number == count:
                break
        wanted = [each.partition for each in consumer.assignment()]
        stands = [TopicPartition(topic, part, places.get(part, 0)) for part in wanted]
        consumer.commit(offsets=stands, asynchronous=False)
    told = ", ".join(f"{topic}-{each.partition} at {each.offset}" for each in sorted(stands))
    return f"group {group} has read {count:,} records, and stands in {told}"


def end(source: str, target: str, group: str, topic: str) -> Iterator[str]:
    """Read the rest on the target as a member of the same group; yield sentences about it."""
    whole, stood = _everything(source, group, topic)
    with closing(_consumer(target, group, "error")) as consumer:
        consumer.subscribe([topic])
        rest = list(_read(consumer))
    before = [each for each in whole if (each.offset() or 0) < stood[_part(each)]]
    left = [each for each in whole if (each.offset() or 0) >= stood[_part(each)]]
    first = _first(rest)
    for part, record in sorted(_first(left).items()):
        there = first.get(part)
        if there is None or _row(there) != _row(record):
            sys.exit(f"{topic}-{part}: the next record at the source was not the next one read")
        yield (
            f"{topic}-{part}: the next record at the source has offset {record.offset()}; the"
            f" consumer went on with it, at offset {there.offset()} of the target"
        )
    if Counter(map(_row, [*before, *rest])) != Counter(map(_row, whole)):
        sys.exit("a record is missing, or was read twice")
    yield (
        f"{len(before):,} records read at the source and {len(rest):,} on the target are the"
        f" {len(whole):,} of the topic, each exactly once"
    )


def _everything(source: str, group: str, topic: str) -> tuple[list[Message], dict[int, int]]:
    """Return all records of a topic, and where a group stands in it."""
    with closing(_consumer(source, group, "earliest")) as consumer:
        parts = consumer.list_topics(topic, _PATIENCE).topics[topic].partitions
        places = consumer.committed([TopicPartition(topic, part) for part in parts], _PATIENCE)
        stood = {each.partition: max(0, each.offset) for each in places}
        consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in parts])
        return list(_read(consumer)), stood


def _read(consumer: Consumer) -> Iterator[Message]:
    """Yield records until the ends of all partitions."""
    ended: set[int] = set()
    while not ended or ended != {each.partition for each in consumer.assignment()}:
        message = consumer.poll(_PATIENCE)
        if message is None:
            sys.exit(f"no record came within {_PATIENCE:.0f} s")
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # the client's own name
            ended.add(_part(message))
        else:
            sys.exit(str(error))


def _first(records: Iterable[Message]) -> dict[int, Message]:
    """Return the first record of each partition."""
    found: dict[int, Message] = {}
    for each in records:
        found.setdefault(_part(each), each)
    return found


def _part(record: Message) -> int:
    return record.partition() or 0


def _row(record: Message) -> Row:
    return _part(record), record.key(), record.value(), record.timestamp()[1]


def _consumer(bootstrap: str, group: str, reset: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": reset,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )


def main(arguments: list[str]) -> None:
    """Do what the module says."""
    match arguments:
        case ["begin", source, group, topic, count]:
            sys.stdout.write(begin(source, group, topic, int(count)) + "\n")
        case ["end", source, target, group, topic]:
            for text in end(source, target, group, topic):
                sys.stdout.write(text + "\n")
        case _:
            sys.exit("usage: python scripts/consumer.py begin|end ...")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1:])
