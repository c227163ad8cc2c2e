"""`towpath dev up`, `status`, `down` and `reset`: a source and a target that run until stopped.

What was started stands in a file of the home folder, so that a later process can stop it. Nothing
else is ever stopped: a process counts as ours only with the pid and the start time of that file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from towpath.dev import distribution, ports
from towpath.dev import secure as strongbox
from towpath.dev.broker import LocalCluster
from towpath.dev.errors import DevError, PortTakenError
from towpath.dev.process import Identity
from towpath.dev.secure import Strongbox
from towpath.model.nouns import Side
from towpath.runtime.home import home_folder

SOURCE_PORT = 9092
TARGET_PORT = 9093
_DATA = re.compile(r"(secure-)?(source|target)-\d+(\.\d+)+")
"""Name of a folder with the data of a cluster: its kind, its side and Kafka's version."""
_SECURE = "secure"


@dataclass(frozen=True, slots=True)
class DevCluster:
    """A local cluster that `up` started.

    Attributes:
        side: Its side of a link.
        bootstrap: Its address.
        version: Kafka's version.
        process: Its process.
        secure: Whether clients need TLS and a login.
    """

    side: Side
    bootstrap: str
    version: str
    process: Identity
    secure: bool = False

    @property
    def running(self) -> bool:
        """Whether the broker process still lives."""
        return self.process.process() is not None


def default_home() -> Path:
    """Return the default folder for data and state."""
    return home_folder() / "dev"


def up(
    home: Path | None = None,
    *,
    version: str | None = None,
    source_port: int | None = None,
    target_port: int | None = None,
    elsewhere: bool = False,
    secure: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[DevCluster, ...]:
    """Start a source and a target that outlive this process; running ones are kept.

    What is asked for and does not fit a cluster that runs is told, and not used.

    Args:
        home: Folder for state and data; data is kept by `down`.
        version: Kafka's version; by default the newest.
        source_port: The client port of the source; by default `SOURCE_PORT`.
        target_port: The client port of the target; by default `TARGET_PORT`.
        elsewhere: Use other, free ports if these are taken, instead of failing.
        secure: Let clients need TLS, a login and rights; `link_file` tells which.
        tell: Called with sentences about the progress.

    Raises:
        PortTakenError: Another process listens on a port.
        DevError: Java is missing, Kafka could not be fetched, a broker did not start, or clusters
            of the other kind run.
    """
    folder = _folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    clusters = [each for each in running(folder) if each.running]
    _require_kind(clusters, secure=secure)
    box = strongbox.prepare(folder / _SECURE) if secure else None
    wishes = ((Side.SOURCE, source_port, SOURCE_PORT), (Side.TARGET, target_port, TARGET_PORT))
    for side, wanted, usual in wishes:
        if any(each.side == side for each in clusters):
            _tell_unused(
                next(each for each in clusters if each.side == side), wanted, version, tell
            )
            continue
        port = _port(wanted or usual, elsewhere, tell)
        kafka = version or distribution.NEWEST
        tell(f"Starting the {side} (Kafka {kafka}) on 127.0.0.1:{port}.")
        clusters.append(_start(folder, side, kafka, port, box))
        # Saved at once, so that `down` finds it even if the next cluster does not start.
        _write(folder, clusters)
    if box is not None:
        strongbox.write_link(box, {each.side: each.bootstrap for each in clusters})
    return tuple(clusters)


def link_file(home: Path | None = None) -> Path:
    """Return the path of the link's file for secured clusters."""
    return strongbox.Strongbox(_folder(home) / _SECURE).link


def down(home: Path | None = None) -> tuple[DevCluster, ...]:
    """Stop the clusters that `up` started, and return them."""
    folder = _folder(home)
    stopped = tuple(each for each in running(folder) if each.running)
    for each in stopped:
        each.process.stop()
    _file(folder).unlink(missing_ok=True)
    return stopped


def data(home: Path | None = None) -> tuple[Path, ...]:
    """Return the data folders of the clusters, of all versions that were started."""
    folder = _folder(home)
    found = folder.iterdir() if folder.is_dir() else ()
    return tuple(sorted(each for each in found if each.is_dir() and _DATA.fullmatch(each.name)))


def reset(
    home: Path | None = None, *, tell: Callable[[str], None] = lambda _: None
) -> tuple[DevCluster, ...]:
    """Delete the data of the clusters, and start them with the same versions and ports.

    Args:
        home: Folder for state and data; nothing else in it is deleted.
        tell: Called with sentences about the progress.

    Raises:
        DevError: A broker did not stop or start.
    """
    known = {each.side: each for each in down(home)}
    folders = data(home)
    secure = all(folder.name.startswith(_SECURE) for folder in folders) and bool(folders)
    for folder in folders:
        tell(f"Deleting {folder}.")
        shutil.rmtree(folder)
    ports_ = {side: int(each.bootstrap.rpartition(":")[2]) for side, each in known.items()}
    versions = {each.version for each in known.values()}
    return up(
        home,
        version=versions.pop() if len(versions) == 1 else None,
        source_port=ports_.get(Side.SOURCE),
        target_port=ports_.get(Side.TARGET),
        secure=any(each.secure for each in known.values()) if known else secure,
        tell=tell,
    )


def running(home: Path | None = None) -> tuple[DevCluster, ...]:
    """Return the clusters that `up` started and `down` has not stopped."""
    path = _file(_folder(home))
    if not path.exists():
        return ()
    return tuple(
        DevCluster(
            Side(each["side"]),
            each["bootstrap"],
            each["version"],
            Identity(**each["process"]),
            each.get("secure", False),
        )
        for each in json.loads(path.read_text())
    )


def _folder(home: Path | None) -> Path:
    return (home or default_home()).absolute()


def _start(
    folder: Path, side: Side, version: str, port: int, box: Strongbox | None = None
) -> DevCluster:
    # Kafka reads only data of its own version, so each version has a folder.
    name = f"{side}-{version}"
    home = folder / (f"{_SECURE}-{name}" if box else name)
    configs = strongbox.broker_configs(box) if box else {}
    cluster = LocalCluster(version, home=home, client_ports=[port], properties=configs).start()
    try:
        if box is not None:
            strongbox.settle(box, side, cluster.back_door, cluster.bootstrap)
    except BaseException:
        cluster.stop(hard=True)
        raise
    (process,) = cluster.leave_running()
    return DevCluster(side, cluster.bootstrap, version, process, secure=box is not None)


def _require_kind(clusters: Sequence[DevCluster], *, secure: bool) -> None:
    """Make sure that no cluster of the other kind runs.

    Raises:
        DevError: One runs.
    """
    for each in clusters:
        if each.secure is not secure:
            how = "with" if each.secure else "without"
            raise DevError(
                f"the {each.side} runs already on {each.bootstrap}, {how} TLS and logins",
                "run `towpath dev down` first, which keeps its data",
            )


def _tell_unused(
    cluster: DevCluster, port: int | None, version: str | None, tell: Callable[[str], None]
) -> None:
    """Tell which wishes are not used, as a cluster runs already."""
    unused = []
    if port is not None and not cluster.bootstrap.endswith(f":{port}"):
        unused.append(f"port {port}")
    if version is not None and version != cluster.version:
        unused.append(f"Kafka {version}")
    if unused:
        tell(
            f"The {cluster.side} runs already, with Kafka {cluster.version} on {cluster.bootstrap};"
            f" {' and '.join(unused)} not used. To change that, run `towpath dev down` first."
        )


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
