"""The two clusters on which everything is measured, and the curtain before a topic.

A copier is to be warm when it meets the topic that counts, and the topic is to be full by then.
Kafka cannot rename topics, so the full topic is hidden: an ACL on the source denies everything on
it, brokers then do not list it, and deleting the ACL shows it with all its records at once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import KafkaError, UnknownTopicOrPartitionError

from bench.raw import Ends
from towpath.dev.broker import LocalCluster

BROKER_JVM = "-XX:TieredStopAtLevel=4"
"""Brokers that work for minutes get Java's full compiler; those of the tests do without."""

BROKER_PROPERTIES = {
    "log.retention.check.interval.ms": "300000",
    "log.cleaner.backoff.ms": "15000",
}
CURTAIN = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
THREE = {"min.insync.replicas": "1"}
"""Partitions with one replica ask for no more; an authorizer would make three controllers wait."""
PATIENCE = 60.0


class Arena:
    """A source and a target, one broker each, or three and no curtain."""

    def __init__(self, home: Path, heap: str, brokers: int = 1) -> None:
        self.source, self.target = (
            LocalCluster(
                brokers=brokers,
                home=home / side,
                heap=heap,
                properties=BROKER_PROPERTIES | (more if brokers == 1 else THREE),
            )
            for side, more in (("source", CURTAIN), ("target", {}))
        )
        self._stack = ExitStack()
        self._admins: dict[str, Any] = {}

    def __enter__(self) -> Self:
        with _java_options(BROKER_JVM), ExitStack() as stack:
            for cluster in (self.source, self.target):
                stack.enter_context(cluster)
                admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
                self._admins[cluster.bootstrap] = stack.enter_context(admin)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The processes of the brokers of the source, and of those of the target."""
        source, target = self.source.identities, self.target.identities
        return tuple(each.pid for each in source), tuple(each.pid for each in target)

    def create(self, cluster: LocalCluster, topic: str, partitions: int) -> None:
        """Create a topic and wait until the broker leads every partition."""
        admin = self._admins[cluster.bootstrap]
        admin.create_topics({topic: {"num_partitions": partitions}}, wait_for_metadata=True)
        deadline = time.monotonic() + PATIENCE
        with self.ends(cluster, topic, partitions) as ends:
            while min(ends.each()) < 0:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{topic} has partitions without a leader")
                time.sleep(0.02)

    def delete(self, cluster: LocalCluster, topic: str) -> None:
        """Delete a topic; one that is not there is fine."""
        try:
            self._admins[cluster.bootstrap].delete_topics([topic])
        except UnknownTopicOrPartitionError:
            return

    @contextmanager
    def appearing(self, name: str, pause: float) -> Iterator[None]:
        """Create `<name>.<number>`, a topic of one partition, every `pause` seconds."""
        over = threading.Event()

        def create() -> None:
            number = 0
            while not over.wait(pause):
                self._admin_of_source.create_topics({f"{name}.{number}": {"num_partitions": 1}})
                number += 1

        thread = threading.Thread(target=create, name="bench-appearing")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def hide(self, topic: str) -> None:
        """Let nobody see a topic of the source."""
        pattern = ResourcePattern(ResourceType.TOPIC, topic)
        curtain = ACL("User:*", "*", ACLOperation.ALL, ACLPermissionType.DENY, pattern)
        answer = self._admin_of_source.create_acls([curtain])
        if answer["failed"]:
            raise KafkaError(f"{topic} could not be hidden: {answer['failed']}")
        self._await(topic, visible=False)

    def show(self, topic: str) -> None:
        """Let everybody see it again; nothing happens to a topic that is not hidden."""
        pattern = ResourcePatternFilter(ResourceType.TOPIC, topic, ACLResourcePatternType.LITERAL)
        every = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)
        self._admin_of_source.delete_acls([every])
        self._await(topic, visible=True)

    def ends(self, cluster: LocalCluster, topic: str, partitions: int) -> Ends:
        """Return what asks for the end offsets of a topic."""
        return Ends(cluster.addresses[0], topic, partitions)

    def await_records(
        self, cluster: LocalCluster, topic: str, partitions: int, records: int, patience: float
    ) -> float:
        """Wait until a topic has so many records; return the seconds that it took.

        Raises:
            TimeoutError: It has not within `patience` seconds.
        """
        began = time.monotonic()
        with self.ends(cluster, topic, partitions) as ends:
            while (seen := ends.total()) < records:
                if time.monotonic() - began > patience:
                    raise TimeoutError(
                        f"{topic} has {seen} of {records} records after {patience:.0f} s"
                    )
                time.sleep(0.05)
        return time.monotonic() - began

    def await_gone(self, topic: str) -> None:
        """Wait until a deleted topic of the source is forgotten."""
        self._await(topic, visible=False)

    @property
    def _admin_of_source(self) -> Any:
        return self._admins[self.source.bootstrap]

    def _await(self, topic: str, *, visible: bool) -> None:
        deadline = time.monotonic() + PATIENCE
        while (topic in self._listed()) != visible:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} is {'not ' * visible}listed by the source")
            time.sleep(0.02)

    def _listed(self) -> Sequence[str]:
        return list(self._admin_of_source.list_topics())


@contextmanager
def _java_options(options: str) -> Iterator[None]:
    """Give options to each Java started meanwhile; unlike others, these win over its arguments."""
    name = "_JAVA_OPTIONS"
    before = os.environ.get(name)
    os.environ[name] = " ".join(filter(None, (before, options)))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
