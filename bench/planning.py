"""How long plan, apply and diff of thousands of topics take, and how much memory they need."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.meter import Watch, cpu, machine
from bench.pages import RESULTS, publish
from bench.report import table
from towpath.dev.broker import LocalCluster

PARTITIONS = 4
CONFIGS = {"retention.ms": "86400000", "segment.bytes": "104857600"}
AT_ONCE = 500
REST_SECONDS = 5
GOALS = "wanted: a plan of 5,000 topics with 20,000 partitions within 60 s and 500 MB"


def main() -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=5000, help=f"of {PARTITIONS} partitions each")
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    told = machine()
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        found = _measure(Path(folder), wish.topics)
    data = {"machine": told, "topics": wish.topics, "partitions": PARTITIONS, "runs": found}
    publish(wish.out, "plan", data, _page(told, wish.topics, found))


def _measure(folder: Path, topics: int) -> list[dict[str, Any]]:
    seldom = {"log.retention.check.interval.ms": "300000", "min.insync.replicas": "1"}
    # Linux lets a process map 65,530 files by default, and a partition needs two of them.
    with (
        LocalCluster(brokers=3, home=folder / "source", heap="1g", properties=seldom) as source,
        LocalCluster(brokers=3, home=folder / "target", heap="1g", properties=seldom) as target,
    ):
        create(source, [f"many-{number:05}" for number in range(topics)], PARTITIONS, CONFIGS)
        file = _file(folder / "link.yaml", source, target)
        found = [
            _run("plan", "nothing is there yet", file),
            _run("apply", "gets all topics", file, "--yes"),
        ]
        rest(target)
        return [*found, _run("diff", "everything is there", file)]


def _file(file: Path, source: LocalCluster, target: LocalCluster) -> str:
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}', request_timeout: 2m}}\n"
        f"target: {{bootstrap: '{target.bootstrap}', request_timeout: 2m}}\n"
        f"link: many\ntopics: {{include: ['many-.*']}}\nrecords: {{start: latest}}\n"
    )
    return str(file)


def create(
    cluster: LocalCluster,
    names: Sequence[str],
    partitions: int,
    configs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Create topics; wait until every broker tells of all of them, and until all brokers rest."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for start in range(0, len(names), AT_ONCE):
        some = names[start:][:AT_ONCE]
        wanted = [NewTopic(name, partitions, 1, config=dict(configs)) for name in some]
        for future in admin.create_topics(wanted, request_timeout=120).values():
            future.result(120)
    while not all(_tells(address, names) for address in cluster.addresses):
        time.sleep(1)
    rest(cluster)


def _tells(address: str, names: Sequence[str]) -> bool:
    """Whether a broker knows all topics with their leaders: a new client asks it first."""
    found = AdminClient({"bootstrap.servers": address}).list_topics(timeout=60).topics
    return all(
        name in found and all(part.leader > 0 for part in found[name].partitions.values())
        for name in names
    )


def rest(cluster: LocalCluster) -> None:
    """Wait until the brokers together use less than a third of a core."""
    pids = [each.pid for each in cluster.identities]
    while True:
        before = sum(map(cpu, pids))
        time.sleep(REST_SECONDS)
        if sum(map(cpu, pids)) - before < REST_SECONDS / 3:
            return


def _run(command: str, what: str, *arguments: str) -> dict[str, Any]:
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        words = [sys.executable, "-m", "towpath", command, *arguments, "--output", "json"]
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL)
        watch = Watch(process.pid, every=0.2)
        watch.start()
        code = process.wait()
        watch.stop()
        out.seek(0)
        said = json.load(out)
    return {
        "command": command,
        "what": what,
        "exit_code": code,
        "steps": len(said.get("steps", said.get("done", ()))),
        "seconds": round(time.monotonic() - began, 1),
        "cpu": round(watch.cpu(), 1),
        "peak_mib": max(peak for peaks in watch.peaks().values() for peak in peaks),
    }


def _page(told: Mapping[str, str], topics: int, found: list[dict[str, Any]]) -> list[str]:
    rows = (
        (f"towpath {run['command']}", run["what"], run["exit_code"], run["steps"], run["seconds"],
         run["cpu"], run["peak_mib"])
        for run in found
    )  # fmt: skip
    head = ("command", "target", "exit code", "steps", "seconds", "CPU s", "peak MiB")
    return [
        f"# Plans of {topics:,} topics with {topics * PARTITIONS:,} partitions",
        "",
        f"{GOALS}. Made by `bench/plan`.",
        "",
        *table(head, rows),
        "",
        *(f"- {name}: {value}" for name, value in told.items()),
    ]


if __name__ == "__main__":
    main()
