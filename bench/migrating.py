"""`bench/kraft`: how long each step of a migration to KRaft takes, and what clients notice of it.

Three brokers, three controllers and a ZooKeeper on this machine go to KRaft, back, there again, and
are finalized, while a producer and a consumer never stop. No other tool does all of this, so there
is no peer beside it.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.kraft.patients import seed
from tests.support.kraft.runs import entries, run_whole
from tests.support.kraft.traffic import Traffic

from bench.meter import machine
from bench.pages import RESULTS, publish
from bench.report import table
from towpath.dev.zookeeper import VERSION, ZooKeeperCluster

COMMANDS = ("run", "rollback", "run", "finalize")


def main() -> int:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    about = machine() | {"kafka": VERSION}
    del about["spark"]
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as home:
        found = {"machine": about, **measured(Path(home))}
    publish(wish.out, "kraft", found, page(found))
    return 0


def measured(home: Path) -> dict[str, Any]:
    """Return the seconds of each command and step, and what clients noticed."""
    runs = []
    with ZooKeeperCluster(3, 3, home=home) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            for number, command in enumerate(COMMANDS):
                before = len(entries(lab))
                done = run_whole(lab, command, f"{command}-{number}")
                if done.wait() != 0:
                    raise RuntimeError(done.said)
                traffic.flowing()
                new = entries(lab)[before:]
                seconds = (new[-1]["at"] - new[0]["at"]) / 1000
                runs.append({"command": command, "seconds": seconds, "steps": _steps(new)})
    return {"runs": runs, "clients": dataclasses.asdict(traffic.result())}


def _steps(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps of a command, those of a kind together."""
    seconds = defaultdict[str, list[float]](list)
    for each in found:
        if each["event"] == "step_done":
            seconds[each["step"]].append(each["seconds"])
    return [{"step": step, "seconds": some} for step, some in seconds.items()]


def page(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from ("# Migrations to KRaft, step by step", "")
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())
    clients = found["clients"]
    yield from ("", "## What clients noticed", "")
    yield from table(
        ("records", "failed", "lost", "doubled", "longest pause, producer", "consumer"),
        [
            (
                f"{clients['sent']:,}", clients["failed"], clients["lost"], clients["doubled"],
                f"{clients['pause']:.1f} s", f"{clients['read_pause']:.1f} s",
            )
        ],
    )  # fmt: skip
    for each in found["runs"]:
        yield from ("", f"## towpath kraft {each['command']}: {each['seconds']:.0f} s", "")
        rows = (
            (step["step"], len(step["seconds"]), f"{min(step['seconds']):.1f}",
             f"{max(step['seconds']):.1f}")
            for step in each["steps"]
        )  # fmt: skip
        yield from table(("step", "times", "shortest, s", "longest, s"), rows)
    yield from ("", *_METHOD)


_METHOD = (
    "Three brokers (Kafka 3.9.2, 256 MB of heap each), three controllers and a ZooKeeper share the"
    " processors above with the clients: a producer (acks=all, idempotent, 100 records a second,"
    " SCRAM) and a consumer of a topic with three partitions. The cluster has 12 topics, 7 ACLs, 2"
    " users, 5 quotas and dynamic configs. The four commands follow each other while the clients go"
    " on. Seconds of a step are those until the cluster is seen to be where the step leads; the"
    " longest pause is between two acknowledgements, or two new records of the consumer.",
)


if __name__ == "__main__":
    sys.exit(main())
