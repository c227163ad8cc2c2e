"""Clusters whose clients may come in in many ways, and which several processes share."""

from __future__ import annotations

import copy
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from tests.support.clusters.formatted import copy_formatted, keep_formatted
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.dev.process import Identity, JavaProcess
from towpath.model.secret import Secret


@dataclass(frozen=True, slots=True)
class Listener:
    """One way into a cluster.

    Attributes:
        protocol: Kafka's name of it, such as `SASL_SSL`.
        properties: Configs of the listener, without its prefix.
        host: The host that clients are told.
        proxied: Whether clients are told the port of a proxy. What it must hand on goes to
            `SharedCluster.bound`, and clients begin at the proxy, too.
    """

    protocol: str = "PLAINTEXT"
    properties: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    proxied: bool = False


_FEW_THREADS = {"num.network.threads": "1", "num.io.threads": "2"}
"""Each of a dozen brokers wakes each of its threads three times a second; few requests come."""


class SharedCluster(LocalCluster):
    """A cluster that can be pickled: its processes are known by a file each.

    Clients may come in through the listener `CLIENT`, in plain text and without a password, as
    through the `back_door`, and through others.

    Args:
        arguments: Those of `LocalCluster`, as are other `options`.
        listeners: Further listeners, by name.
        users: Passwords by user name, for both kinds of SCRAM.
        properties: Further configs of the brokers.
    """

    def __init__(
        self,
        *arguments: Any,
        listeners: Mapping[str, Listener] | None = None,
        users: Mapping[str, Secret] | None = None,
        properties: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, properties={**_FEW_THREADS, **(properties or {})}, **options)
        self._processes = _Known(self.home)
        self._listeners, self._users = dict(listeners or {}), dict(users or {})
        self._entrance = "CLIENT"
        self._bound = {name: ports.reserve(len(self._nodes)) for name in self._listeners}
        self._told = self._bound | {
            name: ports.reserve(len(self._nodes))
            for name, each in self._listeners.items()
            if each.proxied
        }

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where clients come in, as host:port."""
        if self._entrance == "CLIENT":
            return super().addresses
        return _local(self._told[self._entrance])

    def through(self, listener: str) -> Self:
        """Return the same cluster, its clients coming in through another listener."""
        assert listener in {"CLIENT", *self._listeners}
        made = copy.copy(self)
        made._entrance = listener
        return made

    def bound(self, listener: str) -> tuple[str, ...]:
        """Return where a proxy must send what clients of its listener ask for."""
        return _local(self._bound[listener])

    def start(self) -> Self:
        """Start it, as `LocalCluster` does; the first time, make its users."""
        is_new = not self.home.exists() or not (self.home / "cluster.json").exists()
        super().start()
        if is_new and self._users:
            set_passwords(self, self._users)
        return self

    def _format(self) -> None:
        """Format the storage of new brokers, by a copy where their data lie in the usual place."""
        data = {} if "log.dirs" in self._properties else {
            node: self._folder(node) / "data" for node in self._nodes
        }  # fmt: skip
        new = [node for node, folder in data.items() if not folder.exists()]
        for node in new:
            copy_formatted(self.version, data[node], self.cluster_id, node)
        super()._format()
        for node in new[:1]:
            keep_formatted(self.version, data[node])

    def _broker_properties(self, node: int) -> dict[str, str]:
        made = super()._broker_properties(node)
        for name, each in self._listeners.items():
            bound, told = self._bound[name][node - 1], self._told[name][node - 1]
            made["listeners"] += f",{name}://127.0.0.1:{bound}"
            made["advertised.listeners"] += f",{name}://{each.host}:{told}"
            made["listener.security.protocol.map"] += f",{name}:{each.protocol}"
            prefix = f"listener.name.{name.lower()}"
            made |= {f"{prefix}.{key}": value for key, value in each.properties.items()}
        return made


def set_passwords(cluster: LocalCluster, users: Mapping[str, Secret]) -> None:
    """Give users their passwords, for both kinds of SCRAM."""
    admin = AdminClient({"bootstrap.servers": cluster.back_door})
    for kind in ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512:
        how = ScramCredentialInfo(kind, 4096)
        changes: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(name, how, secret.reveal().encode())
            for name, secret in users.items()
        ]
        for done in admin.alter_user_scram_credentials(changes).values():
            done.result(30)


def _local(ports: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"127.0.0.1:{port}" for port in ports)


class _Known(MutableMapping[int, JavaProcess]):
    """The broker processes of a cluster, by broker id; each stands in a file."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def __getitem__(self, broker: int) -> JavaProcess:
        file = self._file(broker)
        if not file.exists():
            raise KeyError(broker)
        return _AnybodysProcess(
            Identity(**json.loads(file.read_text())), file.with_name("broker.log")
        )

    def __setitem__(self, broker: int, process: JavaProcess) -> None:
        process.forget()
        self._file(broker).write_text(json.dumps(asdict(process.identity)))

    def __delitem__(self, broker: int) -> None:
        self._file(broker).unlink()

    def __iter__(self) -> Iterator[int]:
        files = self._home.glob("broker-*/process.json")
        return iter(sorted(int(file.parent.name.rpartition("-")[2]) for file in files))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _file(self, broker: int) -> Path:
        return self._home / f"broker-{broker}" / "process.json"


class _AnybodysProcess(JavaProcess):
    """A process that may be the child of another one than this."""

    def __init__(self, identity: Identity, log: Path) -> None:
        self.identity, self.log = identity, log

    @property
    def running(self) -> bool:
        # A zombie is not running; if it is a child of ours, nobody else would end it.
        with suppress(ChildProcessError):
            os.waitpid(self.identity.pid, os.WNOHANG)
        return self.identity.process() is not None

    def send(self, number: signal.Signals) -> None:
        process = self.identity.process()
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        assert self.wait(30), f"process {self.identity.pid} could not be killed"

    def forget(self) -> None:
        pass
