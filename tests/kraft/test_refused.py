"""Known ways to lose a cluster, planted on real nodes: refused by name, and nothing is changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import make_digest_acl

from tests.support.here import Here
from tests.support.kraft.patients import OTHER, seed
from tests.support.kraft.runs import arguments, entries, run_until
from tests.support.kraft.traffic import Traffic
from tests.support.program import environment
from towpath.cluster.admin import Admin
from towpath.dev.broker_configs import properties_text
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.dev.zookeeper_configs import MECHANISM
from towpath.kraft.zookeeper.lock import PATH
from towpath.model.nouns import Side
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig
from towpath.settings.java_properties import change_properties, read_properties

pytestmark = [pytest.mark.soak, pytest.mark.broker]

_OWN = {"/zookeeper", PATH}
"""What ZooKeeper and the lock of a command keep for themselves."""


class Ward:
    """A cluster in ZooKeeper mode, and a client of its ZooKeeper."""

    def __init__(self, lab: ZooKeeperCluster) -> None:
        self.lab, self.znodes = lab, KazooClient(lab.connect)

    def state(self) -> dict[str, object]:
        """Return all znodes and all files of nodes: what a refused command must not change."""
        found: dict[str, object] = dict(self._below(""))
        for file in (self.lab.home / "etc").iterdir():
            found[str(file)] = file.read_bytes()
        for node in (*self.lab.brokers, *self.lab.controllers):
            for folder in self.lab.files.data(node):
                meta = folder / "meta.properties"
                found[str(meta)] = meta.read_bytes() if meta.exists() else None
            found[f"process {node}"] = self.lab.process(node).running
        return found

    def _below(self, path: str) -> Iterator[tuple[str, object]]:
        for name in self.znodes.get_children(path or "/"):
            child = f"{path}/{name}"
            if child in _OWN:
                continue
            try:
                data, stat = self.znodes.get(child)
            except NoNodeError:
                continue
            yield child, (data, stat.version)
            yield from self._below(child)


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with ZooKeeperCluster(2, 1, home=tmp_path_factory.mktemp("ward")) as lab:
        seed(lab)
        made = Ward(lab)
        made.znodes.start(20)
        yield made
        made.znodes.stop()
        made.znodes.close()


Plant = Callable[[Ward], AbstractContextManager[None]]


def znode(path: str, data: bytes | None) -> Plant:
    """Plant a znode that does not exist, with all above it."""

    @contextmanager
    def plant(ward: Ward) -> Iterator[None]:
        ward.znodes.create(path, data, makepath=True)
        try:
            yield
        finally:
            ward.znodes.delete(path)

    return plant


def changed(path: str, change: Callable[[dict[str, Any]], object]) -> Plant:
    """Change the fields of a znode."""

    @contextmanager
    def plant(ward: Ward) -> Iterator[None]:
        kept, _ = ward.znodes.get(path)
        fields = json.loads(kept)
        change(fields)
        ward.znodes.set(path, json.dumps(fields).encode())
        try:
            yield
        finally:
            ward.znodes.set(path, kept)

    return plant


def dynamic(key: str, value: str) -> Plant:
    """Plant a dynamic config of a broker, of which the broker is not told."""

    @contextmanager
    def plant(ward: Ward) -> Iterator[None]:
        own = changed("/config/brokers/1", lambda it: it["config"].update({key: value}))
        with own(ward):
            yield

    return plant


def in_file(changes: Mapping[str, str | None], *brokers: int) -> Plant:
    """Change the files of brokers, or of all of them."""

    @contextmanager
    def plant(ward: Ward) -> Iterator[None]:
        files = [ward.lab.files.properties(each) for each in brokers or ward.lab.brokers]
        kept = [(each.read_bytes(), each.stat().st_mtime_ns) for each in files]
        for file, (data, _) in zip(files, kept, strict=True):
            file.write_bytes(change_properties(data, changes))
        try:
            yield
        finally:
            for file, (data, written) in zip(files, kept, strict=True):
                file.write_bytes(data)
                # A file that is newer than its process asks for a restart.
                os.utime(file, ns=(written, written))

    return plant


@contextmanager
def forbidden(ward: Ward) -> Iterator[None]:
    """Take the right to read a znode from everybody but one user."""
    path = "/config/topics/topic-1"
    kept, _ = ward.znodes.get_acls(path)
    ward.znodes.add_auth("digest", "owner:word")
    ward.znodes.set_acls(path, [make_digest_acl("owner", "word", all=True)])
    try:
        yield
    finally:
        ward.znodes.set_acls(path, kept)


@contextmanager
def formatted_elsewhere(ward: Ward) -> Iterator[None]:
    """Leave a controller's folder as another cluster formatted it."""
    file = ward.lab.files.data(ward.lab.controllers[0])[0] / "meta.properties"
    file.parent.mkdir(parents=True)
    other = {"version": "1", "cluster.id": "BBBBBBBBBBBBBBBBBBBBBg", "node.id": "3000"}
    file.write_text(properties_text(other | {"directory.id": "CCCCCCCCCCCCCCCCCCCCCg"}))
    try:
        yield
    finally:
        file.unlink()
        file.parent.rmdir()


