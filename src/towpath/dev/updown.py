"""`towpath dev up` and `towpath dev down`: a source and a target that run until stopped.

What was started stands in a file of the home folder, so that a later process can stop it. Nothing
else is ever stopped: a process counts as ours only with the pid and the start time of that file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from towpath.dev import distribution, ports
from towpath.dev.broker import LocalCluster
from towpath.dev.errors import PortTakenError
from towpath.dev.process import Identity
from towpath.model.home import home_folder
from towpath.model.nouns import Side

SOURCE_PORT = 9092
TARGET_PORT = 9093


@dataclass(frozen=True, slots=True)
class DevCluster:
    """A cluster that `up` started: its side, address and process."""

    side: Side
    bootstrap: str
    version: str
    process: Identity

    @property
    def running(self) -> bool:
        """Whether the process still lives."""
        return self.process.process() is not None


def default_home() -> Path:
    """Return the default folder for data and state."""
    return home_folder() / "dev"


def up(
    home: Path | None = None,
    *,
    version: str = distribution.NEWEST,
    source_port: int = SOURCE_PORT,
    target_port: int = TARGET_PORT,
    elsewhere: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[DevCluster, ...]:
    """Start a source and a target that outlive this process; running ones are kept.

    Args:
        home: Folder for state and data; data is kept by `down`.
        version: Kafka's version.
        source_port: The client port of the source.
        target_port: The client port of the target.
        elsewhere: Use other, free ports if these are taken, instead of failing.
        tell: Called with sentences about the progress.

    Raises:
        PortTakenError: Another process listens on a port.
        DevError: Java is missing, Kafka could not be fetched, or a broker did not start.
    """
    folder = _folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    clusters = [each for each in running(folder) if each.running]
    for side, wanted in ((Side.SOURCE, source_port), (Side.TARGET, target_port)):
        if any(each.side == side for each in clusters):
            continue
        port = _port(wanted, elsewhere, tell)
        tell(f"Starting the {side} (Kafka {version}) on 127.0.0.1:{port}.")
        clusters.append(_start(folder, side, version, port))
        # Saved at once, so that `down` finds it even if the next cluster does not start.
        _write(folder, clusters)
    return tuple(clusters)


def down(home: Path | None = None) -> tuple[DevCluster, ...]:
    """Stop the clusters that `up` started; return them."""
    folder = _folder(home)
    stopped = tuple(each for each in running(folder) if each.running)
    for each in stopped:
        each.process.stop()
    _file(folder).unlink(missing_ok=True)
    return stopped


def running(home: Path | None = None) -> tuple[DevCluster, ...]:
    """Return the clusters that `up` started and `down` has not stopped."""
    path = _file(_folder(home))
    if not path.exists():
        return ()
    return tuple(
        DevCluster(
            Side(each["side"]), each["bootstrap"], each["version"], Identity(**each["process"])
        )
        for each in json.loads(path.read_text())
    )


def _folder(home: Path | None) -> Path:
    return (home or default_home()).absolute()


def _start(folder: Path, side: Side, version: str, port: int) -> DevCluster:
    # Kafka reads only data of its own version, so each version has a folder.
    home = folder / f"{side}-{version}"
    cluster = LocalCluster(version, home=home, client_ports=[port]).start()
    (process,) = cluster.leave_running()
    return DevCluster(side, cluster.bootstrap, version, process)


def _port(wanted: int, elsewhere: bool, tell: Callable[[str], None]) -> int:
    try:
        ports.require_free(wanted)
    except PortTakenError as error:
        if not elsewhere:
            raise
        (free,) = ports.reserve(1)
        tell(f"Port {wanted} is taken{error.by}, so {free} is used.")
        return free
    return wanted


def _file(folder: Path) -> Path:
    return folder / "running.json"


def _write(folder: Path, clusters: list[DevCluster]) -> None:
    path = _file(folder)
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps([asdict(each) for each in clusters], indent=2))
    scratch.replace(path)
