"""Real ZooKeeper servers on this machine, with TLS and logins, alone or as an ensemble."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from towpath.dev import distribution, ports
from towpath.dev.process import JavaProcess, command
from towpath.kraft.config.file import ZooKeeperConfig
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.runtime.deadline import Deadline

VERSION = "3.9.2"
"""The Kafka whose ZooKeeper (3.8.4) is run."""
TICK = 200
"""Unit of all of its times in ms: the shortest session lasts two of them, the longest twenty."""


class Ensemble:
    """Servers of one ensemble; each may be stopped, frozen and started again.

    Args:
        home: A folder for each server.
        size: Number of servers.
        login: Passwords of users who may log in.
        admin: Whether the first server has an AdminServer, at `admin_port`.
        more: Further settings.
    """

    def __init__(
        self,
        home: Path,
        size: int = 1,
        *,
        login: Mapping[str, str] | None = None,
        admin: bool = False,
        **more: str,
    ) -> None:
        self._home, self._login, self._more = home, login, more
        *self._ports, self.admin_port = ports.reserve(3 * size + 1)
        self._admin = admin
        self.processes: list[JavaProcess] = []
        self.size = size

    @property
    def connect(self) -> str:
        """The addresses of all servers."""
        return ",".join(f"127.0.0.1:{self.port(index)}" for index in range(self.size))

    def port(self, index: int = 0) -> int:
        """The client port of a server."""
        return self._ports[3 * index]

    def start(self) -> None:
        """Start all servers; return before they answer."""
        self.processes = [self.begin(index) for index in range(self.size)]

    def begin(self, index: int) -> JavaProcess:
        """Start one server, with the data that it has."""
        folder = self._home / f"zookeeper-{index}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "myid").write_text(f"{index + 1}\n")
        settings = folder / "zoo.cfg"
        settings.write_text("".join(f"{line}\n" for line in self._settings(index, folder)))
        jars = distribution.fetch_zookeeper() if self._admin else distribution.fetch(VERSION)
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        options = ["-XX:+UseSerialGC"]
        if self._login is not None:
            options.append(f"-Djava.security.auth.login.config={self._jaas(folder)}")
        line = command(jars, main, [str(settings)], heap="64m", work=folder, options=options)
        return JavaProcess(line, folder / "zookeeper.log")

    def send(self, index: int, number: signal.Signals) -> None:
        """Send a signal to a server."""
        self.processes[index].send(number)

    def stop(self) -> None:
        """Stop all servers."""
        for each in self.processes:
            each.kill()

    def config(self, path: str = "", **more: object) -> ZooKeeperConfig:
        """Return the section of the file."""
        told = {
            "connect": self.connect + path,
            "session_timeout": "4s",
            "admin_port": self.admin_port,
            **more,
        }
        return ZooKeeperConfig.model_validate(told)

    def _settings(self, index: int, folder: Path) -> Iterator[str]:
        yield from (f"dataDir={folder}", f"tickTime={TICK}")
        admin = self._admin and index == 0
        yield f"admin.enableServer={str(admin).lower()}"
        yield from ("admin.serverAddress=127.0.0.1", f"admin.serverPort={self.admin_port}")
        yield from ("initLimit=50", "syncLimit=25", "4lw.commands.whitelist=srvr,mntr")
        if "secureClientPort" not in self._more:
            yield f"clientPort={self.port(index)}"
        if self.size > 1:
            for each in range(self.size):
                first, second = self._ports[3 * each + 1 : 3 * each + 3]
                yield f"server.{each + 1}=127.0.0.1:{first}:{second}"
        if self._login is not None:
            yield "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
        yield from (f"{key}={value}" for key, value in self._more.items())

    def _jaas(self, folder: Path) -> Path:
        users = " ".join(f'user_{name}="{word}"' for name, word in (self._login or {}).items())
        module = "org.apache.zookeeper.server.auth.DigestLoginModule"
        made = folder / "jaas.conf"
        made.write_text(f"Server {{ {module} required {users}; }};\n")
        return made


@contextmanager
def ensemble(home: Path, size: int = 1, **more: object) -> Iterator[Ensemble]:
    """Run an ensemble for a block."""
    made = Ensemble(home, size, **more)  # type: ignore[arg-type]
    made.start()
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def zookeeper(config: ZooKeeperConfig, seconds: float = 30) -> Iterator[ZooKeeper]:
    """Open a session, which may take as long as a server needs to start."""
    made = ZooKeeper(config).open(Deadline.after(seconds))
    try:
        yield made
    finally:
        made.close()


def fill(connect: str, znodes: Mapping[str, bytes | None]) -> None:
    """Create znodes with all above them; None is a znode without a content."""
    client = KazooClient(connect)
    client.start(30)
    try:
        waiting = []
        known = {"/"}
        for path, data in znodes.items():
            for parent in _above(path):
                if parent not in known:
                    waiting.append(client.create_async(parent, None))
                    known.add(parent)
            waiting.append(
                client.set_async(path, data) if path in known else client.create_async(path, data)
            )
            known.add(path)
        for each in waiting:
            each.get(timeout=30)
    finally:
        client.stop()
        client.close()


def znodes(connect: str, path: str = "") -> dict[str, tuple[bytes | None, int]]:
    """Return all znodes below a path, with contents and versions."""
    client = KazooClient(connect)
    client.start(30)
    try:
        return dict(_below(client, path))
    finally:
        client.stop()
        client.close()


def _below(client: KazooClient, path: str) -> Iterator[tuple[str, tuple[bytes | None, int]]]:
    try:
        names = client.get_children(path or "/")
    except NoNodeError:  # gone meanwhile
        return
    for name in names:
        child = f"{path}/{name}"
        with suppress(NoNodeError):
            data, stat = client.get(child)
            yield child, (data, stat.version)
        yield from _below(client, child)


def _above(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(2, len(parts)))
