"""The demo of links: `python scripts/link.py FOLDER`.

Producers and consumers know one address, that of a gateway. While they run, their topics and groups
move to another cluster; the first one is killed and comes back, and they move back to it. They are
told of no error. At the end every record is counted: as sent, as read by each group, and as the
cluster has it. All that it starts is stopped.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acts import PATIENCE, going, same, say, step, towpath, two_clusters, until
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.model.errors import TowpathError

TOPICS, PARTITIONS, RATE = ("orders", "payments"), 4, 200
GROUPS = {
    "billing": {"heartbeat.interval.ms": 500},
    "shipping": {"group.protocol": "consumer"},
}
FILE = """source: {{bootstrap: "{source}"}}
target: {{bootstrap: "{target}"}}
link: demo
topics: {{include: ["orders", "payments"]}}
records: {{start: earliest}}
groups: {{include: ["billing", "shipping"]}}
gateway:
  listen: "{listen}"        # what clients name as bootstrap
  nodes: {{1: "{node}"}}     # where they reach broker 1 of the source
  targets: {{1: "{other}"}}   # and broker 1 of the target
  hold: 10s
"""


def main(folder: Path) -> None:
    """Play the whole demo in a folder."""
    with two_clusters(folder) as (source, target):
        Demo(folder, source, target).play()


class Demo:
    """The story.

    Args:
        folder: Where the files of the link go.
        source: The cluster that clients are on.
        target: The one that they move to.
    """

    def __init__(self, folder: Path, source: LocalCluster, target: LocalCluster) -> None:
        self.source, self.target = source, target
        self.file, self.back = folder / "demo.yaml", folder / "demo-back.yaml"
        listen, node, other = (f"127.0.0.1:{port}" for port in ports.reserve(3))
        of = {"source": source.bootstrap, "target": target.bootstrap}
        self.file.write_text(FILE.format(**of, listen=listen, node=node, other=other))
        self.clients = Clients(listen)

    def play(self) -> None:
        """Play all acts in their order."""
        step(f"Topics {' and '.join(TOPICS)} for the source")
        admin = AdminClient({"bootstrap.servers": self.source.bootstrap, "log_level": 0})
        for done in admin.create_topics(
            [NewTopic(each, PARTITIONS, 1) for each in TOPICS]
        ).values():
            done.result()
        step("The link: towpath link create, towpath run, towpath gateway, with this file")
        sys.stderr.write(self.file.read_text())
        towpath("link", "create", self.file)
        with going("gateway", self.file) as gateway, going("run", self.file) as run:
            until(lambda: is_open(self.clients.bootstrap), "the gateway", gateway)
            with self.clients.going():
                self.there(run)
                self.alone()
                self.home()
                step("Producers end, and groups read the rest")
                self.clients.end()
        self.count()

    def there(self, run: Any) -> None:
        """Move everything to the target."""
        step("Two producers and two groups, which know the gateway alone")
        until(lambda: follows(self.target, self.source), "the mirror to catch up", run)
        self.clients.tell(3)
        step("What a promotion would do, which changes nothing: towpath promote --dry-run")
        towpath("promote", self.file, "--dry-run")
        step("Topics and groups move: towpath promote")
        towpath("promote", self.file)
        self.clients.tell(3)

    def alone(self) -> None:
        """Show that the source is not needed."""
        step("kill -9 for the old cluster: nobody needs it")
        self.source.kill9(1)
        self.clients.tell(4)
        say("... and it is started again")
        self.source.restart(1)

    def home(self) -> None:
        """Move everything back."""
        step("The way back: towpath failback turns the link round, and towpath run copies back")
        towpath("failback", self.file, "--yes")
        with going("run", self.back) as run:
            until(lambda: follows(self.source, self.target), "the link back to catch up", run)
            self.clients.tell(2)
            step("Topics and groups move back: towpath revert")
            towpath("revert", self.file)
            self.clients.tell(3)

    def count(self) -> None:
        """Count every record; end with 1 if one is missing or doubled, or an error was told."""
        step("Every record, counted")
        clients = self.clients
        ok = [same("in the cluster", everything(self.source), clients.sent)]
        ok += [same(f"read by {each}", clients.read[each], clients.sent) for each in GROUPS]
        say(f"errors: {len(clients.errors)}")
        say(f"the longest that a producer waited for an answer: {clients.slowest * 1000:,.0f} ms")
        for group in GROUPS:
            say(f"the longest that {group} got no record: {clients.silent[group] * 1000:,.0f} ms")
        if not all(ok) or clients.errors:
            sys.exit(f"records were lost or doubled, or errors told: {clients.errors[:5]}")


@dataclass
class Clients:
    """Producers and groups that know nothing but a gateway.

    Attributes:
        bootstrap: Its address.
        sent: What was acknowledged; `read`, what each group was given.
        errors: What applications were told.
        slowest: Seconds that the slowest record waited for its answer.
        silent: Seconds that each group was without a record, at the longest.
    """

    bootstrap: str
    sent: Counter[bytes] = field(default_factory=Counter)
    read: dict[str, Counter[bytes]] = field(
        default_factory=lambda: {each: Counter() for each in GROUPS}
    )
    errors: list[str] = field(default_factory=list)
    slowest: float = 0.0
    silent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(GROUPS, 0.0))
    _writing: threading.Event = field(default_factory=threading.Event)
    _reading: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def going(self) -> Iterator[None]:
        """Let all clients run until the block ends."""
        threads = [threading.Thread(target=self._write, args=(topic,)) for topic in TOPICS]
        threads += [threading.Thread(target=self._read, args=(group,)) for group in GROUPS]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._writing.set()
            self._reading.set()
            for each in threads:
                each.join()

    def tell(self, seconds: int) -> None:
        """Show each second what clients did, for a time."""
        for _ in range(seconds):
            time.sleep(1)
            read = ", ".join(f"{each} {self.read[each].total():,}" for each in GROUPS)
            sent = self.sent.total()
            say(f"   acknowledged {sent:,}; read by {read}; errors {len(self.errors)}")

    def end(self) -> None:
        """Stop producers, and wait until groups have read the rest."""
        self._writing.set()
        end = time.monotonic() + PATIENCE
        before = None
        while before != (before := self.sent.total()) or any(
            len(self.read[each]) < before for each in GROUPS
        ):
            if time.monotonic() > end:
                say("groups did not read everything")
                return
            time.sleep(1)

    def _write(self, topic: str) -> None:
        config = {"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 2}
        producer = Producer({**config, "log_level": 0, "error_cb": self._told})
        begun, count = time.monotonic(), 0
        while not self._writing.is_set():
            while count < (time.monotonic() - begun) * RATE:
                value = b"%s-%d" % (topic.encode(), count)
                sent = _Sent(self, value, time.monotonic())
                producer.produce(topic, value, key=value, on_delivery=sent)
                count += 1
            producer.poll(0.02)
        if producer.flush(PATIENCE):
            self._told("records were not acknowledged")

    def _read(self, group: str) -> None:
        config = {"bootstrap.servers": self.bootstrap, "group.id": group, **GROUPS[group]}
        more = {"auto.offset.reset": "earliest", "log_level": 0, "error_cb": self._told}
        with closing(Consumer({**config, **more})) as consumer:
            consumer.subscribe([*TOPICS])
            last = None
            while not self._reading.is_set():
                message = consumer.poll(0.2)
                if message is None:
                    continue
                if message.error() is not None:
                    self._told(message.error())
                    continue
                self.read[group][message.value() or b""] += 1
                now = time.monotonic()
                if not self._writing.is_set():
                    self.silent[group] = max(self.silent[group], now - (last or now))
                last = now

    def _told(self, error: Any) -> None:
        self.errors.append(str(error))

    def acknowledged(self, value: bytes, waited: float) -> None:
        """Count a record that the cluster took."""
        with self._lock:
            self.sent[value] += 1
            self.slowest = max(self.slowest, waited)


@dataclass(frozen=True)
class _Sent:
    clients: Clients
    value: bytes
    at: float

    def __call__(self, error: Any, _: Any) -> None:
        """Take the answer to a record."""
        if error is not None:
            self.clients.errors.append(str(error))
        else:
            self.clients.acknowledged(self.value, time.monotonic() - self.at)


def everything(cluster: LocalCluster) -> Counter[bytes]:
    """Return all values of the topics."""
    config = {"group.id": "count", "enable.partition.eof": True, "enable.auto.commit": False}
    found, ended = Counter[bytes](), 0
    with closing(Consumer({"bootstrap.servers": cluster.bootstrap, **config})) as consumer:
        places = [(topic, part) for topic in TOPICS for part in range(PARTITIONS)]
        consumer.assign([TopicPartition(*each, OFFSET_BEGINNING) for each in places])
        while ended < len(places):
            message = consumer.poll(PATIENCE)
            if message is None:
                sys.exit(f"no record came within {PATIENCE:.0f} s")
            error = message.error()
            if error is None:
                found[message.value() or b""] += 1
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # the client's own name
                ended += 1
            else:
                sys.exit(str(error))
    return found


def follows(behind: LocalCluster, ahead: LocalCluster) -> bool:
    """Return whether a cluster has what another has, but for what came within half a second."""
    try:
        has, wanted = sum(ends(behind)), sum(ends(ahead))
    except KafkaException:  # topics that are being made have no leaders yet
        return False
    return 0 < has >= wanted - RATE


def ends(cluster: LocalCluster) -> list[int]:
    """Return the end offset of each partition, 0 where there is no topic yet."""
    config = {"bootstrap.servers": cluster.bootstrap, "group.id": "count", "log_level": 0}
    with closing(Consumer(config)) as consumer:
        known = consumer.list_topics(timeout=PATIENCE).topics
        parts = [(topic, part) for topic in TOPICS if topic in known for part in range(PARTITIONS)]
        return [
            (consumer.get_watermark_offsets(TopicPartition(*each), PATIENCE) or (0, 0))[1]
            for each in parts
        ]


def is_open(address: str) -> bool:
    """Return whether somebody listens at an address."""
    return not ports.is_free(int(address.rpartition(":")[2]))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except TowpathError as error:
        sys.exit(str(error))
