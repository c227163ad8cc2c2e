"""A proxy before a schema registry, which changes requests, or answers in its place."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.registries.registry import TYPE

Body = dict[str, Any] | None
Changed = tuple[int, object] | Body
"""Status and answer, or the body that the registry gets."""


class RegistryProxy:
    """A proxy in this process.

    Args:
        url: The registry.
        change: Gets method, path and body of each request.
        allows: Tells by its header `Authorization` whether a request is answered.

    Attributes:
        waiting: How many requests `change` has not let go.
    """

    def __init__(
        self,
        url: str,
        change: Callable[[str, str, Body], Changed] = lambda _m, _p, body: body,
        allows: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.asked = Counter[str]()
        self.change = change
        self.waiting = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(handler) -> None:  # noqa: N805
                size = int(handler.headers.get("Content-Length", 0))
                body = json.loads(handler.rfile.read(size)) if size else None
                self.asked[handler.command] += 1
                self.waiting += 1
                made: Changed = 401, {"error_code": 40101, "message": "Unauthorized"}
                if allows(handler.headers.get("Authorization", "")):
                    made = self.change(handler.command, handler.path, body)
                self.waiting -= 1
                status, said = (
                    made
                    if isinstance(made, tuple)
                    else forwarded(url + handler.path, handler.command, made)
                )
                data = json.dumps(said).encode()
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(data)))
                handler.end_headers()
                handler.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = _do  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.socket.close()


def forwarded(url: str, method: str, body: Body) -> tuple[int, object]:
    """Return status and answer of a registry."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - ours
        url, data=data, method=method, headers={"Content-Type": TYPE}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - ours
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"null")
