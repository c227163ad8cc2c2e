"""A server that answers raw bytes, as broken proxies and registries do."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterable

Says = Callable[[str, str], Iterable[bytes]]
"""Gets method and path of a request, yields the parts of the answer; the connection ends then."""


class RawServer:
    """A server in this process.

    Args:
        says: What it answers.

    Attributes:
        asked: Method and path of each request.
        heads: The head of each request, as it came.
    """

    def __init__(self, says: Says) -> None:
        self.asked: list[tuple[str, str]] = []
        self.heads: list[str] = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(handler) -> None:  # noqa: N805
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = handler.rfile.readline()
                    if not line:
                        return
                    head += line
                method, path, _ = head.decode().split(" ", 2)
                self.asked.append((method, path))
                self.heads.append(head.decode())
                try:
                    for part in says(method, path):
                        handler.wfile.write(part)
                        handler.wfile.flush()
                except OSError:
                    return  # the client has gone

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            address_family = socket.AF_INET

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()


def answer(body: bytes, status: str = "200 OK", length: int | None = None, **heads: str) -> bytes:
    """Return a whole answer.

    Args:
        body: What is answered.
        status: Status and its words.
        length: The length that it claims to have; its own without it.
        **heads: Further headers.
    """
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {size}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in heads.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
