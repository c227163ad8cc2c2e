"""A whole migration by the pages alone: all that a company runs, under traffic, and back again.

`docs/howto/migrate.md` tells the steps. What the applications lived through tells whether they went
on right: each record read exactly once by each group, counts of Streams applications that are those
of all records, and no error in any client.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType

from tests.support.clients import serialized
from tests.support.clients.applications import JavaApplication, Reader, Writer, set_group_config
from tests.support.clusters.brokers import Listener, SharedCluster
from tests.support.clusters.rights import CLUSTER, LITERAL, allow
from tests.support.kafka import PATIENCE, consume, create_topic, wait_until
from tests.support.links import end, registries
from tests.support.program import Program
from tests.support.registries.registry import LocalRegistry
from tests.support.registries.registry import fetch as fetch_registry
from towpath.dev.distribution import NEWEST, VERSIONS
from towpath.model.secret import Secret

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.spark(own=True)]
_NAME, _APP, _LINK = "shop", "clerk", "admin"
_USERS = {name: Secret(f"{name}-pw") for name in (_APP, _LINK)}
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_MECHANISM = "SCRAM-SHA-512"
_SELDOM = ("monday", "sleeper")
"""Groups that read seldom: the second one not while the company is on the new cluster."""
_SCHEMAS = 40
"""Records of each format with a schema."""
_TOPICS: Sequence[tuple[str, int, int, Mapping[str, str]]] = (
    ("plain", 10, 3, {}),
    ("compact", 8, 2, {"cleanup.policy": "compact"}),
    ("tx", 5, 2, {}),
    ("idle", 8, 1, {"retention.ms": "3600000"}),
)
"""Names, how many, partitions and configs."""


def _cluster(version: str, home: Path) -> SharedCluster:
    """Start a cluster that asks for logins and holds ACLs."""
    login = {
        "sasl.enabled.mechanisms": _MECHANISM,
        "scram-sha-512.sasl.jaas.config": f"{_MODULE};",
    }
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{_LINK}",
        "log.retention.check.interval.ms": "3000",
        "group.share.enable": "true",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
    made = SharedCluster(
        version, home=home, properties=properties, users=_USERS, heap="384m",
        listeners={"LOGIN": Listener("SASL_PLAINTEXT", login)},
    )  # fmt: skip
    return made.start()


def _ways(cluster: SharedCluster) -> Mapping[str, str]:
    """How clients of librdkafka get in."""
    return {
        "bootstrap.servers": cluster.through("LOGIN").bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": _MECHANISM,
        "sasl.username": _APP,
        "sasl.password": _USERS[_APP].reveal(),
    }


def _java_ways(cluster: SharedCluster) -> Mapping[str, str]:
    """How Kafka's own clients get in."""
    login = f'{_MODULE} username="{_APP}" password="{_USERS[_APP].reveal()}";'
    found = {name: word for name, word in _ways(cluster).items() if "sasl." not in name}
    return {**found, "sasl.mechanism": _MECHANISM, "sasl.jaas.config": login}


