"""A real S3 store for tests: versitygw, which keeps objects as files and starts at once.

`python -m tests.support.objects.buckets` builds it, which takes longer than a test may wait
beside others.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config

from tests.support.clusters.certificates import Vault
from tests.support.network.serving import end, serving
from tests.support.session.built import built
from towpath.dev import ports
from towpath.model.secret import Secret
from towpath.settings import AwsKeys, StoreConfig

MODULE, VERSION = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"
KEYS = ("towpath-tests", "secret-of-tests")
"""Name and secret of the owner of all buckets."""
READER = ("towpath-reader", "secret-of-reader")
"""Name and secret of a user who may read and list, and no more."""


def fetch() -> Path | None:
    """Return the program; build it once with Go, or return None where there is no Go."""
    return built("versitygw", MODULE, VERSION)


class Buckets:
    """A running store.

    Args:
        program: The program.
        folder: Where buckets, users and the log go.
        vault: The certificates of one that speaks https.
    """

    def __init__(self, program: Path, folder: Path, vault: Vault | None = None) -> None:
        (self.port,) = ports.reserve(1)
        self._program, self._folder, self._vault = program, folder, vault
        self.url = f"{'http' if vault is None else 'https'}://127.0.0.1:{self.port}"
        self._made = 0
        for name in ("buckets", "users"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        users = {READER[0]: {"access": READER[0], "secret": READER[1], "role": "user"}}
        (folder / "users" / "users.json").write_text(json.dumps({"accessAccounts": users}))
        self.start()

    def start(self) -> None:
        """Start it, also after `stop`; it has the same buckets and address."""
        command = [str(self._program), "--port", f"127.0.0.1:{self.port}", "--quiet"]
        command += ["--keep-alive"]  # as S3 does
        command += ["--iam-dir", str(self._folder / "users")]
        if self._vault is not None:
            command += ["--cert", str(self._vault.broker.certificate)]
            command += ["--key", str(self._vault.broker.key)]
        command += ["posix", str(self._folder / "buckets")]
        owner = {"ROOT_ACCESS_KEY": KEYS[0], "ROOT_SECRET_KEY": KEYS[1], "GOMEMLIMIT": "128MiB"}
        self._process = serving(command, self.port, self._folder / "versitygw.log", owner)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def stop(self) -> None:
        """End it."""
        end(self._process)

    def new(self, prefix: str = "archive", **more: Any) -> StoreConfig:
        """Return the config of a new bucket.

        Args:
            prefix: The prefix in it.
            more: Further fields of the config.
        """
        self._made += 1
        name = f"bucket-{self._made}"
        (self._folder / "buckets" / name).mkdir()
        return self.config(name, prefix, **more)

    def config(self, bucket: str, prefix: str = "archive", **more: Any) -> StoreConfig:
        """Return the config of a bucket."""
        given = {"endpoint": self.url, "keys": keys(*KEYS), "region": "us-east-1"} | more
        return StoreConfig.model_validate({"url": f"s3://{bucket}/{prefix}", **given})

    def folder_of(self, config: StoreConfig) -> Path:
        """Return where the objects of a store are files."""
        return self._folder / "buckets" / config.bucket / config.prefix

    def objects(self, bucket: str) -> list[str]:
        """Return the keys of all objects of a bucket, read past the store."""
        root = self._folder / "buckets" / bucket
        found = [path for path in root.rglob("*") if path.is_file()]
        return sorted(str(path.relative_to(root)) for path in found if ".sgwtmp" not in path.parts)

    def for_reader(self, config: StoreConfig) -> StoreConfig:
        """Let `READER` read and list a bucket; return the config with its login."""
        arn = f"arn:aws:s3:::{config.bucket}"
        return self._allow(config, {"s3:GetObject": f"{arn}/*", "s3:ListBucket": arn})

    def for_writer(self, config: StoreConfig) -> StoreConfig:
        """Let `READER` do everything with a bucket; return the config with its login."""
        arn = f"arn:aws:s3:::{config.bucket}"
        return self._allow(config, {"s3:*": [arn, f"{arn}/*"]})

    def revoke(self, config: StoreConfig) -> None:
        """Take all rights on a bucket from `READER`."""
        client(config).delete_bucket_policy(Bucket=config.bucket)

    def _allow(self, config: StoreConfig, rights: Mapping[str, str | list[str]]) -> StoreConfig:
        statements = [
            {"Effect": "Allow", "Principal": {"AWS": [READER[0]]}, "Action": right, "Resource": on}
            for right, on in rights.items()
        ]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        client(config).put_bucket_policy(Bucket=config.bucket, Policy=policy)
        return config.model_copy(update={"keys": keys(*READER)})


def keys(name: str, secret: str) -> AwsKeys:
    """Return a login."""
    return AwsKeys(access_key_id=name, secret_access_key=Secret(secret))


def at_port(config: StoreConfig, port: int) -> StoreConfig:
    """Return the config of a store that is asked through another port of this machine."""
    parts = urlsplit(config.endpoint or "")
    endpoint = parts._replace(netloc=f"127.0.0.1:{port}").geturl()
    return config.model_copy(update={"endpoint": endpoint})


def client(config: StoreConfig) -> Any:
    """Return a client of botocore that shares no code with Towpath's store."""
    return botocore.session.Session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=config.endpoint,
        aws_access_key_id=KEYS[0],
        aws_secret_access_key=KEYS[1],
        config=Config(s3={"addressing_style": "path"}),
    )


