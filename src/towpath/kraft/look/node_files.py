"""Reading of a node's files: its properties, and the owner of its log directories."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from towpath.kraft.errors import DriverError, KraftFileError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import MetaProperties
from towpath.kraft.files.stored import LEADER_EPOCHS, META, log_dirs, metadata_dir
from towpath.kraft.reach.driver import Driver
from towpath.settings.java_properties import PropertiesFormError, read_properties

_CLIENT_PORTS = "/proc/sys/net/ipv4/ip_local_port_range"


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """The relevant contents of a node's files.

    Attributes:
        properties: Of the properties file; empty where there is none.
        meta: Of all log directories that have a `meta.properties`.
        stale: Whether the properties were written after the process was started.
        running: Whether the process runs.
        free_bytes: Space left where metadata is kept; None where it cannot be told.
        epochs: Of a controller; see `NodeSeen.epochs`.
    """

    properties: Mapping[str, str]
    meta: tuple[MetaProperties, ...]
    stale: bool
    running: bool
    free_bytes: int | None
    epochs: tuple[tuple[int, int], ...] | None = None


def read_files(driver: Driver, node: NodeId, path: str, data: str = "") -> NodeFiles:
    """Read a node's files.

    Args:
        driver: Reaches them.
        node: The node.
        path: Its properties file.
        data: The folder that a controller is to have, whatever its properties say; "" of a broker.

    Raises:
        KraftFileError: A file has a form that Kafka would refuse.
        DriverError: The node's host cannot be reached, or a file cannot be read.
    """
    properties = _properties(driver, node, path)
    started = driver.started()
    modified = driver.modified(path)
    folders = (*(log_dirs(properties) if properties else ()), *([data] if data else []))
    found = (_meta(driver, node, folder) for folder in dict.fromkeys(folders))
    return NodeFiles(
        properties=properties,
        meta=tuple(each for each in found if each is not None),
        stale=started is not None and modified is not None and modified > started,
        running=started is not None,
        free_bytes=driver.free_bytes(metadata_dir(properties)) if properties else None,
        epochs=_epochs(driver, node, metadata_dir(properties) if properties else data)
        if data
        else None,
    )


def client_ports(driver: Driver) -> range | None:
    """Return the ephemeral port range of a node's kernel (ip(7)).

    Returns:
        None where it does not tell: another system than Linux, or a node that cannot be reached.
    """
    with suppress(DriverError, ValueError):
        first, last = map(int, (driver.read(_CLIENT_PORTS) or b"").split())
        return range(first, last + 1)
    return None


def _properties(driver: Driver, node: NodeId, path: str) -> Mapping[str, str]:
    data = driver.read(path)
    try:
        return {} if data is None else read_properties(data)
    except PropertiesFormError as error:
        raise KraftFileError(node, path, str(error)) from error


def _epochs(driver: Driver, node: NodeId, folder: str) -> tuple[tuple[int, int], ...] | None:
    """Return the leader epochs of a controller's metadata log; see `NodeSeen.epochs`."""
    path = str(PurePosixPath(folder) / LEADER_EPOCHS)
    told = driver.read(path)
    if told is None:
        # An export tells only files that somebody has copied, so there it is not known.
        formatted = driver.modified(str(PurePosixPath(folder) / META)) is not None
        return () if formatted else None
    try:
        lines = (line.split() for line in told.decode().splitlines()[2:] if line.strip())
        return tuple((int(epoch), int(first)) for epoch, first in lines)
    except ValueError as error:
        raise KraftFileError(node, path, "it is no list of leader epochs") from error


def _meta(driver: Driver, node: NodeId, folder: str) -> MetaProperties | None:
    path = str(PurePosixPath(folder) / META)
    data = driver.read(path)
    if data is None:
        return None
    try:
        told = read_properties(data)
        version = int(told["version"])
        return MetaProperties(
            directory=folder,
            version=version,
            cluster_id=told.get("cluster.id", ""),
            node=NodeId(int(told["node.id" if version else "broker.id"])),
            directory_id=told.get("directory.id"),
        )
    except (KeyError, ValueError) as error:
        raise KraftFileError(node, path, "it is no meta.properties of a known version") from error
