"""What lies around a cluster: ways between hosts, names, other programs on ZooKeeper."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kraft.pods import pod_config
from tests.support.kraft.worlds import (
    at_stage,
    broker_properties,
    kraft_config,
    start_of,
    with_broker,
    with_controller,
)
from towpath.dev import ports
from towpath.kraft.config import KraftConfig
from towpath.kraft.config.drivers import LocalDriver
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.preflight import preflight
from towpath.kraft.decide.preflight.surroundings import surroundings
from towpath.kraft.do.tools import Tools
from towpath.kraft.do.waiting import StepWaits
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import BrokerMode, NodeId, Role, Stage
from towpath.kraft.facts.seen import Observation
from towpath.kraft.facts.surroundings import ClientsSeen, HostTold, Reach, Surroundings
from towpath.kraft.files.configs import ACL_AUTHORIZER
from towpath.kraft.files.listeners import inter_broker_address
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.journal import KraftJournal
from towpath.kraft.look.hosts import addresses_from, ask_host, parse_host
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.reach.local import LocalNode
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.zookeeper.admin_server import connections_in
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.kraft.zookeeper.clients import Connection, connections_of, sorted_out

CONFIG = kraft_config()
START = start_of(CONFIG)
RUNS = at_stage(CONFIG, Stage.PROVISIONED)
CONTROLLERS = tuple(each.address for each in CONFIG.controllers.nodes)


def told(found: Reach, seen: Observation = START, config: KraftConfig = CONFIG) -> Surroundings:
    """Return hosts all of whose connections came to the same."""
    wanted = addresses_from(config, seen)
    return Surroundings({node: HostTold(dict.fromkeys(at, found)) for node, at in wanted.items()})


def changed(around: Surroundings, node: int, address: str, found: Reach) -> Surroundings:
    """Return surroundings in which one connection came to something else."""
    reach = {**around.hosts[NodeId(node)].reach, address: found}
    return replace(around, hosts={**around.hosts, NodeId(node): HostTold(reach)})


def found(
    around: Surroundings, seen: Observation = START, config: KraftConfig = CONFIG
) -> dict[FindingCode, Finding]:
    return {each.code: each for each in surroundings(Facts.of(config, seen), around)}


def test_brokers_must_reach_controllers_and_they_everybody() -> None:
    wanted = addresses_from(CONFIG, START)
    assert wanted[NodeId(0)] == CONTROLLERS
    brokers = tuple(each.address for each in CONFIG.brokers)
    assert wanted[NodeId(3000)] == (*CONTROLLERS, *brokers, "127.0.0.1:16181")


def test_controllers_must_reach_zookeeper_where_their_files_will_name_it() -> None:
    """They get the brokers' addresses; that of the file may be one that is reached from here."""
    seen = START
    for each in CONFIG.brokers:
        properties = {**broker_properties(each.id), "zookeeper.connect": "zk1:2181, zk2:2181/kafka"}
        seen = with_broker(seen, each.id, properties=properties)
    assert addresses_from(CONFIG, seen)[NodeId(3000)][-2:] == ("zk1:2181", "zk2:2181")


def test_hosts_that_reach_everything_are_no_finding() -> None:
    assert found(told(Reach.OPEN, RUNS), RUNS) == {}
    assert FindingCode.UNREACHED not in {each.code for each in preflight(CONFIG, START)}


def test_nothing_listens_where_no_controller_runs_yet() -> None:
    around = told(Reach.OPEN)
    for node in around.hosts:
        for each in CONTROLLERS:
            around = changed(around, node, each, Reach.CLOSED)
    assert found(around) == {}
    taken = changed(around, 1, CONTROLLERS[1], Reach.OPEN)
    said = found(taken)[FindingCode.ADDRESS_TAKEN]
    assert said.what.endswith(f"no controller runs yet: {CONTROLLERS[1]} of controller 3001")
    around = changed(told(Reach.OPEN, RUNS), 1, CONTROLLERS[0], Reach.CLOSED)
    assert "node 1 to 127.0.0.1:16300 (closed)" in found(around, RUNS)[FindingCode.UNREACHED].what


