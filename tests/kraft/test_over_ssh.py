"""A whole migration of nodes that a real sshd reaches: there, back, there again, and for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.kraft_runs import run_whole, tell
from tests.support.patients import seed
from tests.support.sshd import LocalSshd, fetch
from tests.support.traffic import Traffic
from towpath.dev.zookeeper import ZooKeeperCluster

pytestmark = [pytest.mark.soak, pytest.mark.broker]


def over_ssh(lab: ZooKeeperCluster, server: LocalSshd) -> None:
    """Make units of a lab's nodes, and name them in the file of its migration."""
    for node in (*lab.brokers, *lab.controllers):
        server.unit(str(node), *lab.command(node))
    file: dict[str, Any] = YAML(typ="safe").load(lab.config)
    file["driver"] = {
        "via": "ssh",
        "port": server.port,
        "options": list(server.options),
        "broker_unit": "{id}",
        "controller_unit": "{id}",
        "format": file["driver"]["format"],
    }
    lab.config.write_text(json.dumps(file))


@pytest.mark.timeout(1800)
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
