"""Whole migrations of nodes that a real sshd reaches: there, back, there again, and for good."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.kafka import wait_until
from tests.support.kraft import systemd
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import run_whole, tell
from tests.support.kraft.sshd import LocalSshd, fetch
from tests.support.kraft.traffic import Traffic
from towpath.dev.broker import answers
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.runtime.deadline import Deadline

pytestmark = [pytest.mark.soak, pytest.mark.broker]


def over_ssh(lab: ZooKeeperCluster, server: LocalSshd) -> None:
    """Make units of a lab's nodes, and name them in the file of its migration."""
    for node in (*lab.brokers, *lab.controllers):
        server.unit(str(node), *lab.command(node))
    name_units(lab, server, "{id}")


def name_units(lab: ZooKeeperCluster, server: LocalSshd, unit: str) -> None:
    """Name the units of a lab's nodes in the file of its migration."""
    file: dict[str, Any] = YAML(typ="safe").load(lab.config)
    file["driver"] = {
        "via": "ssh",
        "port": server.port,
        "options": list(server.options),
        "broker_unit": unit,
        "controller_unit": unit,
        "format": file["driver"]["format"],
    }
    lab.config.write_text(json.dumps(file))


@pytest.mark.timeout(7200)
def test_nodes_behind_ssh_go_the_whole_way_and_back(tmp_path: Path) -> None:
    program = fetch()
    if program is None:
        pytest.skip("no package of an OpenSSH server can be had here")
    with (
        ZooKeeperCluster(2, 3, home=tmp_path / "lab") as lab,
        LocalSshd(program, tmp_path / "sshd") as server,
    ):
        # A unit of the lab is a process of the lab.
        (server.folder / "run").symlink_to(lab.files.run)
        seed(lab)
        over_ssh(lab, server)
        with Traffic(lab) as traffic:
            for number, command in enumerate(("run", "rollback", "run", "finalize")):
                done = run_whole(lab, command, f"{command}-{number}")
                assert done.wait() == 0, done.said
                traffic.flowing()
    told = traffic.result()
    tell(lab, told)
    assert told.whole, told


def into_units(lab: ZooKeeperCluster, server: LocalSshd, manager: systemd.UserSystemd) -> None:
    """Let brokers of a lab be units of systemd, which starts again what ends by a fault."""
    for node in (*lab.brokers, *lab.controllers):
        script = server.folder / f"kafka-{node}"
        script.write_text(f"#!/bin/sh\nexec {shlex.join(lab.command(node))}\n")
        script.chmod(0o755)
        lines = (f"ExecStart={script}", "Restart=on-failure", "SuccessExitStatus=143")
        unit = f"kafka-{node}.service"
        manager.unit(unit, *lines, log=server.folder / "run" / unit / "node.log")
    for node, port in zip(lab.brokers, lab.ports.internal, strict=True):
        lab.process(node).stop(Deadline.after(60))
        lab.wait_forgotten(node)
        assert manager.systemctl("start", f"kafka-{node}.service").returncode == 0
        wait_until(partial(serves, node, port), "a unit serves", 120.0)
    name_units(lab, server, "kafka-{id}.service")


def serves(node: int, port: int) -> bool:
    """Whether a broker answers with its id."""
    return (node, port) in answers(port).brokers


@pytest.mark.timeout(3600)
def test_units_of_systemd_go_to_kraft_mode_and_back(tmp_path: Path) -> None:
    program, found = fetch(), systemd.found()
    if program is None or found is None:
        pytest.skip("no OpenSSH server or no systemd can be run here")
    with (
        ZooKeeperCluster(2, 1, home=tmp_path / "lab") as lab,
        systemd.UserSystemd(found) as manager,
        LocalSshd(program, tmp_path / "sshd", manager.command) as server,
    ):
        seed(lab)
        into_units(lab, server, manager)
        with Traffic(lab) as traffic:
            for number, command in enumerate(("run", "rollback")):
                done = run_whole(lab, command, f"{command}-{number}")
                assert done.wait() == 0, done.said
                traffic.flowing()
    told = traffic.result()
    tell(lab, told)
    assert told.whole, told
