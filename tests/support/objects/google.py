"""Google Cloud Storage for tests: fake-gcs-server, and a desk that gives out tokens.

The server speaks the JSON API, conditions on generations included; it passes over the login, so
`TokenDesk` checks what a service account signs.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from google.auth import jwt

from tests.support.network.serving import end, serving
from tests.support.objects.buckets import StoreFront
from tests.support.session.built import built
from towpath.dev import ports
from towpath.model.secret import Secret
from towpath.settings import StoreConfig

MODULE, VERSION = "github.com/fsouza/fake-gcs-server", "v1.56.1"
_ACCOUNT = "tests@towpath.example"


def fetch() -> Path | None:
    """Return the program; build it once with Go, or return None where there is no Go."""
    return built("fake-gcs-server", MODULE, VERSION)


class TokenDesk:
    """Gives a token to whoever shows a request that the service account has signed.

    Attributes:
        url: Where it is.
        refuses: Whether it refuses all from now on.
        given: How many tokens it has given.
    """

    def __init__(self) -> None:
        self._key = generate_private_key(65537, 2048)
        (port,) = ports.reserve(1)
        self.url = f"http://127.0.0.1:{port}/token"
        self.refuses, self.given = False, 0

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:  # noqa: N805
                body = handler.rfile.read(int(handler.headers["content-length"]))
                status, told = self._answer(parse_qs(body.decode()))
                handler.send_response(status)
                handler.send_header("content-type", "application/json")
                handler.end_headers()
                handler.wfile.write(json.dumps(told).encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def account(self) -> Secret:
        """Return the key of the service account, as Google gives it out."""
        key = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return Secret(
            json.dumps(
                {
                    "type": "service_account",
                    "client_email": _ACCOUNT,
                    "private_key": key.decode(),
                    "private_key_id": "1",
                    "project_id": "tests",
                    "token_uri": self.url,
                }
            )
        )

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, asked: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        public = self._key.public_key().public_bytes(
            Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
        )
        claims = jwt.decode(asked["assertion"][0], certs=public)
        if self.refuses or claims["iss"] != _ACCOUNT or "devstorage" not in claims["scope"]:
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        self.given += 1
        token = f"token-{self.given}-of-tests"
        return 200, {"access_token": token, "expires_in": 3600, "token_type": "Bearer"}


class GoogleStore:
    """A running store.

    Args:
        program: The program.
        folder: Where its log goes; objects stay in its memory.
    """

    def __init__(self, program: Path, folder: Path) -> None:
        (self.port,) = ports.reserve(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self.desk = TokenDesk()
        self._made = 0
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port)]
        command += ["-backend", "memory", "-public-host", f"127.0.0.1:{self.port}"]
        command += ["-log-level", "error"]
        self._process = serving(command, self.port, folder / "fake-gcs-server.log")

    def stop(self) -> None:
        """End it."""
        end(self._process)
        self.desk.stop()

    def new(self, prefix: str = "archive", **more: Any) -> StoreConfig:
        """Return the config of a new bucket.

        Args:
            prefix: The prefix in it.
            more: Further fields of the config.
        """
        self._made += 1
        name = f"bucket-{self._made}"
        request = urllib.request.Request(  # noqa: S310 - on this machine
            f"{self.url}/storage/v1/b?project=tests",
            json.dumps({"name": name}).encode(),
            {"content-type": "application/json"},
        )
        urllib.request.urlopen(request).close()  # noqa: S310
        return self.config(name, prefix, **more)

    def config(self, bucket: str, prefix: str = "archive", **more: Any) -> StoreConfig:
        """Return the config of a bucket."""
        given = {"endpoint": self.url, "service_account": self.desk.account()} | more
        return StoreConfig.model_validate({"url": f"gs://{bucket}/{prefix}", **given})


class GoogleFront(StoreFront):
    """A proxy before the store that also tells how far an upload has got.

    fake-gcs-server takes that question for the end of the upload; here it is answered as Google
    documents it ("Perform resumable uploads", check the status).

    Attributes:
        asked: How often it was asked how far an upload has got.
        spoils: Whether it changes a byte of the last request of each upload.
        forgets: Whether it leaves conditions out.
    """

    def __init__(self, upstream: int) -> None:
        super().__init__(upstream)
        self._have: dict[str, int] = {}
        self._made: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked = 0
        self.spoils = self.forgets = False

    def refusal(self, status: int, code: str) -> bytes:
        """Return the body of an answer that refuses a request."""
        errors = [{"reason": code, "message": "as a test wants it"}]
        error = {"code": status, "message": "as a test wants it", "errors": errors}
        return json.dumps({"error": error}).encode()

    def upstream(
        self, port: int, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the store's answer."""
        session = parse_qs(urlsplit(path).query).get("upload_id", [""])[0]
        span = headers.get("content-range", "")
        if span == "bytes */*":
            self.asked += 1
            have = self._have.get(session, 0)
            told = {"range": f"bytes=0-{have - 1}"} if have else {}
            return self._made.get(session, (308, told, b""))
        if self.spoils and span and not span.endswith("/*"):
            body = bytes([body[0] ^ 1]) + body[1:]
        if self.forgets:
            path = path.replace("ifGenerationMatch=", "ignored=")
        answer = super().upstream(port, method, path, headers, body)
        if session and method == "PUT" and answer[0] in {200, 308}:
            self._have[session] = int(span.partition("-")[2].partition("/")[0]) + 1
            if answer[0] == 200:
                self._made[session] = answer
        return answer


if __name__ == "__main__":
    fetch()
