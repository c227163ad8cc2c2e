"""The demo of migrations to KRaft without its brokers: it starts, and can be planned to its end."""

from __future__ import annotations

import os
import runpy
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from tests.support.kraft.worlds import start_of, walk, with_broker
from towpath.dev import ports
from towpath.dev.zookeeper_configs import LabFiles, LabPorts, broker_properties, kraft_file
from towpath.kraft.commands import kraft
from towpath.kraft.config import load_kraft
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.preflight.preflight import static
from towpath.kraft.facts.nouns import Goal
from towpath.kraft.findings.findings import stops

_ROOT = Path(__file__).parents[2]
_SCRIPT = _ROOT / "scripts" / "kraft.py"
_GOALS = {"run": Goal.DUAL_WRITE, "rollback": Goal.ZOOKEEPER, "finalize": Goal.FINAL}


def _commands(file: str) -> list[list[str]]:
    return [words for _title, *words in runpy.run_path(str(_SCRIPT))["commands"](file, "lab")]


def test_every_command_of_the_demo_is_one_of_ours() -> None:
    group = get_command(kraft)
    assert isinstance(group, TyperGroup)
    for name, *words in _commands("kraft.yaml"):
        context = group.make_context("kraft", [name, *words])
        command = group.get_command(context, name)
        assert command is not None, name
        command.make_context(name, words, parent=context)


def test_the_way_of_the_demo_leads_from_its_files_to_its_end(tmp_path: Path) -> None:
    files, mine = LabFiles(tmp_path), LabPorts(16181, (1, 2, 3), (4, 5, 6), (7, 8, 9))
    files.password.write_text("admin-secret")
    files.config.write_text(kraft_file("lab", mine, files, ["start"], ["format", "{properties}"]))
    config = load_kraft(files.config)
    seen = start_of(config)
    for node, there in seen.brokers.items():
        meta = tuple(replace(there.meta[0], directory=str(each)) for each in files.data(node))
        properties = broker_properties(node, mine, files)
        seen = with_broker(seen, node, properties=properties, meta=meta)
    assert not stops(static(Facts.of(config, seen)))
    for name, *_words in _commands(str(files.config)):
        if name in _GOALS:
            done, seen = walk(config, seen, _GOALS[name])
            assert done, name


def test_the_demo_starts_and_says_what_keeps_it_from_going_on(tmp_path: Path) -> None:
    """It writes its files, and finds that its first port is taken before anything is started."""
    free = ports.reserve(10)
    LabPorts(free[0], (*free[1:4],), (*free[4:7],), (*free[7:],)).keep(tmp_path)
    with socket.create_server(("127.0.0.1", free[0])):
        ended = subprocess.run(
            [sys.executable, str(_SCRIPT), str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("\n== A ZooKeeper and three brokers")
    assert f"port {free[0]} on 127.0.0.1 is taken" in ended.stderr
    assert "Traceback" not in ended.stderr