@dataclass
class Company:
    """All applications of a company, and its two clusters and registries."""

    folder: Path
    old: SharedCluster
    new: SharedCluster
    registries: tuple[LocalRegistry, LocalRegistry]
    newer_kinds: bool
    writers: list[Writer] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    java: list[JavaApplication] = field(default_factory=list)
    commands: list[Program] = field(default_factory=list)
    _at: SharedCluster | None = None

    def settle(self) -> None:
        """Make the topics, the rights and the applications."""
        old = self.old.back_door
        for name, number, partitions, configs in _TOPICS:
            for each in range(number):
                create_topic(old, f"{_NAME}-{name}-{each}", partitions, configs)
        for topic in ("words-in", "words-out", "lines-in", "lines-out", *serialized.FORMATS):
            create_topic(old, f"{_NAME}-{topic}", 2)
        for kind in ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID:
            allow(self.old, kind, _NAME, user=_APP)
        idempotent = [AclOperation.IDEMPOTENT_WRITE]
        allow(self.old, ResourceType.BROKER, CLUSTER, idempotent, user=_APP, pattern=LITERAL)
        self.writers += [Writer(f"{_NAME}-plain-{n}", 3) for n in range(4)]
        self.writers += [Writer(f"{_NAME}-tx-{n}", 2, transactional=True) for n in range(2)]
        self.writers += [Writer(f"{_NAME}-{each}-in", 2) for each in ("words", "lines")]
        self.readers += [Reader(f"{_NAME}-group-{n}", [f"{_NAME}-plain-{n}"]) for n in range(3)]
        static = Reader(f"{_NAME}-static", [f"{_NAME}-plain-3"], group_instance_id="one")
        both = Reader(f"{_NAME}-tx", [f"{_NAME}-tx-0", f"{_NAME}-tx-1"])
        self.readers += [static, both]
        if self.newer_kinds:
            self.readers.append(
                Reader(f"{_NAME}-newer", [f"{_NAME}-plain-0"], group_protocol="consumer")
            )
            set_group_config(old, f"{_NAME}-share", "share.auto.offset.reset", "earliest")
            self.java.append(self._application("share", "share", f"{_NAME}-plain-1"))
            streams = {"group.protocol": "streams"}
            self.java.append(self._application("streams", "lines", f"{_NAME}-lines-in", streams))
        self.java.append(self._application("streams", "words", f"{_NAME}-words-in"))

    def _application(
        self, kind: str, name: str, source: str, more: Mapping[str, str] | None = None
    ) -> JavaApplication:
        exactly = {"processing.guarantee": "exactly_once_v2", "auto.offset.reset": "earliest"}
        configs = {**(exactly if kind == "streams" else {}), **(more or {})}
        output = f"{_NAME}-{name}-out" if kind == "streams" else "-"
        return JavaApplication(self.folder, kind, f"{_NAME}-{name}", source, output, configs)

    @property
    def at(self) -> SharedCluster:
        """Where the applications are."""
        return self._at or self.old

    def start(self, cluster: SharedCluster) -> None:
        """Start all applications on a cluster."""
        self._at = cluster
        for each in (*self.writers, *self.readers):
            each.start(_ways(cluster))
        for one in self.java:
            one.start(_java_ways(cluster))

    def stop(self) -> None:
        """Stop what writes, and let everything read what is left; then stop that, too."""
        for writer in self.writers:
            writer.stop()
        for each in self.readers:
            each.wait_for(self.expected(each).total())
            each.stop()
        for one in self.java:
            wait_until(partial(self.is_done, one), f"{one.name} has read all", 3 * PATIENCE)
            one.stop()

    def expected(self, reader: Reader) -> Counter[bytes]:
        """What a group must have read in the end."""
        return Counter(
            value
            for each in self.writers
            if each.topic in reader.topics
            for value in each.delivered
        )

    def goes_on(self, cluster: SharedCluster) -> None:
        """Start all applications on a cluster, let them work, and stop them."""
        self.start(cluster)
        for each in self.readers:
            each.wait_for(len(each.values) + 20)
        self.stop()

    def mirror(self, file: str, target: SharedCluster) -> Program:
        """Start a run; return it once it follows the traffic."""
        run, topic = self.begin("run", file), self.writers[0].topic
        first = _end(target, topic)

        def follows() -> bool:
            assert run.running, run.said
            return _end(target, topic) > first

        wait_until(follows, "the mirror follows", 3 * PATIENCE)
        return run

    def is_done(self, one: JavaApplication) -> bool:
        """Whether an application of Java has seen all records, where it is now."""
        one.check()
        written = [v for each in self.writers if each.topic == one.source for v in each.delivered]
        if one.kind == "share":
            return set(one.read) == set(written)
        counts = Counter(value.split(b":")[0] for value in written)
        shown = consume(self.at.back_door, one.output, range(2))
        return {each.key: int(each.value or b"-1") for each in shown} == counts

    def check(self) -> None:
        """Fail where a group did not read each record exactly once."""
        for reader in self.readers:
            assert Counter(reader.values) == self.expected(reader), reader

    def towpath(self, *words: str, code: int = 0) -> str:
        """Run a command to its end; return what it said."""
        made = self.begin(*words)
        ended = made.wait(300)
        assert ended == code, f"towpath {' '.join(words)}: {ended}\n{made.said}"
        return made.said

    def begin(self, *words: str) -> Program:
        """Start a command."""
        name = f"{len(self.commands)}-{words[0]}"
        made = Program(self.folder, *words, name=name)
        self.commands.append(made)
        return made

    def file(self, acls: str = "safe") -> str:
        """Write the file of the link, as the page has it; return its path."""
        file = self.folder / "link.yaml"
        more = f"access: {{acls: {acls}, quotas: true}}\n" + (
            f"schemas: {registries(*(each.url for each in self.registries))}\n"
        )
        file.write_text(_link(self.old, self.new, "move-to-new", more))
        return str(file)

    def back(self) -> str:
        """Write the file of the link back; return its path."""
        file = self.folder / "back.yaml"
        file.write_text(_link(self.new, self.old, "move-back"))
        return str(file)

    def leave_nothing(self) -> None:
        """Stop everything that may still run."""
        for each in self.commands:
            each.close()
        for one in self.java:
            one.kill()
        for client in (*self.writers, *self.readers):
            with suppress(AssertionError):
                client.stop()


