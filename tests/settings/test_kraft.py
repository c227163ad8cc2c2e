"""The file of a migration to KRaft: its defaults, and each of its problems with its path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.kraft.config import load_kraft
from towpath.kraft.config.example import EXAMPLE
from towpath.model.errors import ConfigError
from towpath.settings import check, load

Write = Callable[[str], Path]
MINIMAL = """\
kind: kraft
kraft: orders
cluster: {bootstrap: "a:9092"}
zookeeper: {connect: "z1:2181,z2:2181/kafka"}
brokers:
  - {id: 1, address: "a:9092", properties: /etc/kafka/server.properties}
controllers:
  nodes:
    - {id: 3001, address: "c:9093", properties: /etc/kafka/c.properties, data: /var/lib/c}
driver: {via: local, start: "run {properties}", format: "format -t {cluster_id}", folder: /tmp/k}
journal: /var/lib/towpath/orders
"""


def test_a_short_file_is_enough(write: Write) -> None:
    config = load_kraft(write(MINIMAL))
    assert [each.id for each in config.brokers] == [1]
    assert config.controllers.listener == "CONTROLLER"
    assert config.driver.format == ("format", "-t", "{cluster_id}")
    assert str(config.limits.stop) == "90s"


def test_nodes_of_different_hosts_may_have_the_same_paths(write: Write) -> None:
    nodes = "[{id: 3001, address: 'c:1', properties: /x, data: /d}, {id: 3002, address: '%s:1',"
    nodes += " properties: /x, data: /d}]"
    ssh = "driver: {via: ssh, format: f}\n"
    config = load_kraft(write(_changed(f"controllers: {{nodes: {nodes % 'd'}}}\n", ssh)))
    assert len(config.controllers.nodes) == 2
    same = nodes.replace("'%s:1'", "'d:1', host: c")
    with pytest.raises(ConfigError, match=r"/x is also the properties of controllers.nodes\[0\]"):
        load_kraft(write(_changed(f"controllers: {{nodes: {same}}}\n", ssh)))


def test_other_commands_say_what_the_file_is(write: Write) -> None:
    with pytest.raises(ConfigError, match="the file describes a migration to KRaft"):
        load(write(MINIMAL))
    with pytest.raises(ConfigError, match="takes the file of such a migration"):
        load_kraft(write('source: {bootstrap: "a:1"}\nlink: x\n'))


@pytest.mark.parametrize(
    ("more", "problems"),
    [
        ("kraft: a b\n", ["kraft: must be 1 to 100 letters, digits, '.', '_' or '-'"]),
        ("zookeeper: {connect: z1}\n", ["zookeeper.connect: 'z1' is not HOST:PORT, such as"
         " zookeeper1:2181"]),
        ("zookeeper: {connect: 'z1:1', username: ann}\n",
         ["zookeeper.username: username and password belong together"]),
        ("brokers: []\n", ["brokers: needs at least one entry"]),
        ("brokers: [{id: 3001, address: 'a:1', properties: /x}]\n",
         ["controllers.nodes[0].id: 3001 is also the id of brokers[0]; each node needs its own"]),
        ("brokers: [{id: 1, address: 'a:1', properties: /etc/kafka/c.properties}]\n",
         ["controllers.nodes[0].properties: /etc/kafka/c.properties is also the properties of"
          " brokers[0]; each node needs its own"]),
        ("controllers: {nodes: [{id: 3001, address: 'c:1', properties: /c, data: /var/lib/c},"
         " {id: 3002, address: 'd:1', properties: /d, data: /var/lib/c/}]}\n",
         ["controllers.nodes[1].data: /var/lib/c is also the data of controllers.nodes[0]; each"
          " node needs its own"]),
        ("controllers: {nodes: [{id: 3001, address: 'c:1', properties: /c, data: /}]}\n",
         ["controllers.nodes[0].data: must be a folder of its own, not /"]),
        ("brokers: [{id: 1, address: 'a:1', properties: x}]\n",
         ["brokers[0].properties: must be a whole path on the node's host, such as"
          " /etc/kafka/x.properties"]),
        ("driver: {via: telnet}\n",
         ["driver.via: 'telnet' is not one of local, ssh, kubernetes"]),
        ("driver: {via: ssh, format: f, start: x}\n", ["driver.start: is not used with ssh"]),
        ("driver: {via: kubernetes, namespace: Kafka, format: f, exported: x,"
         " brokers: {pod: 'kafka_{id}', properties: {kind: file}},"
         " controllers: {start: s, storage: 10 GB, storage_class: ''}}\n",
         ["driver.namespace: must be a name of Kubernetes: small letters, digits, '-' and '.'",
          "driver.brokers.pod: must be a name of Kubernetes: small letters, digits, '-' and '.'",
          "driver.brokers.properties.kind: 'file' is not one of configmap, secret",
          "driver.controllers.storage: must be a quantity of Kubernetes, such as 10Gi",
          "driver.controllers.storage_class: must be a name of Kubernetes: small letters, digits,"
          " '-' and '.'"]),
        ("driver: {via: kubernetes, namespace: k, exported: /x, format: f}\n",
         ["driver.controllers: is required"]),
        ("journal: orders\n", ["journal: must be a whole path on this machine, such as"
         " /var/lib/towpath/orders"]),
    ],
)  # fmt: skip
def test_each_problem_of_a_file_has_its_sentence(
    write: Write, more: str, problems: list[str]
) -> None:
    assert [each.sentence for each in check(write(_changed(more)))] == problems


WRONG = """\
brokers:
  - {id: 1, address: "a:9092", properties: server.properties}
  - {id: three, adress: "a:9092", properties: /etc/kafka/server.properties}
  - {id: 1, address: "a:9092", properties: 7}
  - {id: 1.5, address: "e:1", properties: /s, nix: 1}
  - five
