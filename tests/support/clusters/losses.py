"""Target logs that lose records: the disk of a broker is wiped, or a power cut takes the end."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from towpath.dev.broker import LocalCluster

WIPED = 0.0


def lose(cluster: LocalCluster, logs: Mapping[str, float], broker: int = 1) -> None:
    """Let a broker lose the ends of some logs, or all of them.

    Args:
        cluster: Its cluster; the broker is killed, and runs again afterwards.
        logs: How much of each log stays, as a fraction of its bytes, by `topic-partition`; `WIPED`
            takes the whole log away.
        broker: The broker.
    """
    cluster.kill9(broker)
    for name, share in logs.items():
        folder = cluster.home / f"broker-{broker}" / "data" / name
        if share == WIPED:
            shutil.rmtree(folder)
            continue
        log = folder / f"{0:020}.log"
        with log.open("r+b") as file:
            file.truncate(int(log.stat().st_size * share))
        for path in folder.iterdir():  # later segments, too: markers of today begin one
            if path.suffix in {".index", ".timeindex", ".snapshot"} or (
                path.suffix == ".log" and path != log
            ):
                path.unlink()
    cluster.restart(broker)