@pytest.mark.parametrize("bad", [Reach.SILENT, Reach.UNRESOLVED])
def test_a_way_that_is_not_there_is_told_before_anything_runs(bad: Reach) -> None:
    said = found(changed(told(Reach.OPEN), 2, CONTROLLERS[1], bad))[FindingCode.UNREACHED]
    assert said.what.endswith(f": node 2 to 127.0.0.1:16301 ({bad})")


@pytest.mark.parametrize("at", ["127.0.0.1:16001", "127.0.0.1:16181"])
def test_a_controller_that_reaches_no_broker_or_zookeeper_is_told(at: str) -> None:
    said = found(changed(told(Reach.OPEN), 3002, at, Reach.CLOSED))[FindingCode.UNREACHED]
    assert f"node 3002 to {at} (closed)" in said.what


def test_a_broker_that_is_down_is_not_expected_to_answer() -> None:
    seen = with_broker(START, 1, running=False)
    around = changed(told(Reach.OPEN), 3002, "127.0.0.1:16001", Reach.CLOSED)
    assert FindingCode.UNREACHED not in found(around, seen)


def test_names_of_pods_that_are_not_there_yet_are_not_missed() -> None:
    config = pod_config()
    seen = start_of(config)
    around = told(Reach.OPEN, seen, config)
    around = changed(around, 0, "127.0.0.1:16300", Reach.UNRESOLVED)
    assert found(around, seen, config) == {}


def test_hosts_that_do_not_tell_are_named() -> None:
    around = told(Reach.OPEN)
    silent = {**around.hosts, NodeId(2): HostTold(names={"a": ("10.0.0.1",)})}
    del silent[NodeId(3000)]
    said = found(replace(around, hosts=silent))[FindingCode.REACH_UNKNOWN]
    assert said.what == "hosts of nodes 2, 3000 do not tell what they reach"


def test_a_name_that_is_another_address_elsewhere_is_told() -> None:
    around = told(Reach.OPEN)
    names = {0: "10.0.0.9", 1: "10.0.0.9", 3000: "127.0.1.1"}
    hosts = {
        node: replace(each, names={"c1": (names.get(node, "10.0.0.9"),)})
        for node, each in around.hosts.items()
    }
    said = found(replace(around, hosts=hosts))[FindingCode.NAMES_DIFFER]
    assert said.what.endswith(
        ": c1 is 10.0.0.9 on node 0 and 1 and 2 and 3001 and 3002, 127.0.1.1 on node 3000"
    )


def test_what_a_host_printed_is_read() -> None:
    text = (
        "c1:9 open 10.0.0.2,10.0.0.1,\n[::1]:9 silent ::1,\nx:1 unresolved -\ny:2 untold -\nodd\n"
    )
    assert parse_host(text) == HostTold(
        {"c1:9": Reach.OPEN, "[::1]:9": Reach.SILENT, "x:1": Reach.UNRESOLVED},
        {"c1": ("10.0.0.1", "10.0.0.2"), "::1": ("::1",)},
    )


