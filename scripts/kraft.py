"""The demo of migrations to KRaft: `python scripts/kraft.py FOLDER`.

A cluster of three brokers and a ZooKeeper, with topics, ACLs, SCRAM users, quotas, and clients that
never stop, goes to KRaft with three controllers, back to ZooKeeper, to KRaft again, and is
finalized. Then ZooKeeper is stopped for good. All that it starts is stopped.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.support.kraft.patients import seed
from tests.support.kraft.traffic import Traffic

from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.model.errors import TowpathError


def main(folder: Path) -> None:
    """Play the whole demo in a folder."""
    step("A ZooKeeper and three brokers (the first time, their jars are fetched)")
    cluster = ZooKeeperCluster(brokers=3, controllers=3, home=folder)
    try:
        cluster.start()
        seed(cluster)
        with Traffic(cluster) as traffic:
            play(cluster, traffic)
        told = traffic.result()
        step("What the clients lived through")
        say(f"{told.sent:,} sent, {told.failed} failed, {told.lost} lost, {told.doubled} doubled")
        say(f"longest pause: producer {told.pause:.1f} s, consumer {told.read_pause:.1f} s")
        if not told.whole:
            sys.exit("records were lost, doubled or failed")
    finally:
        cluster.stop(hard=True)


def play(cluster: ZooKeeperCluster, traffic: Traffic) -> None:
    """Migrate, roll back, migrate again, and finalize, under traffic."""
    file = str(cluster.config)
    for title, *command in commands(file, cluster.name):
        step(title)
        began = time.monotonic()
        towpath(*command)
        say(f"{time.monotonic() - began:.0f} s")
        traffic.flowing()
    step("ZooKeeper is stopped; the cluster goes on")
    cluster.zookeeper.kill()
    traffic.flowing()
    step("The page of all proofs: towpath kraft report")
    page = cluster.home / "report.html"
    towpath("report", file, "--to", str(page))


def commands(file: str, name: str) -> tuple[tuple[str, ...], ...]:
    """Return a heading and the words of each command, for the file and name of a migration."""
    return (
        ("Everything that would stop it: towpath kraft check", "check", file),
        ("To KRaft: towpath kraft run", "run", file, "--yes"),
        ("Both stores side by side: towpath kraft status", "status", file),
        ("Back to ZooKeeper: towpath kraft rollback", "rollback", file, "--yes"),
        ("To KRaft again", "run", file, "--yes"),
        ("For good: towpath kraft finalize", "finalize", file, "--confirm", name),
    )


def towpath(*arguments: str) -> None:
    """Run a command of `towpath kraft` as a user would."""
    words = [sys.executable, "-m", "towpath", "kraft", *arguments]
    code = subprocess.run(words, check=False).returncode  # noqa: S603, words of ours
    if code:
        sys.exit(f"towpath kraft {arguments[0]} ended with {code}")


def step(text: str) -> None:
    """Show a heading."""
    sys.stderr.write(f"\n== {text}\n")


def say(text: str) -> None:
    """Show a line."""
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except TowpathError as error:
        sys.exit(str(error))
