"""The demo of failovers: `python scripts/failover.py FOLDER`.

A mirror is frozen, the source takes records that the mirror never copies, and is killed by -9.
Clients go on on the target, and the mirror wakes up too late. The source comes back, the link is
turned round, the records that the source alone has are salvaged, and clients go back. At the end
every record is counted on every side. All that it starts is stopped.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from acts import PATIENCE, mirror, same, say, step, towpath, two_clusters, until
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from towpath.dev.broker import LocalCluster
from towpath.model.errors import TowpathError

TOPIC, GROUP, PARTITIONS = "orders", "billing", 3
QUIET = logging.getLogger("quiet")
"""Where clients go on about the cluster that was killed, until they are collected."""
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
FILE = """source: {{bootstrap: "{source}"}}
target: {{bootstrap: "{target}"}}
link: demo
topics: {{include: ["{topic}"]}}
records: {{start: earliest}}
groups: {{include: ["{group}"]}}
"""


def main(folder: Path) -> None:
    """Play the whole demo in a folder."""
    with two_clusters(folder) as (source, target):
        Demo(folder, source, target).play()


class Demo:
    """The story, and what was written and read in it.

    Args:
        folder: Where the files of the link go.
        source: The cluster that is lost, and comes back.
        target: The cluster on which clients go on.
    """

    def __init__(self, folder: Path, source: LocalCluster, target: LocalCluster) -> None:
        self.source, self.target = source, target
        self.file, self.back = folder / "demo.yaml", folder / "demo-back.yaml"
        self.read: Counter[bytes] = Counter()
        self.file.write_text(
            FILE.format(source=source.bootstrap, target=target.bootstrap, topic=TOPIC, group=GROUP)
        )

    def play(self) -> None:
        """Play all acts in their order."""
        self.lose()
        self.go_on()
        self.come_back()
        self.count()

    def lose(self) -> None:
        """Mirror, freeze the mirror, and lose the source with records that it alone has."""
        step(f"Topic {TOPIC} for the source; group {GROUP} reads a part of it")
        # It would go on about the cluster that is killed.
        admin = AdminClient({"bootstrap.servers": self.source.bootstrap, "log_level": 0})
        for done in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
            done.result()
        write(self.source, "order", 30_000)
        self.read += read_on(self.source, most=20_000)
        step("The mirror: towpath run, with this file")
        sys.stderr.write(self.file.read_text())
        with mirror(self.file) as run:
            until(lambda: ends(self.target) == ends(self.source), "the mirror to catch up", run)
            until(lambda: stands(self.target) == stands(self.source), "the group to follow", run)
            step("The rehearsal, which changes nothing: towpath failover --dry-run")
            towpath("failover", self.file, "--dry-run", codes=(0, 3))
            step("The mirror freezes (SIGSTOP); 212 more orders; kill -9 for the source")
            tree = [run, *run.children(recursive=True)]
            for each in tree:
                each.suspend()
            write(self.source, "late", 212)
            self.source.kill9(1)
            step("towpath failover: the source is gone, the target is enough")
            towpath("failover", self.file, "--yes", codes=(0, 3))
            step("The mirror wakes up: it is refused, and ends")
            for each in tree:
                each.resume()
            ended = run.wait(PATIENCE)
            say(f"towpath run ended with {ended}")

    def go_on(self) -> None:
        """Let clients go on on the target."""
        step(f"Clients go on on the target: {GROUP} at the next record, producers with new orders")
        self.read += read_on(self.target)
        write(self.target, "new", 5_000)
        self.read += read_on(self.target)
        say(f"{self.read.total():,} records read by {GROUP} on both sides so far")

    def come_back(self) -> None:
        """Turn the link round, and let clients go back."""
        step("The source is back; what each side alone has: towpath failback --dry-run")
        self.source.restart(1)
        towpath("failback", self.file, "--dry-run", codes=(0, 3))
        step("towpath failback --wins target: salvage first, then the link is turned round")
        towpath("failback", self.file, "--wins", "target", "--yes")
        towpath("salvage", "ls", self.file, codes=(0, 3))
        step("The proof, and the way back for clients: towpath verify, towpath cutover")
        towpath("verify", self.back)
        towpath("cutover", self.back)
        self.read += read_on(self.source)

    def count(self) -> None:
        """Count every record on every side; end with 1 if one is missing or doubled."""
        step("Every record, counted")
        orders, late, new = names("order", 30_000), names("late", 212), names("new", 5_000)
        kept = f"{TOPIC}.salvage"
        ok = [
            same(f"{TOPIC} on the target", everything(self.target, TOPIC), orders + new),
            same(f"{kept} on the target", everything(self.target, kept), late),
            same(f"{TOPIC} at the source", everything(self.source, TOPIC), orders + late + new),
            same(f"read by {GROUP}", self.read, orders + new),
        ]
        if not all(ok):
            sys.exit("records were lost or doubled")


def names(kind: str, count: int) -> Counter[bytes]:
    """Return the values of the records of one kind, each once."""
    return Counter(b"%s-%d" % (kind.encode(), number) for number in range(count))


def write(cluster: LocalCluster, kind: str, count: int) -> None:
    """Write records of one kind, each with a key."""
    config = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True}
    with closing(Producer(config, logger=QUIET)) as producer:
        for value in names(kind, count):
            producer.produce(TOPIC, value, key=value)
            producer.poll(0)
        if producer.flush(PATIENCE):
            sys.exit(f"not all records of kind {kind} were acknowledged")
    say(f"{count:,} records written")


def read_on(cluster: LocalCluster, most: int = 1 << 62) -> Counter[bytes]:
    """Read as a member of the group from where it stands, to the end or some; then commit."""
    found: Counter[bytes] = Counter()
    with closing(consumer_of(cluster)) as consumer:
        consumer.subscribe([TOPIC])
        for value in values(consumer, PARTITIONS):
            found[value] += 1
            if found.total() == most:
                break
        places = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
        if places:
            consumer.commit(offsets=places, asynchronous=False)
    say(f"{GROUP} read {found.total():,} records")
    return found


def everything(cluster: LocalCluster, topic: str) -> Counter[bytes]:
    """Return all values of a topic."""
    with closing(consumer_of(cluster)) as consumer:
        parts = consumer.list_topics(topic, PATIENCE).topics[topic].partitions
        consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in parts])
        return Counter(values(consumer, len(parts)))


def values(consumer: Consumer, partitions: int) -> Iterator[bytes]:
    """Yield values until the ends of all partitions."""
    ended: set[int] = set()
    while len(ended) < partitions:
        message = consumer.poll(PATIENCE)
        if message is None:
            sys.exit(f"no record came within {PATIENCE:.0f} s")
        error = message.error()
        if error is None:
            yield message.value() or b""
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # the client's own name
            ended.add(message.partition() or 0)
        else:
            sys.exit(str(error))


def consumer_of(cluster: LocalCluster) -> Consumer:
    """Return a consumer of the group that begins where the group stands."""
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        },
        logger=QUIET,
    )


def ends(cluster: LocalCluster) -> list[int]:
    """Return the end offset of each partition, nothing where there is no topic yet."""
    with closing(consumer_of(cluster)) as consumer:
        if TOPIC not in consumer.list_topics(timeout=PATIENCE).topics:
            return []
        parts = [TopicPartition(TOPIC, part) for part in range(PARTITIONS)]
        return [(consumer.get_watermark_offsets(each, PATIENCE) or (0, 0))[1] for each in parts]


def stands(cluster: LocalCluster) -> list[int]:
    """Return where the group stands in each partition."""
    with closing(consumer_of(cluster)) as consumer:
        parts = [TopicPartition(TOPIC, part) for part in range(PARTITIONS)]
        return [each.offset for each in consumer.committed(parts, PATIENCE)]


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except TowpathError as error:
        sys.exit(str(error))
