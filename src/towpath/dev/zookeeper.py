"""A local Kafka cluster in ZooKeeper mode, for trying a migration to KRaft.

Its brokers run as the local driver runs nodes: each is a `KeptProcess` in the driver's folder. So
the driver finds those that were started here, and this finds those that the driver has started.
"""

from __future__ import annotations

import secrets
import signal
import socket
from pathlib import Path
from typing import Self

from towpath.cluster.admin import Admin
from towpath.dev import distribution, ports
from towpath.dev.broker import answers
from towpath.dev.broker_configs import properties_text
from towpath.dev.errors import BrokerError
from towpath.dev.process import command, pause_before_next_look
from towpath.dev.zookeeper_configs import (
    ADMIN,
    FIRST_CONTROLLER,
    MECHANISM,
    LabFiles,
    LabPorts,
    broker_properties,
    kraft_file,
    zookeeper_properties,
)
from towpath.model.nouns import Side
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline
from towpath.runtime.kept_process import KeptProcess
from towpath.settings import ClusterConfig

VERSION = "3.9.2"
"""The last Kafka that can use ZooKeeper."""
_ITERATIONS = 4096
_PATIENCE = 180.0
"""Seconds in which nodes start: they do it side by side, and others may use the machine too."""
_SOON = 5.0
"""Seconds for an answer of ZooKeeper; while it starts it may give none."""


