"""What the API asks of a host of pods: `exec` over WebSocket (`v5.channel.k8s.io`), and logs."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, urlparse

import trustme

_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_STDIN, _STDOUT, _STDERR, _ERROR, _CLOSE = 0, 1, 2, 3, 255
_BINARY, _CLOSING = 2, 8


class Pods(Protocol):
    """Who runs the containers."""

    def command(self, pod: str, container: str, words: list[str]) -> list[str]:
        """Return how a command is run in a container."""

    def log(self, pod: str, container: str, *, previous: bool) -> bytes:
        """Return what a container logged, or the one before it in its pod."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection of the API."""

    server: PodServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer, as the API asks with GET where it hands a WebSocket on."""
        url = urlparse(self.path)
        query = parse_qs(url.query)
        kind, _, pod, container = url.path.strip("/").split("/")
        if kind == "exec":
            self._execute(
                self.server.pods.command(pod, container, query["command"]), "input" in query
            )
            return
        previous = query.get("previous") == ["true"]
        told = self.server.pods.log(pod, container, previous=previous)
        lines = told.splitlines(keepends=True)
        data = b"".join(lines[-int(query.get("tailLines", ["1000"])[0]) :])
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _execute(self, command: list[str], has_input: bool) -> None:
        key = self.headers["Sec-WebSocket-Key"] + _MAGIC
        told = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()  # noqa: S324
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"),
                            ("Sec-WebSocket-Accept", told),
                            ("Sec-WebSocket-Protocol", "v5.channel.k8s.io")):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()
        data = self._input() if has_input else b""
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        for channel, text in (_STDOUT, done.stdout), (_STDERR, done.stderr):
            if text:
                self._frame(bytes([channel]) + text)
        self._frame(bytes([_ERROR]) + json.dumps(_status(done.returncode)).encode())
        self._frame(struct.pack(">H", 1000), _CLOSING)
        self.close_connection = True

    def _input(self) -> bytes:
        data = b""
        while True:
            kind, payload = self._next()
            if kind == _CLOSING or (payload and payload[0] == _CLOSE):
                return data
            if payload and payload[0] == _STDIN:
                data += payload[1:]

    def _next(self) -> tuple[int, bytes]:
        first, second = self.rfile.read(2)
        size = second & 127
        if size == 126:
            [size] = struct.unpack(">H", self.rfile.read(2))
        elif size == 127:
            [size] = struct.unpack(">Q", self.rfile.read(8))
        mask = self.rfile.read(4) if second & 128 else bytes(4)
        data = self.rfile.read(size)
        return first & 15, bytes(each ^ mask[i % 4] for i, each in enumerate(data))

    def _frame(self, data: bytes, kind: int = _BINARY) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 128 | kind, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 128 | kind, 126, size)
        else:
            head = struct.pack(">BBQ", 128 | kind, 127, size)
        self.wfile.write(head + data)
        self.wfile.flush()


class PodServer(ThreadingHTTPServer):
    """A server on a port of the loopback."""

    def __init__(self, port: int, pods: Pods) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.pods = pods
        self.socket = _context().wrap_socket(self.socket, server_side=True)


@contextmanager
def serve(port: int, pods: Pods) -> Iterator[None]:
    """Answer the API on a port of the loopback."""
    server = PodServer(port, pods)
    thread = threading.Thread(target=server.serve_forever, name="kubelet-server")
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _status(code: int) -> dict[str, object]:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(code)}
    return {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": f"command terminated with non-zero exit code: {code}",
        "details": {"causes": [cause]},
    }


def _context() -> ssl.SSLContext:
    made = trustme.CA().issue_cert("127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.pem"
        made.private_key_and_cert_chain_pem.write_to_path(path)
        context.load_cert_chain(path)
    return context
