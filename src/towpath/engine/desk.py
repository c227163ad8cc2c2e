"""The socket server from which a stream's reader on the driver gets a round's slices.

Spark runs the reader in its own process on the driver's machine. The socket lies in a folder that
only this user can enter, and the reader needs a key that is made for each query. So the reader
neither imports nor connects what plans a round, and no slice is written to disk.
"""

from __future__ import annotations

import pickle
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from towpath.model.foreign import foreign

_CLOSE = -1


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a desk, as a value that pickles."""

    path: str
    key: bytes

    def ask(self, number: int) -> list[bytes]:
        """Return the pickled slices of a round.

        Raises:
            RuntimeError: Planning failed; the text names the driver's error.
        """
        with Client(self.path, family="AF_UNIX", authkey=self.key) as connection:
            connection.send(number)
            slices: list[bytes]
            slices, error = connection.recv()
        if error:
            raise RuntimeError(error)
        return slices


class Desk:
    """Server in a thread that answers with the slices of a round."""

    def __init__(self, folder: Path, plan: Callable[[int], Sequence[Any]]) -> None:
        self._plan = plan
        self.address = Address(str(folder / "desk"), secrets.token_bytes(32))
        self._listener = Listener(self.address.path, family="AF_UNIX", authkey=self.address.key)
        self._thread = threading.Thread(target=self._serve, name="towpath-desk", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        with Client(self.address.path, family="AF_UNIX", authkey=self.address.key) as connection:
            connection.send(_CLOSE)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        number = 0
        while number != _CLOSE:
            # A client without the key, or one that disconnects, must not block the next one.
            with (
                suppress(AuthenticationError, EOFError, OSError),
                self._listener.accept() as connection,
            ):
                number = connection.recv()
                if number != _CLOSE:
                    self._answer(connection, number)

    def _answer(self, connection: Connection, number: int) -> None:
        try:
            connection.send(([pickle.dumps(one) for one in self._plan(number)], ""))
        except Exception as error:  # noqa: BLE001  # the reader raises it, and Spark passes it to the driver
            kind = type(error)
            connection.send(([], f"{kind.__module__}.{kind.__qualname__}: {foreign(error)}"))