_NOTED = 10_000
"""Bytes of bodies that are not noted."""
Change = Callable[[str, str, Mapping[str, str]], tuple[int, str] | None]
"""Gets method, path and headers of a request; returns status and code of an answer, or None."""


class StoreFront:
    """A proxy in this process before an S3 store: it notes requests, and may answer itself.

    Args:
        upstream: The port of the store.

    Attributes:
        change: Asked before a request is sent on; what it returns is answered instead.
        lost: Asked behind the store's answer; where it returns true, the connection is closed.
        seen: Method, path and headers of each request; the names of headers are in small letters.
        bodies: Method, path and body of each request with a small body.
    """

    def __init__(self, upstream: int) -> None:
        (self.port,) = ports.reserve(1)
        self.change: Change = lambda _method, _path, _headers: None
        self.lost: Callable[[str, str], bool] = lambda _method, _path: False
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.bodies: list[tuple[str, str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(handler) -> None:  # noqa: N805
                try:
                    self._answer(handler, upstream)
                except ConnectionError:  # one side is gone
                    handler.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _do  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def before(self, config: StoreConfig) -> StoreConfig:
        """Return the config of a store that is asked through this front."""
        return at_port(config, self.port)

    def headers(self, method: str, part: str) -> dict[str, str]:
        """Return the headers of the only request whose path holds a text."""
        (found,) = [seen for how, path, seen in self.seen if how == method and part in path]
        return found

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, upstream: int) -> None:
        method, path = handler.command, handler.path
        headers = {name.lower(): value for name, value in handler.headers.items()}
        size = int(headers.get("content-length", 0))
        body = handler.rfile.read(size)
        if len(body) < size:  # whoever asked is gone
            handler.close_connection = True
            return
        self.seen.append((method, path, headers))
        if len(body) < _NOTED:
            self.bodies.append((method, path, body.decode(errors="replace")))
        said = self.change(method, path, headers)
        if said is not None:
            status, code = said
            data = b"" if method == "HEAD" or status == 200 else self.refusal(status, code)
            _reply(handler, status, {"etag": f'"{code}"', "x-ms-error-code": code}, data)
            return
        headers.pop("expect", None)
        status, given, data = self.upstream(upstream, method, path, headers, body)
        if self.lost(method, path):
            handler.close_connection = True
            return
        _reply(handler, status, given, data)

    def refusal(self, status: int, code: str) -> bytes:
        """Return the body of an answer that refuses a request."""
        del status
        text = f"<Error><Code>{code}</Code><Message>as a test wants it</Message></Error>"
        return text.encode()

    def upstream(
        self, port: int, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the store's answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as onward:
            onward.request(method, path, body, headers)
            answer = onward.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()


def _reply(
    handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], data: bytes
) -> None:
    handler.send_response_only(status)
    given = {name.lower(): value for name, value in headers.items()}
    given.pop("transfer-encoding", None)
    given.setdefault("content-length", str(len(data)))
    for name, value in given.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


if __name__ == "__main__":
    fetch()
