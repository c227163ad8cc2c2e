"""The HTTP server that Prometheus scrapes.

The server of prometheus-client answers under every path, and leaves threads of slow clients
behind.
"""

from __future__ import annotations

import errno
import json
import socket
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from types import TracebackType
from typing import Any, Self

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from towpath import __version__
from towpath.metering.collector import Measure, MeasurementCollector
from towpath.metering.meter import Measured
from towpath.model.errors import ConfigError, ConfigProblem

KEY = "metrics.listen"
_POLL = 0.2
"""Seconds that the end of the server may take."""
_PATIENCE = 10.0
"""Seconds that a client may be silent."""
STALLED = 600.0
"""Seconds without a turn of the run's main loop, after which only a restart helps. A turn may wait
for several requests; the first one comes after everything that is done at the start."""
_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_WHY = {
    errno.EADDRINUSE: "the port is taken; stop what listens there (another process of the same"
    " file?) or write another port",
    errno.EADDRNOTAVAIL: "this machine has no such address; write 127.0.0.1, or 0.0.0.0 for all",
    errno.EACCES: "this user may not listen on that port; write one from 1024 up",
}


class MetricsServer:
    """A metrics server; listens once constructed, and answers within its context.

    Args:
        address: Host and port to listen on.
        meter: Tells whether the run is alive.
        measure: Yields every metric, for each scrape anew.
        key: What names the address in the file.
        root: The path below which everything is served as well, "" for none.

    Raises:
        ConfigError: The address cannot be listened on.
    """

    def __init__(
        self,
        address: tuple[str, int],
        meter: Measured,
        measure: Measure,
        key: str = KEY,
        root: str = "",
    ) -> None:
        registry = CollectorRegistry()
        registry.register(MeasurementCollector(measure))
        try:
            self._server = _Server(address, meter, registry, root)
        except OSError as error:
            raise ConfigError((ConfigProblem(key, _sentence(address, error)),)) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL,), name="towpath-metrics"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingTCPServer):
    """One thread per request; not `HTTPServer`, which asks the DNS for our name."""

    allow_reuse_address = True
    daemon_threads = False

    def __init__(
        self, address: tuple[str, int], meter: Measured, registry: CollectorRegistry, root: str
    ) -> None:
        self.meter, self.registry, self.root = meter, registry, root
        self._open: set[Any] = set()
        family, _, _, _, there = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        super().__init__(there[:2], _Handler)  # type: ignore[arg-type]

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Disconnect remaining clients, and wait for their threads."""
        for request in tuple(self._open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)
        super().server_close()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PATIENCE

    def handle(self) -> None:
        with suppress(OSError):  # the client went away, or was cut off
            super().handle()

    def do_GET(self) -> None:
        path, root = self.path.partition("?")[0], self.server.root
        match path.removeprefix(root) if path.startswith(f"{root}/") else path:
            case "/metrics" | "/stats":  # the second one is Redpanda Connect's
                self._answer(generate_latest(self.server.registry), CONTENT_TYPE_PLAIN_0_0_4)
            case "/live" if self.server.meter.idle < STALLED:
                self._answer(b"alive\n")
            case "/live":
                text = f"stalled: nothing was done for {self.server.meter.idle:.0f} s\n".encode()
                self._answer(text, status=HTTPStatus.SERVICE_UNAVAILABLE)
            case "/ready" if self.server.meter.ready:
                self._answer(b"ready\n")
            case "/ready":
                text = b"not ready: the clusters were not looked at yet\n"
                self._answer(text, status=HTTPStatus.SERVICE_UNAVAILABLE)
            case "/ping":
                self._answer(b"pong\n")
            case "/version":
                self._answer(json.dumps({"version": __version__}).encode(), _JSON)
            case _:
                text = b"only /metrics, /live, /ready, /ping, /stats and /version are served\n"
                self._answer(text, status=HTTPStatus.NOT_FOUND)

    def _answer(
        self, body: bytes, kind: str = _TEXT, *, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "towpath"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, as standard error belongs to the run."""


def _sentence(address: tuple[str, int], error: OSError) -> str:
    host, port = address
    if isinstance(error, socket.gaierror):
        return f"{host} is no name or address of a machine; write 127.0.0.1, or 0.0.0.0 for all"
    why = _WHY.get(error.errno or 0, f"{error.strerror}; write another address")
    return f"cannot listen on {host}, port {port}: {why}"