class ZooKeeperCluster:
    """A ZooKeeper, brokers with ids from 1, and ports for controllers with ids from 3000.

    Clients log in with SCRAM-SHA-256; brokers among each other do not. ACLs are kept and bind
    everybody but `admin`. The first broker has two log directories.

    Args:
        brokers: Number of brokers.
        controllers: Number of controllers that the migration will start.
        home: Folder for everything; a restarted cluster keeps its data, files and ports.
        name: Name of the migration.
        heap: Largest heap of each node.
    """

    def __init__(
        self,
        brokers: int = 1,
        controllers: int = 1,
        *,
        home: Path,
        name: str = "lab",
        heap: str = "256m",
    ) -> None:
        self.home, self.name, self._heap = home, name, heap
        self.files = LabFiles(home)
        self.ports = LabPorts.of(home, brokers, controllers)
        self.zookeeper = KeptProcess(home / "run" / "zookeeper")

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of the brokers."""
        return tuple(range(1, len(self.ports.clients) + 1))

    @property
    def controllers(self) -> tuple[int, ...]:
        """Ids of the controllers, whether they run or not."""
        end = FIRST_CONTROLLER + len(self.ports.controllers)
        return tuple(range(FIRST_CONTROLLER, end))

    @property
    def bootstrap(self) -> str:
        """The client addresses of all brokers, which demand a login."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.clients)

    @property
    def back_door(self) -> str:
        """The addresses of the inter-broker listener: no login, every right."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.internal)

    @property
    def connect(self) -> str:
        """The address of ZooKeeper."""
        return f"127.0.0.1:{self.ports.zookeeper}"

    @property
    def config(self) -> Path:
        """The path of the migration's file."""
        return self.files.config

    @property
    def password(self) -> Secret:
        """The password of the user `admin`."""
        if not self.files.password.exists():
            self.files.password.touch(mode=0o600)
            self.files.password.write_text(secrets.token_urlsafe(24) + "\n")
        return Secret(self.files.password.read_text().strip())

    def start(self) -> Self:
        """Start ZooKeeper and all stopped brokers, and wait until each answers.

        Raises:
            BrokerError: A process did not start; the error shows the end of its log.
            DevError: A port is taken, Java is missing, or Kafka could not be fetched.
            ClusterError: The user `admin` was refused.
        """
        is_new = not self.config.exists()
        self._prepare()
        try:
            self.start_zookeeper()
            deadline = Deadline.after(_PATIENCE)
            for node in self.brokers:
                if not self.process(node).running:
                    self.wait_forgotten(node, deadline)
                    self.process(node).start(self.command(node))
            for node in self.brokers:
                self.wait(node, deadline)
            if is_new:
                self._settle()
        except BaseException:
            self.stop(hard=True)
            raise
        return self

    def stop(self, *, hard: bool = False) -> None:
        """Stop all processes: brokers, then controllers, then ZooKeeper.

        Args:
            hard: Kill it at once; for clusters whose data is no longer needed.
        """
        nodes = [self.process(node) for node in (*self.brokers, *self.controllers)]
        every = [*nodes, self.zookeeper]
        for each in every if hard else nodes:
            each.send(signal.SIGKILL if hard else signal.SIGTERM)
        deadline = Deadline.after(30.0)
        for each in every:
            each.stop(deadline)

    def start_zookeeper(self) -> None:
        """Start ZooKeeper unless it runs, and wait until it serves.

        Raises:
            BrokerError: It did not start.
        """
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        file = self.home / "etc" / "zookeeper.properties"
        jars = distribution.fetch(VERSION)
        self.zookeeper.start(command(jars, main, [str(file)], heap="128m", work=self.home))
        deadline = Deadline.after(_PATIENCE)
        while not self._sessions():
            _require_running(self.zookeeper, "ZooKeeper", deadline)
            pause_before_next_look()

    def process(self, node: int) -> KeptProcess:
        """Return the process of a broker or controller."""
        return KeptProcess(self.files.run / str(node))

    def command(self, node: int, version: str = VERSION) -> list[str]:
        """Return the command that runs a broker or controller.

        Args:
            node: Its id.
            version: Kafka's version; another one than that of the lab upgrades a node.
        """
        return self._java(version, "kafka.Kafka", [str(self.files.properties(node))])

    def wait(self, broker: int, deadline: Deadline | None = None) -> None:
        """Wait until a broker answers with its id.

        Raises:
            BrokerError: It ended, or did not answer in time.
        """
        deadline = deadline or Deadline.after(_PATIENCE)
        port = self.ports.internal[broker - 1]
        while (broker, port) not in answers(port).brokers:
            _require_running(self.process(broker), f"broker {broker}", deadline)
            pause_before_next_look()

    def wait_forgotten(self, broker: int, deadline: Deadline | None = None) -> None:
        """Wait until ZooKeeper has ended the session of a killed broker.

        Before that the broker would end as it starts, as its znode exists.

        Raises:
            BrokerError: It still exists at the deadline.
        """
        deadline = deadline or Deadline.after(_PATIENCE)
        while f"/brokers/ids/{broker}\n" in (told := self._sessions()) or not told:
            if deadline.over:
                raise BrokerError(f"ZooKeeper still keeps the session of broker {broker}")
            pause_before_next_look()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(hard=True)

    def _sessions(self) -> str:
        """Return what ZooKeeper tells of its sessions and their znodes; "" unless it serves."""
        address = "127.0.0.1", self.ports.zookeeper
        try:
            with socket.create_connection(address, timeout=_SOON) as line:
                line.sendall(b"dump")
                with line.makefile("r") as answer:
                    told = answer.read()
        except OSError:
            return ""
        return told if "Sessions with Ephemerals" in told else ""

    def _java(self, version: str, main: str, arguments: list[str], heap: str = "") -> list[str]:
        jars = distribution.fetch(version)
        return command(jars, main, arguments, heap=heap or self._heap, work=self.home)

    def _prepare(self) -> None:
        """Write all files that are not there; those of nodes may have been changed meanwhile."""
        if not self.config.exists():
            mine = self.ports
            for port in (mine.zookeeper, *mine.clients, *mine.internal, *mine.controllers):
                ports.require_free(port)
        for folder in (self.home / "etc", self.files.run):
            folder.mkdir(parents=True, exist_ok=True)
        self.ports.keep(self.home)
        zookeeper = zookeeper_properties(self.ports.zookeeper, self.home / "data" / "zookeeper")
        _write_new(self.home / "etc" / "zookeeper.properties", properties_text(zookeeper))
        for node in self.brokers:
            text = properties_text(broker_properties(node, self.ports, self.files))
            _write_new(self.files.properties(node), text)

    def _settle(self) -> None:
        """Make the user `admin`, then write the file of the migration."""
        with Admin(ClusterConfig(bootstrap=tuple(self.back_door.split(","))), Side.SOURCE) as admin:
            who = Credential(ADMIN, Mechanism(MECHANISM))
            admin.users.set_credential(who, _ITERATIONS, self.password)
        form = ["format", "--cluster-id={cluster_id}", "-c", "{properties}"]
        text = kraft_file(
            self.name,
            self.ports,
            self.files,
            self._java(VERSION, "kafka.Kafka", ["{properties}"]),
            self._java(VERSION, "kafka.tools.StorageTool", form, "128m"),
        )
        _write_new(self.config, text)


def _write_new(path: Path, text: str) -> None:
    if not path.exists():
        path.write_text(text)


def _require_running(process: KeptProcess, what: str, deadline: Deadline) -> None:
    if process.running and not deadline.over:
        return
    why = "did not answer in time" if process.running else "ended while starting"
    raise BrokerError(f"{what} {why}", process.log_end(), f"its whole log is {process.log}")
