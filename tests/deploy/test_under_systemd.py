"""The unit of an archive under a real systemd: restarts, stops, and files that are wrong."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import create_topic, wait_until
from tests.support.kraft import systemd
from tests.support.program import environment
from towpath.model.nouns import TopicName, TopicPartition

pytestmark = [pytest.mark.broker, pytest.mark.soak, pytest.mark.timeout(900)]
SHIPPED = Path(__file__).parents[2] / "deploy" / "systemd" / "towpath-archive@.service"
UNIT = "towpath-archive@orders.service"
POLICY = "Type", "Restart", "KillMode", "TimeoutStop", "SuccessExit"
"""What the lines of the unit that are tested begin with. Its user, folders and walls are those of
a whole machine."""


class Service:
    """The unit of an archive."""

    def __init__(self, manager: systemd.UserSystemd, archive: Archive, log: Path) -> None:
        told = environment()
        shipped = SHIPPED.read_text().splitlines()
        begin = f"ExecStart={sys.executable} -m towpath archive run {archive.file}"
        lines = [line for line in shipped if line.startswith(POLICY)]
        lines += [begin, f"Environment=PYTHONPATH={told['PYTHONPATH']}"]
        self._ends = log.with_name("ends")
        ended = 'echo "$$SERVICE_RESULT $$EXIT_CODE $$EXIT_STATUS"'
        lines.append(f"ExecStopPost=/bin/sh -c '{ended} >> {self._ends}'")
        self._manager, self.log = manager, log
        manager.unit(UNIT, *lines, log=log)

    def __call__(self, verb: str) -> int:
        return self._manager.systemctl(verb, UNIT).returncode

    @property
    def ends(self) -> list[str]:
        """How each process of the unit ended, as systemd saw it; it forgets a unit that is done."""
        return self._ends.read_text().splitlines()

    def shown(self, name: str) -> str:
        return self._manager.systemctl("show", "-p", name, "--value", UNIT).stdout.decode().strip()


@pytest.fixture
def manager() -> Iterator[systemd.UserSystemd]:
    program = systemd.found()
    if program is None:
        pytest.skip("no systemd can be run here")
    with systemd.UserSystemd(program) as running:
        yield running


def test_a_killed_archive_goes_on_and_a_stopped_one_has_succeeded(
    manager: systemd.UserSystemd,
    source: SharedCluster,
    tmp_path: Path,
    new_name: Callable[[str], str],
) -> None:
    name = new_name("unit")
    topic = f"{name}.topic"
    create_topic(source.bootstrap, topic, 1)
    archive = Archive(tmp_path, source, name, segments={"max_age": "1s"})
    service = Service(manager, archive, tmp_path / "log")

    def is_archived_to(end: int) -> None:
        partition = TopicPartition(TopicName(topic), 0)
        wait_until(lambda: archive.archived_to(partition) == end, service.log.read_text(), 120)

    write(source, topic, 100)
    assert service("start") == 0
    is_archived_to(100)
    first = int(service.shown("MainPID"))
    os.kill(first, signal.SIGKILL)
    write(source, topic, 100)
    is_archived_to(200)
    assert int(service.shown("MainPID")) not in {0, first}
    assert service.shown("NRestarts") == "1"
    write(source, topic, 50)
    assert service("stop") == 0
    assert service.ends == ["signal killed KILL", "success exited 0"], service.log.read_text()
    assert service("start") == 0
    is_archived_to(250)
    assert service("stop") == 0
    keys = [record.key for record in archive.records(topic)]
    assert keys == [b"%d" % n for n in [*range(100), *range(100), *range(50)]]


def test_an_archive_whose_file_is_wrong_is_not_started_again(
    manager: systemd.UserSystemd, source: SharedCluster, tmp_path: Path
) -> None:
    archive = Archive(tmp_path, source, "wrong", segments={"max_ages": "1s"})
    service = Service(manager, archive, tmp_path / "log")
    service("start")
    wait_until(lambda: service.shown("ActiveState") == "failed", "the unit has failed", 60)
    assert (service.shown("ExecMainStatus"), service.shown("NRestarts")) == ("2", "0")


def write(source: SharedCluster, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": source.bootstrap})
    for number in range(count):
        producer.produce(topic, b"v", b"%d" % number)
    assert not producer.flush(60)
