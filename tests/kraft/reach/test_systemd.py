"""Nodes that are units of a real systemd, through a real sshd."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from tests.support.kraft import sshd, systemd
from towpath.kraft.config import SshDriver
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.ssh import SshNode
from towpath.runtime.deadline import Deadline

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
UNIT = "kafka-7.service"
RUNS = "ExecStart=/bin/sh -c 'echo begun; exec sleep 600'"
STUBBORN = """ExecStart=/bin/sh -c 'trap "" TERM; echo up; while :; do sleep 1; done'"""


@dataclass(frozen=True, slots=True)
class Host:
    """A host with systemd and sshd."""

    server: sshd.LocalSshd
    manager: systemd.UserSystemd

    def define(self, *lines: str) -> SshNode:
        """Define the unit of a node; return the node."""
        self.manager.systemctl("stop", UNIT)
        self.manager.systemctl("reset-failed", UNIT)
        log = self.server.folder / "run" / UNIT / "node.log"
        self.manager.unit(UNIT, *lines, log=log)
        log.write_text("")
        return self.node()

    def node(self, number: int = 7) -> SshNode:
        told = {
            "via": "ssh",
            "format": "true",
            "port": self.server.port,
            "options": self.server.options,
            "broker_unit": "kafka-{id}.service",
        }
        return SshNode(SshDriver.model_validate(told), NodeId(number), Role.BROKER, "127.0.0.1")

    def pid(self) -> int:
        return int(self.manager.systemctl("show", "-p", "MainPID", "--value", UNIT).stdout)

    def kill(self) -> None:
        """Kill the process of the unit, as a lack of memory does."""
        subprocess.run(["kill", f"-{signal.SIGKILL.value}", str(self.pid())], check=True)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    program, manager = sshd.fetch(), systemd.found()
    if program is None or manager is None:
        pytest.skip("no OpenSSH server or no systemd can be run here")
    folder = tmp_path_factory.mktemp("sshd")
    with (
        systemd.UserSystemd(manager) as running,
        sshd.LocalSshd(program, folder, running.command) as server,
    ):
        yield Host(server, running)


def test_a_unit_is_started_found_and_stopped(host: Host) -> None:
    node = host.define("ExecStartPre=/bin/sleep 2", RUNS)
    assert (node.started(), node.incarnation(), node.process()) == (None, None, None)
    node.start()
    wait_until(lambda: node.incarnation() is not None, "it prepares its start")
    first = node.incarnation()
    wait_until(lambda: "begun" in node.log(5), "it runs")
    assert node.incarnation() == first, "it is the same start"
    assert "sleep" in (node.process() or "")
    node.start()
    assert node.incarnation() == first, "it runs already"
    assert node.stop(Deadline.after(30))
    assert (node.started(), node.incarnation()) == (None, None)
    node.start()
    wait_until(lambda: node.incarnation() not in {first, None}, "it runs again")
    assert node.stop(Deadline.after(30))


def test_a_file_that_is_written_before_a_start_is_not_newer_than_it(
    host: Host, tmp_path: Path
) -> None:
    """Also where the unit waited since an earlier start, and prepares this one."""
    node = host.define("ExecStartPre=/bin/sleep 3", RUNS, "Restart=always", "RestartSec=1")
    node.start()
    wait_until(lambda: "begun" in node.log(5), "it runs")
    path = str(tmp_path / "x")
    node.write(path, b"1")
    written = node.modified(path)
    assert written is not None
    assert written > (node.started() or 0)
    first = node.incarnation()
    host.kill()
    wait_until(lambda: node.incarnation() not in {first, None}, "it prepares its next start")
    assert host.pid() == 0, "it prepares"
    assert written < (node.started() or 0)
    wait_until(lambda: host.pid() != 0, "it runs")
    assert written < (node.started() or 0)
    assert node.stop(Deadline.after(30))


def test_a_unit_that_ends_and_is_started_again_is_another_incarnation(host: Host) -> None:
    node = host.define(RUNS, "Restart=on-failure", "RestartSec=5")
    node.start()
    wait_until(lambda: "begun" in node.log(5), "it runs")
    first = node.incarnation()
    host.kill()
    wait_until(lambda: node.incarnation() is None, "it waits for its next start")
    wait_until(lambda: node.incarnation() is not None, "it runs again")
    assert node.incarnation() != first
    assert node.stop(Deadline.after(30))


def test_a_unit_that_waits_for_its_next_start_is_stopped(host: Host) -> None:
    node = host.define("ExecStart=/bin/false", "Restart=always", "RestartSec=600")
    node.start()
    wait_until(lambda: b"auto-restart" in host.manager.systemctl("show", UNIT).stdout, "it waits")
    assert node.stop(Deadline.after(30))
    assert b"auto-restart" not in host.manager.systemctl("show", UNIT).stdout


def test_a_stubborn_unit_is_killed_at_the_deadline_and_stays_down(host: Host) -> None:
    node = host.define(STUBBORN, "Restart=always", "RestartSec=0.1", "TimeoutStopSec=600")
    node.start()
    wait_until(lambda: "up" in node.log(5), "it ignores SIGTERM")
    assert not node.stop(Deadline.after(1))
    assert (node.started(), node.incarnation()) == (None, None)


def test_a_unit_that_systemd_kills_before_our_deadline_did_not_end_by_itself(host: Host) -> None:
    node = host.define(STUBBORN, "TimeoutStopSec=1")
    node.start()
    wait_until(lambda: "up" in node.log(5), "it ignores SIGTERM")
    assert not node.stop(Deadline.after(60))
    assert node.incarnation() is None


def test_a_unit_that_failed_too_often_is_started_once_its_fault_is_mended(host: Host) -> None:
    limits = "Restart=on-failure", "RestartSec=0.1"
    node = host.define("ExecStart=/bin/false", *limits)
    node.start()
    shown = "ActiveState=failed"
    wait_until(lambda: shown.encode() in host.manager.systemctl("show", UNIT).stdout, "it failed")
    assert node.incarnation() is None
    log = host.server.folder / "run" / UNIT / "node.log"
    host.manager.unit(UNIT, RUNS, *limits, log=log)
    node.start()
    wait_until(lambda: "begun" in node.log(5), "it runs")
    assert node.stop(Deadline.after(30))


def test_a_unit_that_is_not_there_is_named(host: Host) -> None:
    other = host.node(8)
    with pytest.raises(DriverError, match=r"there is no unit kafka-8\.service \(not-found\)"):
        other.started()
    with pytest.raises(DriverError, match=r"as `driver\.broker_unit`"):
        other.start()
