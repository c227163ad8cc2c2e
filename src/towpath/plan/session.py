"""One run of a link: it is alone, and its slices hear from it. Both through the ledger."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from contextlib import suppress

from towpath.cluster.admin import Admin
from towpath.cluster.client import Client
from towpath.config import LinkConfig
from towpath.ledger.books import SESSIONS, Ledger
from towpath.ledger.entries import Session
from towpath.model.clock import now_ms, readable
from towpath.model.errors import LinkBusyError, TowpathError
from towpath.model.nouns import LinkName, Side

_BEAT = 2.0
_SILENCE = 7.0
"""Seconds without a beat after which a run that did not say goodbye is taken for dead."""


class LinkSession:
    """Signs of life of this run; `end_round` and `close` tell its slices to drain."""

    def __init__(self, config: LinkConfig, target: Admin) -> None:
        self.run_id = uuid.uuid4().hex
        self._link: LinkName = config.link
        self._client = Client(config.target, Side.TARGET, target)
        self._ledger = Ledger(target, self._client)
        self._lock = threading.Lock()
        self._started, self._ended_round, self._over = now_ms(), 0, False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="towpath-beat", daemon=True)

    def start(self) -> None:
        """Make sure that no other run is alive, then give signs of life.

        Raises:
            LinkBusyError: Another run of this link is alive.
        """
        self._refuse_second()
        self._tell()
        self._thread.start()

    def end_round(self, number: int) -> None:
        """Let the slices of this round drain and return."""
        self._ended_round = number
        self._tell()

    def end(self) -> None:
        """Let all slices drain and return; the run is over."""
        self._over = True
        self._tell()

    def close(self) -> None:
        """Say goodbye and close the connections; the ledger may be out of reach by then."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._over = True
        with suppress(TowpathError):
            self._tell()
        self._client.close()

    def _refuse_second(self) -> None:
        last = self._last()
        if last is None or last.over or self._dead(last):
            return
        deadline = time.monotonic() + _SILENCE
        while time.monotonic() < deadline:
            beat = self._last(wait=1.0)
            if beat is not None and not beat.over:
                since = readable(beat.started)
                raise LinkBusyError(self._link, f"on {beat.host}, pid {beat.pid}, since {since}")
            if beat is not None:
                return

    def _last(self, wait: float = 0.0) -> Session | None:
        entries = self._ledger.read(SESSIONS, wait=wait)
        ours = [e for e in entries if isinstance(e, Session) and e.link == self._link]
        return ours[-1] if ours else None

    @staticmethod
    def _dead(last: Session) -> bool:
        """Whether the run was on this machine and its process is gone."""
        if last.host != _host():
            return False
        try:
            os.kill(last.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def _beat(self) -> None:
        while not self._stopped.wait(_BEAT):
            with suppress(TowpathError):
                self._tell()

    def _tell(self) -> None:
        with self._lock:
            entry = Session(
                self._link, self.run_id, _host(), os.getpid(), self._started, now_ms(),
                self._ended_round, self._over,
            )  # fmt: skip
            self._ledger.append([entry], SESSIONS)


def _host() -> str:
    return socket.gethostname()
