"""What a cluster holds that is taken to KRaft, and clients that never stop meanwhile."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from tests.support.kafka import PATIENCE, Record, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.config import ClusterConfig
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.dev.zookeeper_configs import MECHANISM
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.deadline import Deadline
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret

TRAFFIC, GROUP = "traffic", "readers"
USER, PASSWORD = "alice", Secret("alice-secret")
OTHER = "bob"
_EVERY = 0.01
"""Seconds between two records of the traffic."""

_TOPIC_CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"},
    {"retention.ms": "86400000"},
    {"max.message.bytes": "2000000", "compression.type": "lz4"},
)


def _acl(kind: Resource, name: str, operation: Operation, **others: Any) -> Acl:
    facts: dict[str, Any] = {
        "pattern": Pattern.LITERAL,
        "principal": f"User:{USER}",
        "host": "*",
        "permission": Permission.ALLOW,
    }
    return Acl(resource=kind, name=name, operation=operation, **facts | others)


ACLS = (
    _acl(Resource.TOPIC, TRAFFIC, Operation.READ),
    _acl(Resource.TOPIC, TRAFFIC, Operation.WRITE),
    _acl(Resource.GROUP, GROUP, Operation.READ),
    _acl(Resource.TOPIC, "topic-", Operation.READ, pattern=Pattern.PREFIXED),
    _acl(
        Resource.TOPIC, "topic-3", Operation.READ,
        principal=f"User:{OTHER}", host="10.1.2.3", permission=Permission.DENY,
    ),
    _acl(Resource.CLUSTER, "kafka-cluster", Operation.IDEMPOTENT_WRITE),
    _acl(Resource.TRANSACTIONAL_ID, "t-", Operation.ALL, pattern=Pattern.PREFIXED),
)  # fmt: skip

_ALICE, _APP = Entity(EntityKind.USER, USER), Entity(EntityKind.CLIENT_ID, "app one")
QUOTAS = {
    Quota((_APP,), QuotaKey.PRODUCER_BYTE_RATE): 100_000_000.0,
    Quota((_ALICE,), QuotaKey.CONSUMER_BYTE_RATE): 1_000_000.0,
    Quota((_ALICE, _APP), QuotaKey.REQUEST_PERCENTAGE): 180.5,
    Quota((Entity(EntityKind.USER, None),), QuotaKey.PRODUCER_BYTE_RATE): 50_000_000.0,
    Quota((Entity(EntityKind.IP, "10.9.8.7"),), QuotaKey.CONNECTION_CREATION_RATE): 7.0,
}
"""Of each kind one: a client, a user, both, all other users, an address."""


def seed(cluster: ZooKeeperCluster, *, records: int = 500) -> None:
    """Fill a cluster: 12 topics, 7 ACLs, 2 users, 5 quotas, dynamic configs, and records."""
    admin = AdminClient({"bootstrap.servers": cluster.back_door})
    topics = [
        NewTopic(f"topic-{i}", 1 + i % 3, config=_TOPIC_CONFIGS[i % len(_TOPIC_CONFIGS)])
        for i in range(11)
    ]
    topics.append(NewTopic(TRAFFIC, 3))
    for made in admin.create_topics(topics).values():
        made.result(PATIENCE)
    with Admin(ClusterConfig(bootstrap=tuple(cluster.back_door.split(","))), Side.SOURCE) as own:
        for user, password in ((USER, PASSWORD), (OTHER, Secret("bob-secret"))):
            own.users.set_credential(Credential(user, Mechanism(MECHANISM)), 4096, password)
        for error in own.acls.create(ACLS).failed.values():
            raise error
        for quota, value in QUOTAS.items():
            own.quotas.change(quota, value)
        set_default_config(own, "num.replica.fetchers", "2")
    set_broker_config(cluster, 1, "background.threads", "11")
    values = [Record(b"%d" % i, b"seed %d" % i) for i in range(records)]
    produce(cluster.back_door, "topic-0", values, {"acks": "all"})


def set_default_config(admin: Admin, key: str, value: str) -> None:
    """Change a dynamic config of all brokers, which librdkafka cannot name."""
    change = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(
        resources=[change(4, "", [change.AlterableConfig(key, 0, value)])], validate_only=False
    )
    said = admin._control.ask_any(request, Deadline.after(PATIENCE), "changing a config")
    assert not said.responses[0].error_code, said


def set_broker_config(cluster: ZooKeeperCluster, broker: int, key: str, value: str) -> None:
    """Change a dynamic config of a broker."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.BROKER, str(broker), incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.back_door})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)


@dataclass(frozen=True, slots=True)
class TrafficResult:
    """What clients lived through.

    Attributes:
        sent: Records that the producer gave to librdkafka.
        failed: Of those, the ones that it could not deliver.
        lost: Delivered, and at no offset that the consumer saw.
        doubled: At more than one offset.
        pause: Longest time between two deliveries, in seconds.
        read_pause: Longest time between two records that the consumer got, in seconds.
    """

    sent: int
    failed: int
    lost: int
    doubled: int
    pause: float
    read_pause: float

    @property
    def whole(self) -> bool:
        """Whether no record failed, was lost or doubled."""
        return self.failed == self.lost == self.doubled == 0


