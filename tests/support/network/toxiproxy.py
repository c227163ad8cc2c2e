"""Toxiproxy, which cuts and slows connections on demand."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.clusters.brokers import SharedCluster
from tests.support.network.serving import end, serving
from tests.support.session.built import built
from towpath.dev import ports

MODULE = "github.com/Shopify/toxiproxy/v2/cmd/server"
VERSION = "v2.5.0"


def fetch() -> Path | None:
    """Return the program; build it once with Go, or return None where there is no Go."""
    return built("toxiproxy", MODULE, VERSION)


class Toxiproxy:
    """A running proxy; its proxies are named by the port they listen on."""

    def __init__(self, program: Path, log: Path) -> None:
        (self._port,) = ports.reserve(1)
        command = [str(program), "-host", "127.0.0.1", "-port", str(self._port)]
        self._process = serving(command, self._port, log)

    def stand_before(self, cluster: SharedCluster) -> None:
        """Listen where the cluster sends clients of its listener `PROXIED`."""
        told, bound = cluster.through("PROXIED").addresses, cluster.bound("PROXIED")
        for address, target in zip(told, bound, strict=True):
            name = address.rpartition(":")[2]
            self._ask("/proxies", {"name": name, "listen": address, "upstream": target})

    def stand_at(self, listen: str, upstream: str) -> None:
        """Listen at an address for another one; cut it by `let_through`, slow it by `spoil`."""
        name = listen.rpartition(":")[2]
        self._ask("/proxies", {"name": name, "listen": listen, "upstream": upstream})

    def let_through(self, port: int, *, enabled: bool) -> None:
        """Let connections to a port through, or close them all and refuse new ones."""
        self._ask(f"/proxies/{port}", {"enabled": enabled})

    def spoil(self, port: int, kind: str, stream: str = "downstream", **how: int) -> None:
        """Add a toxic to a port, such as `latency` with `latency=300` (milliseconds)."""
        toxic = {"name": f"{kind}-{stream}", "type": kind, "stream": stream, "attributes": how}
        self._ask(f"/proxies/{port}/toxics", toxic)

    def cut(self, cluster: SharedCluster) -> None:
        """Close all connections and refuse new ones."""
        self._enable(cluster, enabled=False)

    def heal(self, cluster: SharedCluster) -> None:
        """Let connections through again."""
        self._enable(cluster, enabled=True)

    def add(
        self, cluster: SharedCluster, kind: str, stream: str = "downstream", **how: int
    ) -> None:
        """Add a toxic to all proxies, such as `latency` with `latency=300` (milliseconds)."""
        for name in _names(cluster):
            self.spoil(int(name), kind, stream, **how)

    def reset(self) -> None:
        """Heal everything and remove all toxics."""
        self._ask("/reset", {})

    def stop(self) -> None:
        """End it."""
        end(self._process)

    def _enable(self, cluster: SharedCluster, *, enabled: bool) -> None:
        for name in _names(cluster):
            self._ask(f"/proxies/{name}", {"enabled": enabled})

    def _ask(self, path: str, body: Mapping[str, Any]) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}", json.dumps(body).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            answer.read()


def _names(cluster: SharedCluster) -> list[str]:
    return [address.rpartition(":")[2] for address in cluster.through("PROXIED").addresses]
