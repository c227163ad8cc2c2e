"""`bench/commands`: how long commands without Spark take to start, beside an earlier build.

A command has started when it asks a broker, which is a socket here that only listens, or when it
has ended, for those that need no cluster. Both builds take turns; the fastest of each counts, as
other work of the machine can only add.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.meter import machine
from bench.pages import RESULTS, publish
from bench.report import table

ROOT = Path(__file__).resolve().parents[1]
FILE = "link.yaml"
COMMANDS = {
    "lint": ("lint", FILE),
    "init": ("init", "new.yaml"),
    "explain": ("explain", "GAP"),
    "dev": ("dev", "down", "--home", "home"),
    "plan": ("plan", FILE),
    "apply": ("apply", FILE, "--yes"),
    "diff": ("diff", FILE),
    "status": ("status", FILE),
    "groups": ("groups", "ls", FILE),
    "schemas": ("schemas", "--help"),
    "history": ("history", FILE),
    "kraft": ("kraft", "--help"),
}
ALONE = {"lint", "init", "explain", "dev", "schemas", "kraft"}
"""Commands that are measured to their end."""


def main() -> None:
    """Measure, and write the page and its figures."""
    parser = argparse.ArgumentParser(prog="bench/commands", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="a clone with an environment")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    builds = {"before": wish.before, "now": ROOT}
    starts: dict[str, dict[str, list[tuple[float, float]]]] = {}
    with socket.create_server(("127.0.0.1", 0)) as broker:
        for name in COMMANDS:
            starts[name] = {build: [] for build in builds}
            for _ in range(wish.times):
                for build, clone in builds.items():
                    starts[name][build].append(_start(clone, name, broker))
    found = {
        "machine": machine(),
        "load": os.getloadavg()[0],
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "starts": starts,
    }
    publish(wish.out, "commands", found, _page(found))


def _start(clone: Path, name: str, broker: socket.socket) -> tuple[float, float]:
    """Start a command once; return its seconds and its CPU seconds."""
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        host, port = broker.getsockname()
        side = f"{{bootstrap: '{host}:{port}'}}"
        Path(folder, FILE).write_text(
            f"source: {side}\ntarget: {side}\nlink: a\n"
            "topics: {include: [a], rename: 'b.{topic}'}\nrecords: {start: earliest}\n"
        )
        env = {key: word for key, word in os.environ.items() if not key.startswith("PYTHON")}
        program = str(clone / ".venv" / "bin" / "towpath")
        began = time.perf_counter()
        with subprocess.Popen(
            [program, *COMMANDS[name]],
            cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            if name not in ALONE:
                broker.settimeout(120)
                asked, _ = broker.accept()
                took = time.perf_counter() - began
                process.kill()
                asked.close()
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
        took = time.perf_counter() - began if name in ALONE else took
        _forget(broker)
        return took, used.ru_utime + used.ru_stime


def _forget(broker: socket.socket) -> None:
    """Take connections that nobody waits for any more."""
    broker.settimeout(0.01)
    try:
        while True:
            broker.accept()[0].close()
    except TimeoutError:
        pass


def _page(found: Mapping[str, Any]) -> Iterator[str]:
    yield "# The start of commands without Spark\n"
    yield "Made by `bench/commands`: from the start of the program to its first question to a"
    yield f"broker, or to its end ({', '.join(sorted(ALONE))}; the last two show their help). The"
    yield "fastest of some, both builds in turns."
    yield f"Load of the machine: {found['load']:.1f}.\n"
    rows = []
    for name, builds in found["starts"].items():
        wall = [min(took for took, _ in builds[each]) for each in ("before", "now")]
        cpu = [min(used for _, used in builds[each]) for each in ("before", "now")]
        cells = [f"{each:.2f}" for each in (*wall, wall[1] / wall[0], *cpu, cpu[1] / cpu[0])]
        rows.append((name, *cells))
    yield from table(("command", "s before", "s now", "ratio", "CPU before", "now", "ratio"), rows)
    yield ""
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())


if __name__ == "__main__":
    main()