@dataclass
class _Clock:
    """The longest time between two events."""

    last: float | None = None
    longest: float = 0.0

    def tick(self) -> None:
        now = time.monotonic()
        if self.last is not None:
            self.longest = max(self.longest, now - self.last)
        self.last = now


@dataclass
class Traffic:
    """A producer (acks=all, idempotent, 100 records a second) and a consumer, both logged in.

    Use it as a context manager, then ask for `result`.

    Attributes:
        kills: Whether brokers are killed meanwhile. A broker that starts while no controller leads
            tells clients that no topic exists, and librdkafka asks again after five minutes only.
    """

    cluster: ZooKeeperCluster
    kills: bool = False
    sent: int = 0
    _failures: list[str] = field(default_factory=list)
    _delivered: set[int] = field(default_factory=set)
    _seen: dict[tuple[int, int], int] = field(default_factory=dict)
    _deliveries: _Clock = field(default_factory=_Clock)
    _reads: _Clock = field(default_factory=_Clock)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _broken: list[BaseException] = field(default_factory=list)
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=6))

    def __enter__(self) -> Traffic:
        for work in self._produce, self._consume:
            thread = threading.Thread(target=self._guarded, args=(work,), daemon=True)
            thread.start()
            self._threads.append(thread)
        wait_until(lambda: bool(self._broken or self._seen), "the first record arrived")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._over.set()
        if kind is not None:
            return  # the cluster may be gone, and nobody asks for the result
        for thread in self._threads:
            thread.join(PATIENCE)

    def result(self) -> TrafficResult:
        """Return what happened, once both have ended."""
        assert self._over.is_set()
        assert not self._broken, self._broken
        assert not any(each.is_alive() for each in self._threads), "a client hangs"
        times = Counter(self._seen.values())
        return TrafficResult(
            sent=self.sent,
            failed=len(self._failures),
            lost=len(self._delivered - set(times)),
            doubled=sum(count - 1 for count in times.values()),
            pause=self._deliveries.longest,
            read_pause=self._reads.longest,
        )

    def flowing(self) -> None:
        """Wait until a record that is sent from now on has been consumed."""
        mark = self.sent
        end = time.monotonic() + 2 * PATIENCE
        while not self._broken and max(self._seen.values(), default=0) <= mark:
            assert time.monotonic() < end, f"records do not flow: {self._standing()}"
            time.sleep(0.02)
        assert not self._broken, self._broken

    def _standing(self) -> str:
        """Say how far each client is, and what it was told last."""
        read = dict(sorted(self._seen))
        return (
            f"{self.sent} sent, the last delivered {max(self._delivered, default=None)},"
            f" {len(self._failures)} failed {self._failures[-1:]},"
            f" read up to {max(self._seen.values(), default=None)}, offsets {read},"
            f" said last: {[*self._said]}"
        )

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # the thread of the test raises it
            self._broken.append(error)

    def _produce(self) -> None:
        producer = Producer(
            {
                **self._login,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "error_cb": lambda error: self._said.append(f"producer: {error}"),
            }
        )
        following = time.monotonic()
        while not self._over.is_set():
            producer.produce(TRAFFIC, b"%d" % self.sent, on_delivery=self._delivery)
            self.sent += 1
            following += _EVERY
            while (left := following - time.monotonic()) > 0:
                producer.poll(left)
        assert not producer.flush(PATIENCE), "records could not be sent"

    def _delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failures.append(str(error))
            return
        self._deliveries.tick()
        self._delivered.add(int(message.value() or b"-1"))

    def _consume(self) -> None:
        consumer = Consumer(
            {
                **self._login,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "error_cb": lambda error: self._said.append(f"consumer: {error}"),
            }
        )
        consumer.subscribe([TRAFFIC])
        patience: float | None = None
        try:
            while patience is None or time.monotonic() < patience:
                if self._over.is_set() and patience is None:
                    patience = time.monotonic() + PATIENCE
                if patience and not self._threads[0].is_alive() and self._complete():
                    return
                message = consumer.poll(0.05)
                if message is None:
                    continue
                if (error := message.error()) is None:
                    self._take(message)
                else:
                    self._said.append(f"consumer: {error}")
        finally:
            consumer.close()

    def _take(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        if (partition, offset) not in self._seen:
            self._reads.tick()
        self._seen[partition, offset] = int(message.value() or b"-1")

    @property
    def _login(self) -> dict[str, Any]:
        soon = {"topic.metadata.refresh.interval.ms": 5_000} if self.kills else {}
        return {**_login(self.cluster), **soon}

    def _complete(self) -> bool:
        return self._delivered <= set(self._seen.values())


def _login(cluster: ZooKeeperCluster) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": MECHANISM,
        "sasl.username": USER,
        "sasl.password": PASSWORD.reveal(),
        "log_level": 0,
        # Begun anew, consumers of librdkafka 2.16.0 may stand still for good. Clients of one broker
        # must: while it starts it tells of no broker, and they forget it (librdkafka #5301).
        "metadata.recovery.strategy": "none" if len(cluster.brokers) > 1 else "rebootstrap",
    }
