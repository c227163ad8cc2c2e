"""Runs of `towpath kraft` on a lab, in this process or in one that is killed."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.kraft.traffic import TrafficResult
from tests.support.program import Program
from towpath.dev.zookeeper import ZooKeeperCluster

_TELLING = re.compile(r" (WARN|ERROR) |Failed to alter partition|Skipped the become-|Controller ")
_LINES, _WIDE = 20, 300
LONGEST = 1800.0
"""Seconds that a command may take on a busy machine."""


def arguments(lab: ZooKeeperCluster, command: str, *more: str) -> tuple[str, ...]:
    """Return the arguments of a command that asks nobody."""
    agreed = ("--confirm", lab.name) if command == "finalize" else ("--yes",)
    return ("kraft", command, str(lab.config), *agreed, *more)


def entries(lab: ZooKeeperCluster) -> list[dict[str, Any]]:
    """Return what the journal of a lab holds."""
    file = lab.home / "journal" / "journal.jsonl"
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def steps(lab: ZooKeeperCluster) -> list[str]:
    """Return the names of all steps that were done, in order."""
    return [each["step"] for each in entries(lab) if each["event"] == "step_done"]


def run_whole(lab: ZooKeeperCluster, command: str, name: str = "run", *more: str) -> Program:
    """Run a command to its end in a process of its own; return it."""
    program = Program(lab.home, *arguments(lab, command, *more), name=name)
    try:
        program.wait(LONGEST)
    finally:
        _kill(program)
    return program


def run_until(
    lab: ZooKeeperCluster, command: str, holds: Callable[[dict[str, Any]], bool], *more: str
) -> bool:
    """Run a command, and kill it at a new entry of the journal that `holds`, if one comes."""
    before = len(entries(lab))
    program = Program(lab.home, *arguments(lab, command, *more), name=f"{command}-{before}")
    try:
        return any(holds(entry) for entry in _coming(lab, program, before))
    finally:
        _kill(program)


def _kill(program: Program) -> None:
    """Kill it alone: the nodes that it has started are its children, and live on."""
    if program.running:
        program.send(signal.SIGKILL)
        program.wait(60)


def _coming(lab: ZooKeeperCluster, program: Program, known: int) -> Iterator[dict[str, Any]]:
    end = time.monotonic() + LONGEST
    while True:
        running = program.running
        found = entries(lab)
        yield from found[known:]
        known = len(found)
        if not running:
            return
        assert time.monotonic() < end, program.said
        time.sleep(0.05)


def said_by_brokers(lab: ZooKeeperCluster) -> str:
    """Return what brokers logged last about trouble, and about leaders and replicas."""
    said = []
    for broker in lab.brokers:
        lines = lab.process(broker).log.read_text(errors="replace").splitlines()
        telling = [line[:_WIDE] for line in lines if _TELLING.search(line)]
        said += [f"broker {broker}:", *telling[-_LINES:]]
    return "\n".join(said)


def tell(lab: ZooKeeperCluster, traffic: TrafficResult) -> None:
    """Print what clients lived through, and the seconds of each step."""
    lines = [str(traffic)]
    lines += [f"{e['seconds']:8.1f} s  {e['what']}" for e in entries(lab) if "seconds" in e]
    sys.stdout.write("\n".join(lines) + "\n")
