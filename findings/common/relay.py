"""A relay in front of one broker, for programs that look at what passes, or change it."""

import socket
import struct
import threading
from collections.abc import Callable

Answered = Callable[[bytes, bytes], "bytes | None"]
"""Returns what a client gets for a request and its answer, `None` for nothing; a ConnectionError
ends the client's connection in place of an answer."""


def relay(server: socket.socket, broker: tuple[str, int], answered: Answered) -> None:
    """Take connections in the background, and relay each to the broker."""
    threading.Thread(target=_listen, args=(server, broker, answered), daemon=True).start()


def _listen(server: socket.socket, broker: tuple[str, int], answered: Answered) -> None:
    while True:
        words = server.accept()[0], broker, answered
        threading.Thread(target=_serve, args=words, daemon=True).start()


def _serve(client: socket.socket, address: tuple[str, int], answered: Answered) -> None:
    broker = socket.create_connection(address)
    try:
        while True:
            asked = _frame(client)
            broker.sendall(struct.pack(">i", len(asked)) + asked)
            told = answered(asked, _frame(broker))
            if told is not None:
                client.sendall(struct.pack(">i", len(told)) + told)
    except OSError:
        pass
    finally:
        client.close()
        broker.close()


def _frame(connection: socket.socket) -> bytes:
    return _exactly(connection, struct.unpack(">i", _exactly(connection, 4))[0])


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise ConnectionError
        found += part
    return found
