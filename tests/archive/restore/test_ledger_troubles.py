"""A restore whose checkpoints, the target's ledger, cannot be read or written for a while."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._resource import ResourceType

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import READ, TOPIC, WRITE, allow, withdraw
from tests.support.copying.chaos import delete_topic
from tests.support.here import Here
from tests.support.kafka import consume, set_config, wait_until
from tests.support.program import Program
from towpath.archive.model import Segment
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.ledger import FACTS, Ledger
from towpath.ledger.topic import TOPIC as LEDGER
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]
USER = "restorer"
SOON = {"late": {"looks": 50, "timeout": "1h"}, "receipts": "100ms", "retention": "archived"}


@dataclass
class Half:
    """An archive whose restore waits in its middle, as a part is damaged."""

    stored: StoredArchive
    topic: str
    back_door: str
    _whole: bytes = b""
    _last: list[Segment] = field(default_factory=list)

    def begin(self) -> Path:
        """Archive 20 records, of which the last 10 cannot be read; return the file."""
        _, last = self.stored.put(self.topic, old_records(20), cuts=[10])
        self._last, place = [last], self.stored.path(last)
        self._whole = place.read_bytes()
        place.write_bytes(bytes(len(self._whole)))
        return self.stored.file(**SOON)

    def mend(self) -> None:
        """Let the rest be read."""
        self.stored.path(*self._last).write_bytes(self._whole)

    def restored(self) -> list[int]:
        """Return the offsets of the records on the target."""
        topics = AdminClient({"bootstrap.servers": self.back_door}).list_topics(timeout=10).topics
        found = consume(self.back_door, self.topic) if self.topic in topics else []
        return [each.offset for each in found]


def refused(here: Here, word: str, file: str) -> str:
    """Return what a command of `towpath restore` says that the ledger does not let go on."""
    ended = here.on_spark("restore", word, file) if word == "run" else here("restore", word, file)
    assert ended.code == 4, ended.said
    return str(ended.said)


@contextmanager
def waiting(half: Half, folder: Path) -> Iterator[Program]:
    """Run a restore that has come to its middle, which the ledger knows."""
    words = "restore", "run", str(half.begin()), "--output", "json"
    run = Program(folder, *words, name="half")
    try:
        wait_until(lambda: "waits for a part" in run.said or not run.running, "it is late", 120)
        assert run.running, run.said
        wait_until(lambda: len(half.restored()) == 10, "half of it is there")
        yield run
    finally:
        run.close()


@pytest.fixture
def secured(
    tmp_path: Path, secured_target: LocalCluster, vault: Vault, new_name: NewName
) -> Iterator[Half]:
    """Return an archive that comes back on a cluster with ACLs, by a login of its own."""
    topic, name = new_name("orders"), new_name("shop")
    config = ClusterConfig(bootstrap=(secured_target.back_door,))
    with Admin(config, Side.TARGET) as admin, Client(config, Side.TARGET, admin) as client:
        Ledger(admin, client).create()
    (tmp_path / "password").write_text(USERS[USER].reveal())
    target = {
        "bootstrap": secured_target.bootstrap,
        "tls": {"ca": str(vault.ca)},
        "sasl": {"mechanism": "SCRAM-SHA-512", "username": USER,
                 "password": f"file:{tmp_path / 'password'}"},
        "request_timeout": "10s",
    }  # fmt: skip
    allow(secured_target, TOPIC, topic, user=USER)
    allow(secured_target, TOPIC, LEDGER, (READ, WRITE), USER)
    allow(secured_target, ResourceType.TRANSACTIONAL_ID, "towpath.", user=USER)
    stored = StoredArchive(tmp_path, name, secured_target.bootstrap, {"target": target})
    yield Half(stored, topic, secured_target.back_door)
    for operation in (READ, WRITE):
        allow(secured_target, TOPIC, LEDGER, (operation,), USER)
        withdraw(secured_target, TOPIC, LEDGER, operation, USER)


@pytest.fixture
def alone(tmp_path: Path, lone: LocalCluster, new_name: NewName) -> Iterator[Half]:
    """Return an archive that comes back on a cluster that the test has to itself."""
    _remove_ledger(lone)
    yield Half(StoredArchive(tmp_path, new_name("shop"), lone.bootstrap), new_name("orders"),
               lone.bootstrap)  # fmt: skip
    _remove_ledger(lone)


def _remove_ledger(lone: LocalCluster) -> None:
    admin = AdminClient({"bootstrap.servers": lone.bootstrap})
    if LEDGER in admin.list_topics(timeout=10).topics:
        delete_topic(lone.bootstrap, LEDGER)


def _cut_off(lone: LocalCluster) -> None:
    """Delete the first entries of the ledger."""
    with Admin(ClusterConfig(bootstrap=lone.addresses), Side.TARGET) as admin:
        set_config(lone.bootstrap, LEDGER, "cleanup.policy", "delete")
        wait_until(lambda: _deletes(admin), "the broker deletes")
        set_config(lone.bootstrap, LEDGER, "cleanup.policy", "compact")


def _deletes(admin: Admin) -> bool:
    try:
        admin.offsets.delete_records({FACTS: 3})
    except RefusedError:  # the config is not known yet
        return False
    return True


def all_of_it(half: Half, here: Here) -> None:
    """Restore what is left, and expect each record once."""
    ended = here.on_spark("restore", "run", str(half.stored.file(**SOON)), "--output", "json")
    assert ended.code == 0, ended.said
    assert ended.json["complete"]
    assert half.restored() == [*range(20)]


@pytest.mark.soak
@pytest.mark.spark
def test_checkpoints_that_the_login_may_no_longer_write(
    secured: Half, secured_target: LocalCluster, tmp_path: Path, here: Here
) -> None:
    with waiting(secured, tmp_path) as run:
        withdraw(secured_target, TOPIC, LEDGER, WRITE, USER)
        secured.mend()
        code = run.wait(500)
    assert code != 0, run.said
    assert f"the login needs the ACL Write on topic {LEDGER}" in run.said
    allow(secured_target, TOPIC, LEDGER, (WRITE,), USER)
    all_of_it(secured, here)


@pytest.mark.soak
@pytest.mark.spark
def test_checkpoints_that_the_ledger_takes_no_more_for_their_size(
    alone: Half, lone: LocalCluster, tmp_path: Path, here: Here
) -> None:
    with waiting(alone, tmp_path) as run:
        set_config(lone.bootstrap, LEDGER, "max.message.bytes", "90")
        alone.mend()
        code = run.wait(500)
    assert code != 0, run.said
    assert "max.message.bytes" in run.said
    said = refused(here, "run", str(alone.stored.file(**SOON)))
    assert f"topic {LEDGER} has max.message.bytes=90" in said
    set_config(lone.bootstrap, LEDGER, "max.message.bytes", "10485760")
    all_of_it(alone, here)


def test_a_ledger_that_may_not_be_read_begins_no_restore(
    secured: Half, secured_target: LocalCluster, here: Here
) -> None:
    file = str(secured.begin())
    secured.mend()
    withdraw(secured_target, TOPIC, LEDGER, READ, USER)
    for word in "plan", "run":
        said = refused(here, word, file)
        assert re.search(f"ACL Read .*on topic {LEDGER}", said), said
    assert secured.restored() == []
    allow(secured_target, TOPIC, LEDGER, (READ,), USER)
    all_of_it(secured, here)


@pytest.mark.soak
def test_a_ledger_that_lost_its_first_entries_begins_no_restore(
    alone: Half, lone: LocalCluster, here: Here
) -> None:
    """Also where half of the restore was done: it is nowhere else how far it came."""
    file = str(alone.begin())
    alone.mend()
    all_of_it(alone, here)
    _cut_off(lone)
    for word in "run", "status":
        assert f"the first entries of topic {LEDGER} were deleted" in refused(here, word, file)
    assert alone.restored() == [*range(20)]
    for topic in (LEDGER, alone.topic):
        delete_topic(lone.bootstrap, topic)
    all_of_it(alone, here)


def test_a_ledger_with_a_record_of_somebody_else_begins_no_restore(
    alone: Half, lone: LocalCluster, here: Here
) -> None:
    file = str(alone.begin())
    alone.mend()
    all_of_it(alone, here)
    producer = Producer({"bootstrap.servers": lone.bootstrap})
    link = f"restore.{json.loads(Path(file).read_text())['archive']}"
    key = json.dumps(["receipt", link, alone.topic, 0, 1, "x"])
    for wrong, value in ((key, b"{"), ("no json", b"{}")):
        producer.produce(LEDGER, key=wrong, value=value, partition=0)
        producer.flush(10)
        said = refused(here, "run", file)
        assert "is no entry" in said or LEDGER in said
        producer.produce(LEDGER, key=wrong, value=None, partition=0)  # as the sentence asks for
        producer.flush(10)
        all_of_it(alone, here)
