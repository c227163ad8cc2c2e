"""A local Kafka cluster with real brokers."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import socket
import struct
import uuid
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Self

from towpath.dev import distribution, ports
from towpath.dev.broker_configs import Ports, broker_properties, properties_text
from towpath.dev.errors import BrokerError
from towpath.dev.process import Identity, JavaProcess, classes, command, pause_before_next_look
from towpath.model.nouns import ClusterId
from towpath.runtime.deadline import Deadline
from towpath.runtime.home import home_folder
from towpath.runtime.java_classes import ClassArchive

START_PATIENCE = 60.0
_METADATA = 3
_SOON = 5.0
"""Seconds for an answer of a broker that listens; one that starts keeps us waiting."""


class LocalCluster:
    """One or three KRaft brokers, each a controller too, bound to 127.0.0.1.

    Args:
        version: Kafka's version; its jars are fetched when missing.
        brokers: Number of brokers, with ids from 1. Three survive the loss of any one.
        home: Folder for data, configs and logs. A restarted cluster keeps its data.
        properties: Further configs of the brokers, which win over ours; `{node}` in a value is
            the broker's id.
        heap: Largest heap of each broker.
        client_ports: The client port of each broker; by default free ports.
        options: JVM options, instead of those that use the class archive.
    """

    def __init__(
        self,
        version: str = distribution.NEWEST,
        brokers: int = 1,
        *,
        home: Path,
        properties: Mapping[str, str] | None = None,
        heap: str = "256m",
        client_ports: Sequence[int] = (),
        options: Sequence[str] = (),
    ) -> None:
        self.version, self.home = version, home
        self.cluster_id = ClusterId("")
        self._properties, self._heap, self._options = dict(properties or {}), heap, options
        self._ports = _all_ports(brokers, client_ports)
        self._jars = Path()
        self._processes: MutableMapping[int, JavaProcess] = {}

    @property
    def addresses(self) -> tuple[str, ...]:
        """The client addresses of all brokers, as host:port."""
        return tuple(f"127.0.0.1:{each.client}" for each in self._ports)

    @property
    def bootstrap(self) -> str:
        """The client addresses of all brokers, as one text."""
        return ",".join(self.addresses)

    @property
    def back_door(self) -> str:
        """The addresses of the inter-broker listener: plain text, no login."""
        return ",".join(f"127.0.0.1:{each.internal}" for each in self._ports)

    @property
    def controllers(self) -> tuple[str, ...]:
        """The controller address of each broker, as host:port; plain text."""
        return tuple(f"127.0.0.1:{each.controller}" for each in self._ports)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """The running processes."""
        return tuple(each.identity for each in self._processes.values() if each.running)

    def start(self) -> Self:
        """Start all brokers, and wait until each answers with its id.

        Raises:
            BrokerError: A broker did not start; the error shows the end of its log.
            DevError: A port is taken, Java is missing, or Kafka could not be fetched.
        """
        self._jars = distribution.fetch(self.version)
        for each in self._ports:
            for port in each.all():
                ports.require_free(port)
        self.home.mkdir(parents=True, exist_ok=True)
        self.cluster_id = self._cluster_id()
        try:
            self._format()
            for node in self._nodes:
                self._launch(node)
            deadline = Deadline.after(START_PATIENCE)
            for node in self._nodes:
                self._await(node, deadline)
        except BaseException:
            self.stop(hard=True)
            raise
        return self

    def stop(self, *, hard: bool = False) -> None:
        """Stop all brokers.

        Args:
            hard: Kill them at once; for clusters whose data is no longer needed.
        """
        for process in self._processes.values():
            for number in (signal.SIGKILL,) if hard else (signal.SIGCONT, signal.SIGTERM):
                process.send(number)
        patience = Deadline.after(15.0)
        for process in self._processes.values():
            if not process.wait(patience.left()):
                process.kill()
        self._processes.clear()

    def leave_running(self) -> tuple[Identity, ...]:
        """Release the broker processes, so that they outlive this object, and return them."""
        left = self.identities
        for process in self._processes.values():
            process.forget()
        self._processes.clear()
        return left

    def kill9(self, broker: int) -> None:
        """Kill a broker without warning, like a power failure."""
        self._processes[broker].kill()

    def stop_broker(self, broker: int) -> None:
        """Stop a broker cleanly, like an operator."""
        self._processes[broker].stop()

    def restart(self, broker: int) -> None:
        """Start a broker again, and wait until it answers."""
        self._processes[broker].stop()
        self._launch(broker)
        self._await(broker, Deadline.after(START_PATIENCE))

    def pause(self, broker: int) -> None:
        """Freeze a broker: its connections stay open, but nothing is answered."""
        self._processes[broker].freeze()

    def resume(self, broker: int) -> None:
        """Resume a frozen broker."""
        self._processes[broker].send(signal.SIGCONT)

    def log(self, broker: int) -> Path:
        """Return the log file of a broker."""
        return self._folder(broker) / "broker.log"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(hard=True)

    @property
    def _nodes(self) -> range:
        return range(1, len(self._ports) + 1)

    def _folder(self, broker: int) -> Path:
        return self.home / f"broker-{broker}"

    def _configs(self, broker: int) -> Path:
        return self._folder(broker) / "server.properties"

    def _cluster_id(self) -> ClusterId:
        """Return the cluster id of the formatted data, or a new random one."""
        kept = self.home / "cluster.json"
        if kept.exists():
            return ClusterId(json.loads(kept.read_text())["id"])
        # Kafka's tool would read an id that begins with a dash as an option.
        drawn = "-"
        while drawn.startswith("-"):
            drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        kept.write_text(json.dumps({"id": drawn, "version": self.version}))
        return ClusterId(drawn)

    def _format(self) -> None:
        """Write the configs of all brokers, and format the storage of new ones."""
        running: list[tuple[int, JavaProcess]] = []
        for node in self._nodes:
            folder = self._folder(node)
            data = folder / "data"
            folder.mkdir(exist_ok=True)
            self._configs(node).touch(mode=0o600)  # it may hold the password of a key
            self._configs(node).write_text(properties_text(self._broker_properties(node)))
            if not (data / "meta.properties").exists():
                shutil.rmtree(data, ignore_errors=True)
                running.append((node, self._formatting(node)))
        for node, process in running:
            if not process.wait(START_PATIENCE) or not (self._folder(node) / "data").exists():
                process.kill()
                raise BrokerError(f"broker {node} could not be formatted", process.log_end())

    def _broker_properties(self, node: int) -> dict[str, str]:
        own = {key: value.replace("{node}", str(node)) for key, value in self._properties.items()}
        return broker_properties(node, self._ports, self._folder(node) / "data") | own

    def _formatting(self, broker: int) -> JavaProcess:
        folder = self._folder(broker)
        arguments = ["format", "-t", self.cluster_id, "-c", str(self._configs(broker))]
        tool = "kafka.tools.StorageTool"
        line = command(self._jars, tool, arguments, heap="128m", work=folder)
        return JavaProcess(line, folder / "format.log")

    def _launch(self, broker: int) -> None:
        arguments = [str(self._configs(broker))]
        folder = self._folder(broker)
        line = command(
            self._jars,
            "kafka.Kafka",
            arguments,
            heap=self._heap,
            work=folder,
            options=self._options,
        )
        self._processes[broker] = JavaProcess(line, self.log(broker))

    def _await(self, broker: int, deadline: Deadline) -> None:
        """Wait until the broker on our port answers with our cluster id."""
        process = self._processes[broker]
        port = self._ports[broker - 1].internal
        while not self._answers(broker, port):
            if not process.running:
                raise BrokerError(
                    f"broker {broker} (Kafka {self.version}) ended while starting",
                    process.log_end(),
                    f"its whole log is {process.log}",
                )
            if deadline.over:
                raise BrokerError(
                    f"broker {broker} (Kafka {self.version}) did not answer on port {port}"
                    f" within {START_PATIENCE:.0f} s",
                    process.log_end(),
                    f"its whole log is {process.log}",
                )
            pause_before_next_look()

    def _answers(self, broker: int, port: int) -> bool:
        """Return whether this cluster's broker of that id listens on the port.

        An open port is not enough: another process may listen there.
        """
        seen = answers(port)
        return seen.cluster_id == self.cluster_id and (broker, port) in seen.brokers


@dataclass(frozen=True, slots=True)
class ToldBrokers:
    """The answer of a broker: cluster id, and all brokers by id and port."""

    cluster_id: str = ""
    brokers: frozenset[tuple[int, int]] = frozenset()


def answers(port: int) -> ToldBrokers:
    """Return the answer of the broker on a local port, without a login."""
    request = struct.pack(">ihhihi", 14, _METADATA, 2, 1, -1, 0)
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=_SOON) as line,
            line.makefile("rb") as answer,
        ):
            line.sendall(request)
            return _read(answer)
    except (OSError, struct.error):
        return ToldBrokers()


def _read(answer: BinaryIO) -> ToldBrokers:
    """Read an answer to Metadata, version 2, up to the cluster's id."""

    def number(form: str) -> int:
        return int(struct.unpack(form, answer.read(struct.calcsize(form)))[0])

    def text() -> str:
        return answer.read(max(number(">h"), 0)).decode()

    number(">i")  # the size
    number(">i")  # the request's number
    brokers = set()
    for _ in range(number(">i")):
        node, _, port, _ = number(">i"), text(), number(">i"), text()
        brokers.add((node, port))
    return ToldBrokers(text(), frozenset(brokers))


def listens(port: int) -> bool:
    """Return whether a server listens on a local port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _all_ports(brokers: int, clients: Sequence[int]) -> tuple[Ports, ...]:
    columns = clients or ports.reserve(brokers), ports.reserve(brokers), ports.reserve(brokers)
    return tuple(Ports(*each) for each in zip(*columns, strict=True))


def archive_classes(version: str = distribution.NEWEST) -> None:
    """Let a broker write the class data archive, which halves later start times.

    Raises:
        DevError: See `LocalCluster.start`.
    """
    archive = classes(distribution.fetch(version))
    if archive.present:
        return
    with distribution.alone(home_folder() / "archive.lock"):
        if not archive.present:
            _archive_classes(version, archive)


def _archive_classes(version: str, archive: ClassArchive) -> None:
    with TemporaryDirectory() as home:
        cluster = LocalCluster(version, home=Path(home), options=archive.make())
        cluster.start().stop()
    archive.settle(0.0)