def _link(source: SharedCluster, target: SharedCluster, name: str, more: str = "") -> str:
    def side(cluster: SharedCluster) -> str:
        login = {"mechanism": _MECHANISM, "username": _LINK, "password": "env:LINK_PASSWORD"}
        return json.dumps({"bootstrap": cluster.through("LOGIN").bootstrap, "sasl": login})

    return (
        f"source: {side(source)}\ntarget: {side(target)}\nlink: {name}\n"
        f'topics: {{include: ["{_NAME}-.*"]}}\n'
        "records: {start: earliest}\n"
        "groups: {}\n" + more
    )


@pytest.fixture(params=[NEWEST, VERSIONS[0]])
def company(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Company]:
    """Return a company with an old cluster of some version and a new one of the newest."""
    monkeypatch.setenv("LINK_PASSWORD", _USERS[_LINK].reveal())
    program = fetch_registry()
    if program is None:
        pytest.skip("no Go, so no schema registry")
    for side in "ours", "theirs":
        (tmp_path / side).mkdir()
    urls = LocalRegistry(program, tmp_path / "ours"), LocalRegistry(program, tmp_path / "theirs")
    old, new = (
        _cluster(version, tmp_path / side)
        for version, side in ((request.param, "old"), (NEWEST, "new"))
    )
    made = Company(tmp_path, old, new, urls, newer_kinds=request.param == NEWEST)
    try:
        made.settle()
        yield made
    finally:
        made.leave_nothing()
        for each in (old, new):
            each.stop(hard=True)
        for registry in urls:
            registry.stop()


def test_a_company_moves_under_traffic_and_back(company: Company) -> None:
    ours, theirs = company.registries
    company.start(company.old)
    rows = serialized.write(company.old.back_door, ours.url, _NAME, _SCHEMAS)
    monday, sleeper = (Reader(f"{_NAME}-{name}", [f"{_NAME}-plain-2"]) for name in _SELDOM)
    for each in monday, sleeper:
        each.start(_ways(company.old))
        each.wait_for_all(3)
        each.stop()
    file = company.file()
    company.towpath("lint", file)
    company.towpath("plan", file, "--save", str(company.folder / "plan.json"))
    company.towpath("apply", str(company.folder / "plan.json"), "--yes")
    run = company.mirror(file, company.new)
    company.towpath("verify", file, code=3)  # the traffic goes on: some records are newer
    assert "no problems" in company.towpath("cutover", file, "--dry-run")
    company.stop()
    assert run.stop() == 0, run.said
    said = company.towpath("cutover", file, "--report", str(company.folder / "cutover.json"))
    assert "can be moved" in said
    company.file("full")
    company.towpath("apply", file, "--only", "acls", "--yes")
    company.readers.append(monday)
    company.goes_on(company.new)
    assert serialized.read(company.new.back_door, theirs.url, _NAME, _SCHEMAS) == rows
    company.check()

    back = company.back()
    company.towpath("plan", back)
    company.start(company.new)
    run = company.mirror(back, company.old)
    company.stop()
    assert run.stop() == 0, run.said
    assert "can be moved" in company.towpath("cutover", back)
    company.readers.append(sleeper)
    company.goes_on(company.old)
    company.check()


def _end(cluster: SharedCluster, topic: str) -> int:
    return sum(max(0, end(cluster, topic, part)) for part in range(3))