@contextmanager
def listening(waiting: int = 8) -> Iterator[str]:
    """Yield the address of a socket that listens; it takes no further connection than so many."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", ports.reserve(1)[0]))
        made.listen(waiting)
        yield f"127.0.0.1:{made.getsockname()[1]}"


@contextmanager
def silent() -> Iterator[str]:
    """Yield an address that answers nothing: its queue of connections is full."""
    with listening(0) as at:
        host, _, port = at.rpartition(":")
        filled = [socket.socket() for _ in range(3)]
        for each in filled:
            each.setblocking(False)
            with suppress(BlockingIOError):
                each.connect((host, int(port)))
        try:
            yield at
        finally:
            for each in filled:
                each.close()


def test_a_host_tells_what_it_reaches(tmp_path: Path) -> None:
    told = {"via": "local", "format": "x", "start": "x", "folder": str(tmp_path)}
    node = LocalNode(LocalDriver.model_validate(told), NodeId(1), Role.BROKER, "/x")
    with listening() as there, silent() as dark, listening() as gone:
        pass
    with listening() as there, silent() as dark:
        local = there.replace("127.0.0.1", "localhost")
        said = ask_host(node, [there, local, dark, gone, "nowhere.invalid:1"])
    assert said is not None
    assert said.reach == {
        there: Reach.OPEN,
        local: Reach.OPEN,
        dark: Reach.SILENT,
        gone: Reach.CLOSED,
        "nowhere.invalid:1": Reach.UNRESOLVED,
    }
    assert said.names["127.0.0.1"] == ("127.0.0.1",)
    assert "127.0.0.1" in said.names["localhost"]


def test_a_broker_whose_host_reaches_no_controller_is_not_restarted(tmp_path: Path) -> None:
    with listening() as there, listening() as gone:
        addresses = (there, gone, CONTROLLERS[2])
    local = {"via": "local", "folder": str(tmp_path), "start": "true", "format": "true"}
    nodes = [
        {"id": 3000 + n, "address": at, "properties": f"/c{n}", "data": f"/data/c{n}"}
        for n, at in enumerate(addresses)
    ]
    data = kraft_config(nodes=nodes).model_dump(mode="python", by_alias=True)
    config = KraftConfig.model_validate({**data, "driver": local})
    seen = with_controller(at_stage(config, Stage.PROVISIONED), 3002, running=False)
    drivers = drivers_of(config)
    waits = StepWaits(config.limits, drivers, lambda _: seen, lambda _: None)
    journal = KraftJournal(tmp_path / "journal")
    tools = Tools(config, drivers, waits, journal, ZooKeeper(config.zookeeper))
    said = rf"does not reach the controllers {there} \(closed\), {gone} \(closed\); "
    with pytest.raises(StepRefusedError, match=said):
        RollBroker(NodeId(1), BrokerMode.MIGRATION).do(tools)
    assert list(tmp_path.iterdir()) == [], "nothing was stopped, written or started"


@pytest.mark.parametrize(
    ("properties", "at"),
    [
        ({"listeners": "PLAINTEXT://b1:9092"}, "b1:9092"),
        ({"listeners": "PLAINTEXT://:9092"}, "public:9092"),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, "public:9092"),
        ({"listeners": "PLAINTEXT://[::]:9092"}, "public:9092"),
        ({"listeners": "PLAINTEXT://[fe80::1]:9092"}, "[fe80::1]:9092"),
        (
            {
                "listeners": "PLAINTEXT://:9092,IN://:9094",
                "advertised.listeners": "PLAINTEXT://outside:9092, IN://inside:9094",
                "inter.broker.listener.name": "IN",
            },
            "inside:9094",
        ),
        ({"listeners": "SSL://b1:9", "security.inter.broker.protocol": "SSL"}, "b1:9"),
        ({"listeners": "SSL://b1:9"}, None),
        ({}, None),
    ],
)
def test_where_controllers_reach_a_broker(properties: dict[str, str], at: str | None) -> None:
    assert inter_broker_address(properties, "public:9999") == at


CONS = """\
 /10.0.0.1:41234[1](queued=0,recved=58,sent=58,sid=0x100001,lop=PING,est=1732752000000,to=18000)
 /10.0.0.7:41235[1](queued=0,recved=5,sent=5,sid=0x1a,lop=GETD,est=1732752000000,to=6000)
 /[0:0:0:0:0:0:0:1]:41236[1](queued=0,recved=5,sent=5,sid=0x1b,lop=GETD,to=6000)
 /127.0.0.1:41237[0](queued=0,recved=1,sent=0)

"""


def test_connections_are_read_with_their_sessions() -> None:
    assert connections_of(CONS) == (
        Connection(0x100001, "10.0.0.1"),
        Connection(0x1A, "10.0.0.7"),
        Connection(0x1B, "0:0:0:0:0:0:0:1"),
    )
    assert connections_of("cons is not executed because it is not in the whitelist.\n") is None
    assert connections_of("") is None


def test_sessions_of_servers_with_high_ids_have_the_numbers_of_znodes() -> None:
    """A server's id is the highest byte, and znodes have numbers with a sign."""
    line = " /10.0.0.1:41234[1](queued=0,recved=5,sent=5,sid=0xc800000000000001,lop=PING)"
    assert connections_of(line) == (Connection(-0x37FFFFFFFFFFFFFF, "10.0.0.1"),)


ADMIN = json.dumps(
    {
        "connections": [
            {"remote_socket_address": "10.0.0.1:41234", "session_id": 0x100001},
            {"remote_socket_address": "10.0.0.9:41235", "session_id": 0},
        ],
        "secure_connections": [{"remote_socket_address": "[::1]:41236", "session_id": -5}],
        "command": "connections",
        "error": None,
    }
).encode()


