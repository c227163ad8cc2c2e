"""Blocking clients for jobs in the pool: each job has one to itself and leaves it for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.config import ClusterConfig
from towpath.model.nouns import Side


class ClientPool:
    """As many clients of one cluster as there are jobs at a time. Threads may share it."""

    def __init__(self, config: ClusterConfig, side: Side, admin: Admin) -> None:
        self._config, self._side, self._admin = config, side, admin
        self._all: list[Client] = []
        self._idle: list[Client] = []
        self._lock = Lock()
        self.closed = False

    def close(self) -> None:
        """Close all connections; jobs under way end with an error, which is of no interest then."""
        with self._lock:
            self.closed = True
            for client in self._all:
                client.close()

    @contextmanager
    def one(self) -> Iterator[Client]:
        """Lend a client that nobody else uses."""
        client = self._take()
        try:
            yield client
        finally:
            with self._lock:
                self._idle.append(client)

    def _take(self) -> Client:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            client = Client(self._config, self._side, self._admin)
            if self.closed:
                client.close()
            self._all.append(client)
            return client
