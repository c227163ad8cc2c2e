"""Seconds, requests and memory of a sync of a thousand consumer groups."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.meter import MIB, machine
from bench.pages import RESULTS, publish
from bench.planning import create
from bench.report import table
from towpath.cluster.admin import Admin
from towpath.cluster.connect.control import Control
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.groups.model import SyncReport
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import load
from towpath.wire import plain

TOPIC, RECORDS, AT_ONCE = TopicName("orders"), 50, 50
GOALS = (
    "wanted: 1,000 groups with 100 partitions each in one sync within 10 s, with less than 2,000"
    " requests and 300 MB"
)
MOVES = ("all groups are new", "nothing has moved", "all groups have moved by one record")


def main() -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=100, help="in which each group stands")
    parser.add_argument("--brokers", type=int, default=3, help="on each side")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--sync", help=argparse.SUPPRESS)
    wish = parser.parse_args()
    if wish.sync:
        sync(Path(wish.sync), wish.groups, wish.partitions)
        return
    told = machine()
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        found = _measure(Path(folder), wish)
    sizes = {each: getattr(wish, each) for each in ("groups", "partitions", "brokers")}
    data = {"machine": told, **sizes, "syncs": found}
    publish(wish.out, "groups", data, _page(told, wish, found))


def _measure(folder: Path, wish: argparse.Namespace) -> list[dict[str, Any]]:
    configs = {"min.insync.replicas": "1", "offsets.topic.num.partitions": "50"}
    with (
        LocalCluster(brokers=wish.brokers, home=folder / "source", properties=configs) as source,
        LocalCluster(brokers=wish.brokers, home=folder / "target", properties=configs) as target,
    ):
        file = folder / "link.yaml"
        file.write_text(
            f"source: {{bootstrap: '{source.bootstrap}'}}\n"
            f"target: {{bootstrap: '{target.bootstrap}'}}\n"
            f"link: many\ntopics: {{include: [{TOPIC}]}}\ngroups: {{}}\n"
        )
        for cluster in (source, target):
            create(cluster, [TOPIC], wish.partitions)
        _fill(file, wish.partitions)
        stand(file, wish.groups, wish.partitions, 1)
        sizes = ("--groups", str(wish.groups), "--partitions", str(wish.partitions))
        words = [sys.executable, "-m", "bench.grouping", "--sync", str(file), *sizes]
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        found: list[dict[str, Any]] = json.loads(said.stdout)
        return found


def _fill(file: Path, partitions: int) -> None:
    """Let each partition have some records, and mirror them."""
    # A sync needs neither, and is measured in a process that imports this module.
    from towpath.mirror.run.rounds import RoundPlan, plan_round  # noqa: PLC0415
    from towpath.records.copy import copy  # noqa: PLC0415

    config = load(file)
    batch = plain.encode([plain.Record(b"k", b"v", (), 1_700_000_000_000)] * RECORDS)
    with ExitStack() as stack:
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        client = stack.enter_context(Client(config.source, Side.SOURCE, source))
        for number in range(partitions):
            client.produce(TopicPartition(TOPIC, number), batch)
        stack.enter_context(open_link(config)).prepare()
    for work in plan_round(RoundPlan(config, "r", 1, once=True), 1):
        list(copy(work))


def stand(file: Path, groups: int, partitions: int, offset: int) -> None:
    """Let all groups of the source stand at an offset of each partition."""
    tps = [TopicPartition(TOPIC, number) for number in range(partitions)]
    config = load(file)
    with Admin(config.source, Side.SOURCE) as admin:
        for first in range(0, groups, AT_ONCE):
            some = [
                ClientGroup(f"group-{n:04}") for n in range(first, min(groups, first + AT_ONCE))
            ]
            admin.groups.offsets(some)  # makes coordinators
            done = admin.groups.write({each: dict.fromkeys(tps, Commit(offset)) for each in some})
            for written in done.values():
                for error in written.failed.values():
                    raise error


def sync(file: Path, groups: int, partitions: int) -> None:
    """Bring the groups over in this process, and print what that took."""
    requests = _counting()
    found = []
    with open_link(load(file)) as link:
        syncing, before = GroupSync(link), _peak()
        for offset, what in enumerate(MOVES):
            if offset == len(MOVES) - 1:
                words = ["--groups", str(groups), "--partitions", str(partitions)]
                _elsewhere(file, words)
            requests.clear()
            began, cpu = time.monotonic(), time.process_time()
            report = syncing.once()
            found.append(
                {
                    "what": what,
                    "seconds": round(time.monotonic() - began, 2),
                    "cpu": round(time.process_time() - cpu, 2),
                    "translating": round(report.translating, 2),
                    "writing": round(report.writing, 2),
                    "requests": requests.total(),
                    "of_which": dict(requests.most_common(6)),
                    "peak_mib": _peak() // MIB,
                    "before_mib": before // MIB,
                    "outcomes": _outcomes(report),
                    "reasons": dict(
                        Counter(str(each.reason.code) for each in report.positions if each.reason)
                    ),
                }
            )
    print(json.dumps(found))


def _elsewhere(file: Path, words: list[str]) -> None:
    """Move all groups, in another process: its memory is not that of a sync."""
    program = (
        "import sys; from pathlib import Path; from bench.grouping import stand;"
        f"stand(Path(sys.argv[1]), {words[1]}, {words[3]}, 2)"
    )
    subprocess.run([sys.executable, "-c", program, str(file)], check=True)


def _outcomes(report: SyncReport) -> dict[str, int]:
    return {str(each): number for each, number in report.outcomes.items()}


def _counting() -> Counter[str]:
    """Count all requests of the control plane from now on, by their names."""
    requests: Counter[str] = Counter()
    ask = Control._ask_at  # noqa: SLF001

    def counted(control: Control, address: Any, name: str, request: Any, *rest: Any) -> Any:
        requests[type(request).__name__] += 1
        return ask(control, address, name, request, *rest)

    setattr(Control, "_ask_at", counted)  # noqa: B010
    return requests


def _peak() -> int:
    """Return the largest resident size of this process; `ru_maxrss` begins with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _page(
    told: dict[str, str], wish: argparse.Namespace, found: list[dict[str, Any]]
) -> Iterator[str]:
    yield f"# {wish.groups:,} consumer groups in one sync"
    yield from (
        "",
        f"{GOALS}. Made by `bench/groups`: {wish.brokers} brokers a side, one topic with",
    )
    yield f"{wish.partitions} partitions, in each of which each group has an offset."
    yield from ("Peak memory is that of a Python process that does nothing else.", "")
    yield from table(
        ("sync", "seconds", "writing", "CPU s", "requests", "peak MiB", "before", "positions"),
        (
            (
                each["what"], each["seconds"], each["writing"], each["cpu"], each["requests"],
                each["peak_mib"], each["before_mib"],
                ", ".join(f"{number:,} {name}" for name, number in each["outcomes"].items()),
            )
            for each in found
        ),
    )  # fmt: skip
    yield ""
    yield from (f"- {name}: {value}" for name, value in told.items())


if __name__ == "__main__":
    main()
