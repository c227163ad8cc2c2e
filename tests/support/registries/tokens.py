"""A token server (RFC 6749, client credentials), whose tokens expire."""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

CLIENT, WORD = "towpath", "pass:word+1"
"""The client that gets tokens, and its secret."""
_FORM = "application/x-www-form-urlencoded"


class TokenServer:
    """A token server on loopback. `allows` is what a registry asks of each request.

    Args:
        life: Seconds that tokens live.
        scope: The scope that tokens must be asked for with, "" for none.
        made: Makes a token that lives for so many seconds.

    Attributes:
        life: Seconds that tokens live.
        told: Seconds that the answer says; `None` for the truth.
        scope: The scope that tokens must be asked for with, "" for none.
        failures: How many requests it answers with 503 before it works.
        issued: How many tokens it gave.
        refused: How often it refused a client, or a registry a token, by the reason.
    """

    def __init__(
        self,
        *,
        life: float = 3600,
        scope: str = "",
        made: Callable[[float], str] = lambda _: secrets.token_urlsafe(24),
    ) -> None:
        self.life, self.scope, self._made = life, scope, made
        self.failures = self.issued = 0
        self.refused = Counter[str]()
        self._ends: dict[str, float] = {}
        self._lock = threading.Lock()
        self.told: float | None = None

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(handler) -> None:  # noqa: N805
                size = int(handler.headers.get("Content-Length", 0))
                status, said = self._answer(handler, handler.rfile.read(size))
                data = json.dumps(said).encode()
                handler.send_response(status)
                handler.send_header("Content-Type", "application/json")
                handler.send_header("Cache-Control", "no-store")
                handler.send_header("Content-Length", str(len(data)))
                handler.end_headers()
                handler.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/oauth/token"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def allows(self, authorization: str) -> bool:
        """Whether a request with this header may be answered: its token is ours and lives."""
        kind, _, token = authorization.partition(" ")
        if kind != "Bearer" or token not in self._ends:
            self.refused["no token of ours"] += 1
            return False
        if time.monotonic() >= self._ends[token]:
            self.refused["expired"] += 1
            return False
        return True

    def forget(self) -> None:
        """Revoke all tokens."""
        self._ends.clear()

    def _answer(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, Any]]:
        with self._lock:
            if self.failures:
                self.failures -= 1
                return 503, {"error": "temporarily_unavailable"}
        if wrong := self._wrong(asked, body):
            status, error = wrong
            self.refused[error] += 1
            return status, {"error": error, "error_description": f"refused: {error}"}
        token = self._made(self.life)
        with self._lock:
            self.issued += 1
            self._ends[token] = time.monotonic() + self.life
        life = self.life if self.told is None else self.told
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": life}

    def _wrong(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple[int, str] | None:
        """Return status and error of a request that gets no token."""
        login = base64.b64encode(f"{CLIENT}:{WORD}".encode()).decode()
        form = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=True)
        checks = (
            (404, "not_found", asked.path == "/oauth/token"),
            (401, "invalid_client", asked.headers.get("Authorization") == f"Basic {login}"),
            (400, "invalid_request", asked.headers.get("Content-Type") == _FORM),
            (400, "unsupported_grant_type", form.get("grant_type") == ["client_credentials"]),
            (400, "invalid_scope", form.get("scope", [""]) == [self.scope]),
            (400, "invalid_request", not form.keys() - {"grant_type", "scope"}),
        )
        return next(((status, error) for status, error, good in checks if not good), None)
