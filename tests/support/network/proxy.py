"""A proxy in this process that loses answers, or holds requests back, on demand."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from tests.support.clusters.brokers import SharedCluster


class Proxy:
    """Stands before a broker of a cluster that has a listener `PROXIED`.

    Args:
        cluster: The cluster.
        place: Which of its brokers.

    Attributes:
        mute: What the broker answers is dropped.
        holding: What clients send is held back, even when they are gone, as in the buffers of a
            machine that is frozen.
    """

    def __init__(self, cluster: SharedCluster, place: int = 0) -> None:
        upstream = cluster.bound("PROXIED")[place]
        self._upstream = int(upstream.rpartition(":")[2])
        host, port = cluster.through("PROXIED").addresses[place].rsplit(":", 1)
        self.mute = self.holding = self._refusing = False
        self._held: dict[socket.socket, bytearray] = {}
        self._unanswered: set[socket.socket] = set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._server = socket.create_server((host, int(port)))
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def close(self) -> None:
        """Listen no more and close all connections."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Close all connections, and each new one."""
        self._refusing = True
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _close(*pair)

    def heal(self) -> None:
        """Let everything through."""
        self.mute = self._refusing = False

    def lead_to(self, other: SharedCluster) -> None:
        """Lead to the only broker of another cluster from now on, as an address that was moved."""
        self._upstream = int(other.addresses[0].rpartition(":")[2])
        self.cut()
        self.heal()

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return sum(map(len, self._held.values()))

    def release(self) -> None:
        """Let the broker have what was held back."""
        self.holding = False
        held, self._held = self._held, {}
        self._unanswered = set(held)
        for broker, data in held.items():
            broker.sendall(data)

    @property
    def answered(self) -> bool:
        """Whether the broker has answered on each connection of which something was held back."""
        return not self._unanswered

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        try:
            broker = socket.create_connection(("127.0.0.1", self._upstream))
        except OSError:
            client.close()
            return
        if self._refusing:
            _close(client, broker)
            return
        self._pairs.append((client, broker))
        for args in ((client, broker, False), (broker, client, True)):
            threading.Thread(target=self._pump, args=args, name="proxy", daemon=True).start()

    def _pump(self, here: socket.socket, there: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := here.recv(1 << 16):
                if answers:
                    self._unanswered.discard(here)
                elif self.holding:
                    self._held.setdefault(there, bytearray()).extend(data)
                    continue
                if not (answers and self.mute):
                    there.sendall(data)
        if here in self._held or there in self._held:
            return  # the broker is not to know that the client is gone
        _close(here, there)


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