@contextmanager
def of_a_broker(ward: Ward) -> Iterator[None]:
    """Name a broker's folder as that of a controller."""
    text = ward.lab.config.read_text()
    own, other = (ward.lab.files.data(node)[0] for node in (ward.lab.controllers[0], 2))
    ward.lab.config.write_text(text.replace(f'"{own}"', f'"{other}"'))
    try:
        yield
    finally:
        ward.lab.config.write_text(text)


@contextmanager
def empty_directory(ward: Ward) -> Iterator[None]:
    """Give a broker a log directory that nothing is known of, as if a disk was not mounted."""
    file = ward.lab.files.properties(2)
    dirs = read_properties(file.read_bytes())["log.dirs"]
    with in_file({"log.dirs": f"{dirs},{ward.lab.home / 'unmounted'}"}, 2)(ward):
        yield


ANCHOR = {
    "version": 0,
    "kraft_controller_id": 3000,
    "kraft_controller_epoch": 2,
    "kraft_metadata_offset": 118,
    "kraft_metadata_epoch": 2,
}
_ENCRYPTED = "encryptedPassword:Zm9v,keyLength:128,salt:YmFy,iterations:4096"

STOPS: dict[str, tuple[str, Plant]] = {
    "an anchor of an earlier migration": (
        "WIPE_AHEAD",
        znode("/migration", json.dumps(ANCHOR).encode()),
    ),
    "an anchor without content, which some patch levels cannot read": (
        "ANCHOR_NULL",
        znode("/migration", None),
    ),
    "controllers of another cluster": ("CLUSTER_ID", formatted_elsewhere),
    "a broker's folder for a controller": ("FOLDER_TAKEN", of_a_broker),
    "replicas on a dead broker": (
        "REPLICAS_AWAY",
        changed("/brokers/topics/topic-2", lambda it: it["partitions"].update({"0": [1, 7]})),
    ),
    "configs of a broker that is gone": (
        "BROKERS_AWAITED",
        znode("/config/brokers/7", b'{"version":1,"config":{}}'),
    ),
    "a topic without an id": (
        "TOPIC_IDS_MISSING",
        changed("/brokers/topics/topic-2", lambda it: it.pop("topic_id")),
    ),
    "a znode of no known form": ("ZNODES_UNKNOWN", znode("/config/topics/strange", b"{")),
    "a znode that may not be read": ("ZNODES_FORBIDDEN", forbidden),
    "dynamic listeners": ("DYNAMIC_LISTENERS", dynamic("advertised.listeners", "PLAINTEXT://a:1")),
    "a password without its key": (
        "ENCODER_SECRET_MISSING",
        dynamic("listener.name.sasl.ssl.keystore.password", _ENCRYPTED),
    ),
    "no protocol version": ("PROTOCOL_UNSET", in_file({"inter.broker.protocol.version": None})),
    "an old protocol version": ("PROTOCOL_OLD", in_file({"inter.broker.protocol.version": "3.3"})),
    "two protocol versions": (
        "PROTOCOL_MIXED",
        in_file({"inter.broker.protocol.version": "3.8"}, 2),
    ),
    "several log directories with an old protocol": (
        "LOG_DIRS_SEVERAL",
        in_file({"inter.broker.protocol.version": "3.6"}),
    ),
    "a log directory that is not there": ("LOG_DIRS_MISSING", empty_directory),
    "an authorizer that may not know KRaft": (
        "AUTHORIZER_UNKNOWN",
        in_file({"authorizer.class.name": "com.example.Own"}),
    ),
    "topics that may not be deleted": ("PROBE_STAYS", in_file({"delete.topic.enable": "false"})),
    "another broker's file": ("BROKER_ID_DIFFERS", in_file({"broker.id": "1"}, 2)),
    "brokers with different super users": (
        "BROKERS_DIFFER",
        in_file({"super.users": "User:ANONYMOUS"}, 2),
    ),
}
WARNINGS: dict[str, tuple[str, Plant]] = {
    "configs of a topic that is gone": (
        "CONFIGS_ORPHANED",
        znode("/config/topics/ghost", b'{"version":1,"config":{"retention.ms":"1"}}'),
    ),
}


def codes(told: Mapping[str, Any], key: str = "findings") -> set[str]:
    return {each["code"] for each in told[key]}


@pytest.mark.parametrize("what", STOPS)
def test_it_is_found_before_anything_is_done(ward: Ward, here: Here, what: str) -> None:
    code, plant = STOPS[what]
    with plant(ward):
        before = ward.state()
        checked = here("kraft", "check", str(ward.lab.config), "--output", "json")
        assert checked.code == 3, checked.said
        assert code in codes(checked.json)
        planned = here("kraft", "plan", str(ward.lab.config), "--output", "json")
        assert planned.code == 3, planned.said
        ended = here(*arguments(ward.lab, "run"), "--output", "json")
        assert ended.code == 3, ended.said
        assert code in codes(ended.json, "refusals")
        assert ward.state() == before


