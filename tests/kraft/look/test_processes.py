"""What hosts tell of the processes of nodes: their exact version and their heap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from towpath.kraft.config.drivers import LocalDriver
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.look.processes import Processes, ProcessSeen, process_of
from towpath.kraft.reach.local import LocalNode
from towpath.kraft.reach.scripts import PROCESS_WITH

_PROGRAM = "import sys, time; file = open(sys.argv[1]); print('up', flush=True); time.sleep(100)"
JAVA = "java\n-Xmx1g\n-cp\n{jars}\nkafka.Kafka\n/etc/kafka/server.properties"


@pytest.mark.parametrize(
    ("jars", "build"),
    [
        ("/k/libs/kafka_2.13-3.9.2.jar:/k/libs/kafka-clients-3.9.2.jar", "3.9.2"),
        ("/k/libs/kafka_2.13-3.9.2.jar:/plugins/kafka-clients-3.7.0.jar", "3.9.2"),
        ("/k/libs/kafka-clients-3.9.1.jar", "3.9.1"),
        (
            "/share/java/kafka/kafka_2.13-7.9.0-ccs.jar:/x/kafka_2.13-7.9.0-ccs-test.jar",
            "7.9.0-ccs",
        ),
        ("/k/libs/*\n/k/libs/kafka-streams-4.0.0.jar", None),
        ("/a/kafka_2.13-3.9.2.jar:/b/kafka_2.13-3.9.1.jar", None),
    ],
)
def test_the_version_is_that_of_kafkas_own_jar(jars: str, build: str | None) -> None:
    assert process_of(JAVA.format(jars=jars)) == ProcessSeen(
        build, 1 << 30, ("/etc/kafka/server.properties",)
    )


@pytest.mark.parametrize(
    ("words", "heap"),
    [("-Xmx512m\n-Xmx2G", 2 << 30), ("-Xmx1048576k", 1 << 30), ("-Xmx7", 7), ("-Xms1g", None)],
)
def test_the_last_heap_counts(words: str, heap: int | None) -> None:
    assert process_of(f"java\n{words}\nkafka.Kafka").heap == heap


def test_what_overrides_a_file_is_told_and_open_jars_are_no_arguments() -> None:
    told = JAVA.format(jars="/k/libs/*") + "\n--override\nbroker.id=1\n/k/libs/a.jar"
    wanted = ("/etc/kafka/server.properties", "--override", "broker.id=1")
    assert process_of(told).arguments == wanted
    assert process_of("java\nOther\n/etc/x").arguments is None


def test_names_of_variables_are_told_and_nothing_that_they_hold(tmp_path: Path) -> None:
    config = LocalDriver(via="local", start=("sleep", "600"), format=("true",),
                         folder=str(tmp_path / "run"))  # fmt: skip
    node = LocalNode(config, NodeId(7), Role.BROKER, "/x")
    with pytest.MonkeyPatch.context() as patch:
        for name in "KAFKA_CFG_ZOOKEEPER_CONNECT", "KAFKA_OPTS", "ZOOKEEPER_CONNECT":
            patch.setenv(name, "word")
        node.start()
    try:
        told = node.process() or ""
    finally:
        node.kill()
    assert process_of(told).variables == ("KAFKA_CFG_ZOOKEEPER_CONNECT",)
    assert "word" not in told


def test_hosts_are_asked_now_and_then_and_anew_after_a_stop(tmp_path: Path) -> None:
    jar = tmp_path / "kafka_2.13-3.9.2.jar"
    jar.touch()
    start = (sys.executable, "-c", _PROGRAM, str(jar), "-Xmx64m")
    config = LocalDriver(via="local", start=start, format=("true",), folder=str(tmp_path / "run"))
    node, now = LocalNode(config, NodeId(7), Role.BROKER, "/x"), [0.0]
    processes = Processes(lambda: now[0])
    assert node.process() is None
    node.start()
    try:
        wait_until(lambda: "up" in node.log(1), "it runs")
        seen = ProcessSeen("3.9.2", 64 << 20)
        assert processes.look(NodeId(7), node, running=True) == seen
    finally:
        node.kill()
    wait_until(lambda: node.started() is None, "it is gone")
    assert processes.look(NodeId(7), node, running=True) == seen, "it is not asked again"
    now[0] = 31.0
    assert processes.look(NodeId(7), node, running=True) == ProcessSeen()
    assert processes.look(NodeId(7), node, running=False) == ProcessSeen()


def test_kafkas_process_is_found_in_a_container_by_its_file(tmp_path: Path) -> None:
    files = [tmp_path / "kafka-clients-3.9.2.jar", tmp_path / "other-1.jar"]
    for each in files:
        each.touch()
    started = [
        subprocess.Popen([sys.executable, "-c", _PROGRAM, str(each), word, str(tmp_path / "p")],
                         stdout=subprocess.PIPE)
        for each, word in zip(files, ("kafka.Kafka", "other.Main"), strict=True)
    ]  # fmt: skip
    try:
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        command = ["sh", "-c", PROCESS_WITH, "sh", str(tmp_path / "p")]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert process_of(told).build == "3.9.2"
        assert "other.Main" not in told
        command[-1] += "/of/nobody"
        assert subprocess.run(command, capture_output=True, check=False).returncode == 44
    finally:
        for process in started:
            process.kill()
            process.communicate()
