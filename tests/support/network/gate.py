"""An address where nothing listens until it is opened; from then on it leads to a broker."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from towpath.dev import ports


class Gate:
    """Leads to `behind`, a `host:port`, once it is open."""

    def __init__(self, behind: str) -> None:
        host, port = behind.rsplit(":", 1)
        self._behind = host, int(port)
        [self._port] = ports.reserve(1)
        self._server: socket.socket | None = None
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> str:
        """Where clients knock."""
        return f"127.0.0.1:{self._port}"

    def open(self) -> None:
        """Listen from now on."""
        if self._server is None:
            self._server = socket.create_server(("127.0.0.1", self._port))
            self._start(self._accept, self._server)

    def close(self) -> None:
        """Listen no more, and close all connections."""
        if self._server is not None:
            _shut(self._server)
        for pair in self._pairs:
            _shut(*pair)
        for thread in self._threads:
            thread.join()
        for each in (self._server, *(end for pair in self._pairs for end in pair)):
            if each is not None:
                each.close()

    def _start(self, work: Callable[..., None], *ends: socket.socket) -> None:
        thread = threading.Thread(target=work, args=ends, name="gate", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                broker = socket.create_connection(self._behind)
                self._pairs.append((client, broker))
                self._start(_carry, client, broker)
                self._start(_carry, broker, client)


def _carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    _shut(source, target)


def _shut(*ends: socket.socket) -> None:
    for each in ends:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