"""
CONTROLLERS = """\
controllers:
  nodes:
    - {id: 1, address: "a:9092", properties: /etc/kafka/c.properties}
    - {id: 3002, address: "d", properties: /etc/kafka/c.properties, data: /d}
    - {id: 3003, properties: /etc/kafka/c.properties, data: /d/}
"""


def test_all_problems_of_nodes_are_told_at_once(write: Write) -> None:
    driver = 'driver: {via: sssh, folder: /tmp/k, format: "f"}\n'
    told = [each.sentence for each in check(write(_changed(WRONG, CONTROLLERS, driver)))]
    before, own = "is also the", "each node needs its own"
    assert told == [
        "brokers[0].properties: must be a whole path on the node's host, such as"
        " /etc/kafka/x.properties",
        "brokers[1].address: is required",
        "brokers[1].id: must be a whole number, not the text 'three'",
        "brokers[1].adress: unknown key, did you mean address?",
        f"brokers[2].id: 1 {before} id of brokers[0]; {own}",
        f"brokers[2].address: a:9092 {before} address of brokers[0]; {own}",
        "brokers[2].properties: must be a text, not the number 7; put it in quotes",
        "brokers[3].id: must be a whole number, not the number 1.5",
        "brokers[3].nix: unknown key; known here are id, address, properties, host",
        "brokers[4]: must be a mapping of keys to values, not a text",
        "controllers.nodes[0].data: is required",
        f"controllers.nodes[0].id: 1 {before} id of brokers[0]; {own}",
        f"controllers.nodes[0].address: a:9092 {before} address of brokers[0]; {own}",
        "controllers.nodes[1].address: 'd' is not HOST:PORT, such as host:9093",
        "controllers.nodes[2].address: is required",
        "driver.via: 'sssh' is not one of local, ssh, kubernetes",
    ]


def _changed(*sections: str) -> str:
    keys = {each.partition(":")[0] for each in sections}
    kept = (part for part in _parts(MINIMAL) if part.partition(":")[0] not in keys)
    return "".join((*kept, *sections))


def _parts(text: str) -> list[str]:
    parts = list[str]()
    for line in text.splitlines(keepends=True):
        if line.startswith(" "):
            parts[-1] += line
        else:
            parts.append(line)
    return parts


def test_the_example_is_right(write: Write) -> None:
    assert check(write(EXAMPLE)) == ()