def test_connections_of_an_admin_server_are_read_with_their_sessions() -> None:
    assert connections_in(ADMIN) == ((0x100001, "10.0.0.1"), (-5, "::1"))


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", b"[]", b"null", b"7", ADMIN[:-40], b"[" * 100_000,
     b'{"command": "connections", "error": "Unauthorized"}',
     b'{"connections": [{"session_id": 1}]}', b'{"connections": {"a": 1}}',
     b'{"connections": [{"session_id": "1", "remote_socket_address": "a:1"}]}'],
)  # fmt: skip
def test_other_answers_tell_no_connections(answer: bytes) -> None:
    assert connections_in(answer) is None


def test_sessions_are_told_apart_by_the_brokers_that_they_register() -> None:
    read = connections_of(CONS)
    assert read is not None
    seen = sorted_out(read, brokers=[0x100001], ours=[0x1B])
    assert (dict(seen.known), dict(seen.others)) == ({"10.0.0.1": 1}, {"10.0.0.7": 1})


def clients(others: dict[str, int], **more: object) -> Surroundings:
    known = {f"10.0.0.{each}": 1 for each in (1, 2, 3)}
    addresses = {NodeId(3000): ("10.0.0.1",), NodeId(3001): ("10.0.0.8", "fe80::8")}
    seen = ClientsSeen(known, others, **more)  # type: ignore[arg-type]
    return replace(told(Reach.OPEN, RUNS), clients=seen, addresses=addresses)


def test_programs_that_are_no_brokers_are_named_by_where_they_come_from() -> None:
    said = found(clients({"10.0.0.7": 2, "10.0.0.9": 1}), RUNS)[FindingCode.FOREIGN_CLIENTS]
    assert said.what.endswith("from 10.0.0.7 (2), 10.0.0.9 (1)")


def test_sessions_of_brokers_whose_files_were_not_read_may_be_of_their_authorizer() -> None:
    own = {"10.0.0.1": 1, "10.0.0.2": 1}
    assert FindingCode.FOREIGN_CLIENTS in found(clients(own), START)
    unread = with_broker(START, 1, properties={})
    assert FindingCode.FOREIGN_CLIENTS not in found(clients(own), unread)


def test_sessions_of_controllers_and_authorizers_are_not_foreign() -> None:
    seen = RUNS
    for each in RUNS.brokers.values():
        properties = {**each.properties, "authorizer.class.name": ACL_AUTHORIZER}
        seen = with_broker(seen, each.id, properties=properties)
    own = {"10.0.0.1": 2, "10.0.0.2": 1, "10.0.0.8": 1}
    assert FindingCode.FOREIGN_CLIENTS not in found(clients(own), seen)
    said = found(clients({**own, "10.0.0.2": 2, "10.0.0.8": 2}), seen)
    assert said[FindingCode.FOREIGN_CLIENTS].what.endswith("from 10.0.0.2 (1), 10.0.0.8 (1)")
    assert FindingCode.FOREIGN_CLIENTS in found(clients(own), START)
    unseen = replace(seen, controllers={})  # those that were not looked at may run
    assert FindingCode.FOREIGN_CLIENTS not in found(clients(own), unseen)


def test_servers_that_do_not_tell_who_is_connected_are_named() -> None:
    said = found(clients({}, untold=("zk1:2181 (not in the whitelist)",)), RUNS)
    assert "zk1:2181 (not in the whitelist)" in said[FindingCode.CLIENTS_UNKNOWN].what


def test_what_else_lies_in_the_ensemble_is_told() -> None:
    shared = replace(told(Reach.OPEN), neighbours=("/hbase", "/other (a cluster of Kafka)"))
    said = found(shared)[FindingCode.ZOOKEEPER_SHARED]
    assert said.what.endswith(": /hbase, /other (a cluster of Kafka)")


def test_who_else_keeps_properties_is_told_before_anything_is_written() -> None:
    around = replace(told(Reach.OPEN, RUNS), keepers={NodeId(1): "helm: .data.x"})
    said = found(around, RUNS)[FindingCode.FIELDS_KEPT]
    assert said.what == "other field managers keep the properties of brokers: 1 (helm: .data.x)"