def test_a_way_that_is_not_there_stops_a_run_before_anything_is_changed(
    ward: Ward, here: Here
) -> None:
    text, [port] = ward.lab.config.read_text(), ward.lab.ports.controllers
    ward.lab.config.write_text(text.replace(f"127.0.0.1:{port}", f"nowhere.invalid:{port}"))
    try:
        before = ward.state()
        ended = here(*arguments(ward.lab, "run"), "--output", "json")
        assert ended.code == 3, ended.said
        assert codes(ended.json, "refusals") == {"UNREACHED"}
        assert ward.state() == before
    finally:
        ward.lab.config.write_text(text)


@pytest.mark.parametrize("what", WARNINGS)
def test_it_is_told_and_stops_nobody(ward: Ward, here: Here, what: str) -> None:
    code, plant = WARNINGS[what]
    with plant(ward):
        checked = here("kraft", "check", str(ward.lab.config), "--output", "json")
        assert checked.code == 0, checked.said
        assert code in codes(checked.json)


@pytest.mark.parametrize("plant", [formatted_elsewhere, of_a_broker])
def test_folders_of_others_are_never_wiped(ward: Ward, here: Here, plant: Plant) -> None:
    with plant(ward):
        before = ward.state()
        assert here("kraft", "check", str(ward.lab.config)).code == 3
        assert here(*arguments(ward.lab, "rollback")).code == 0
        assert ward.state() == before


def test_an_anchor_that_stops_is_removed_by_a_rollback(ward: Ward, here: Here) -> None:
    ward.znodes.create("/migration", json.dumps(ANCHOR).encode())
    ended = here(*arguments(ward.lab, "rollback"), "--output", "json")
    assert ended.code == 0, ended.said
    assert ward.znodes.exists("/migration") is None


def test_no_broker_is_restarted_to_which_nobody_could_log_in(tmp_path: Path, here: Here) -> None:
    """Kafka's `ScramDelta.apply` (3.9) forgets users as it loads a log in which one is deleted."""
    bob = Credential(OTHER, Mechanism(MECHANISM))
    with ZooKeeperCluster(1, 1, home=tmp_path) as lab:
        seed(lab)
        run_until(lab, "run", lambda entry: entry.get("stage") == "hybrid")
        with Admin(ClusterConfig(bootstrap=(lab.back_door,)), Side.SOURCE) as admin:
            admin.users.delete_credential(bob)
            refused = here(*arguments(lab, "run"), "--output", "json")
            assert refused.code == 3, refused.said
            assert codes(refused.json, "refusals") == {"USERS_DELETED"}
            admin.users.set_credential(bob, 4096, Secret("another"))
        done = here(*arguments(lab, "run"))
        assert done.code == 0, done.said
        with Traffic(lab) as traffic:
            traffic.flowing()


def test_who_is_asked_may_interrupt(ward: Ward) -> None:
    """A command that asks has begun nothing, so it need not end in good order."""
    before, (ours, theirs) = ward.state(), os.openpty()
    approved = [each for each in entries(ward.lab) if each["event"] == "approved"]
    command = [sys.executable, "-m", "towpath", "kraft", "run", str(ward.lab.config)]
    asked = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), text=True
    )
    os.close(theirs)  # so that reading ends with the command
    try:
        said = b""
        while b"Do these steps?" not in said:
            assert asked.poll() is None, said
            said += os.read(ours, 65536)
        asked.send_signal(signal.SIGTERM)  # Ctrl-C may be ignored where tests run
        assert asked.wait(60) == 128 + signal.SIGTERM
    finally:
        asked.kill()
        asked.wait()
        os.close(ours)
    assert ward.state() == before
    assert [each for each in entries(ward.lab) if each["event"] == "approved"] == approved


def test_without_a_fault_there_is_a_way(ward: Ward, here: Here) -> None:
    checked = here("kraft", "check", str(ward.lab.config), "--output", "json")
    assert checked.code == 0, checked.said
    told = codes(checked.json)
    assert "HEAPS" in told, checked.said
    assert not told & {"BUILDS_UNKNOWN", "SOFTWARE_EARLY"}, checked.said
    planned = here("kraft", "plan", str(ward.lab.config), "--output", "json")
    assert planned.code == 0, planned.said
    assert not planned.json["refusals"]


def test_other_programs_on_zookeeper_are_told_apart_from_brokers(ward: Ward, here: Here) -> None:
    checked = here("kraft", "check", str(ward.lab.config), "--output", "json")
    [found] = [each for each in checked.json["findings"] if each["code"] == "FOREIGN_CLIENTS"]
    assert found["what"].endswith("from 127.0.0.1 (1)"), "the client of this test, no broker"
    assert not codes(checked.json) & {"UNREACHED", "NAMES_DIFFER", "REACH_UNKNOWN"}, checked.said
    ward.znodes.stop()
    try:
        alone = here("kraft", "check", str(ward.lab.config), "--output", "json")
    finally:
        ward.znodes.start(20)
    assert "FOREIGN_CLIENTS" not in codes(alone.json), alone.said
