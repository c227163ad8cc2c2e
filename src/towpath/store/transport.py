"""HTTP for stores, with the file's certificates and timeouts for stalled transfers.

botocore makes, signs and reads the requests of S3; `send` stands where botocore would send them. By
itself botocore trusts authorities that it brings along, instead of the system's, and it gives all
of a request's body one connect timeout, so that a slow line could never send a large part. `ask`
does the same for requests that are made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ssl import SSLCertVerificationError, SSLContext
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from towpath.cluster.connect.security import ssl_context
from towpath.model.errors import StoreAwayError, StoreError, StoreRefusedError
from towpath.model.foreign import foreign, printed
from towpath.settings import Tls
from towpath.store.objects import Data
from towpath.store.seekable import SeekableFile
from towpath.store.sending import patient

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse

_PIECE = 256 << 10
"""Bytes that must be sent within the timeout."""
_ELSEWHERE = 6 << 20
"""Most bytes that wait in buffers of other machines, as Linux gives a connection by default."""
_SLOWEST = 32 << 10
"""Bytes a second of a line on which parts of any size can be written."""
_BARE = frozenset({"GET", "HEAD", "DELETE"})
"""Methods of requests without a body."""


class Body(SeekableFile):
    """A request body as a file that `Transport` reads without a copy.

    Args:
        data: The bytes; nobody changes them until there is an answer.
    """

    def __init__(self, data: Data) -> None:
        self.view = memoryview(data)
        super().__init__(len(self.view))

    def __len__(self) -> int:
        return self._size

    def read(self, size: int = -1) -> memoryview:
        """Read up to `size` bytes; -1 reads to the end."""
        end = self._size if size < 0 else self._at + size
        found = self.view[self._at : end]
        self._at += len(found)
        return found


class Transport:
    """Sends HTTP requests; thread-safe.

    Args:
        tls: Certificates.
        timeout: Seconds in which a connection must be made, a piece of the body sent, and something
            of the answer received. Behind a large body the answer may take longer.
        at_once: Connections that are kept.
    """

    def __init__(self, tls: Tls, timeout: float, at_once: int) -> None:
        self._tls, self._at_once = tls, at_once
        self._timeout = timeout
        self._lock = Lock()
        self._pools: dict[str, urllib3.PoolManager] = {}
        self._context: SSLContext | None = None

    def send(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        """Return the answer to a request.

        Raises:
            HTTPClientError: None came.
        """
        # Stores of other kinds do without botocore.
        from botocore.awsrequest import AWSResponse  # noqa: PLC0415
        from botocore.exceptions import HTTPClientError  # noqa: PLC0415

        headers = dict(request.headers)
        body = request.body.view if isinstance(request.body, Body) else request.body
        if isinstance(body, bytes | bytearray | memoryview):
            body = _pieces([body]) if len(body) > _PIECE else bytes(body)
        try:
            size = int(headers.get("Content-Length", 0))
            answer = self._sent(request.method, request.url, headers, body, size)
            found = AWSResponse(request.url, answer.status, answer.headers, answer)
            if not request.stream_output:
                _ = found.content  # else the connection would not be free again
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise HTTPClientError(error=error) from error
        return found

    def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: Sequence[Data] = ()
    ) -> urllib3.BaseHTTPResponse:
        """Send a request, and return the complete answer.

        Args:
            method: The method.
            url: The URL.
            headers: Headers; the length of the body is added.
            body: The body, in any number of pieces.

        Raises:
            HTTPError: None came (of urllib3).
            OSError: None came.
        """
        size = sum(map(len, body))
        length = {} if method in _BARE else {"content-length": str(size)}
        pieces = _pieces(body) if body else None
        answer = self._sent(method, url, {**headers, **length}, pieces, size)
        _ = answer.data  # else the connection would not be free again
        return answer

    def _time_for(self, size: int) -> urllib3.Timeout:
        """Return the time for a request: the last bytes of its body may still be on their way."""
        answer = self._timeout + min(size, _ELSEWHERE) / _SLOWEST
        return urllib3.Timeout(connect=self._timeout, read=answer)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for pool in self._pools.values():
                pool.clear()
            self._pools.clear()

    def _sent(
        self, method: str, url: str, headers: Mapping[str, str], body: Any, size: int
    ) -> urllib3.BaseHTTPResponse:
        return self._pool(url).urlopen(
            method,
            url,
            body=body,
            headers=headers,
            retries=False,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
            timeout=self._time_for(size),
        )

    def _pool(self, url: str) -> urllib3.PoolManager:
        parts = urlsplit(url)
        context = ssl_context(self._tls) if parts.scheme == "https" else None
        proxy = _proxy(parts.scheme, parts.hostname or "")
        with self._lock:
            if context is not None and context is not self._context:
                self._pools.clear()  # a file of certificates changed
                self._context = context
            if proxy not in self._pools:
                self._pools[proxy] = _made(proxy, self._context, self._at_once)
            return self._pools[proxy]


def _made(proxy: str, context: SSLContext | None, at_once: int) -> urllib3.PoolManager:
    if proxy:
        return patient(urllib3.ProxyManager(proxy, maxsize=at_once, ssl_context=context))
    return patient(urllib3.PoolManager(maxsize=at_once, ssl_context=context))


def _proxy(scheme: str, host: str) -> str:
    """Return the proxy that the environment names for a host, "" for none."""
    found = getproxies().get(scheme, "")
    if not found or proxy_bypass(host):
        return ""
    return found if "://" in found else f"http://{found}"


def _pieces(body: Sequence[Data]) -> Iterator[Any]:
    """Yield a body in pieces, as the timeout of a socket counts for each call that sends."""
    for each in body:
        view = memoryview(each)
        for at in range(0, len(view), _PIECE):
            yield view[at : at + _PIECE]


def unanswered(error: BaseException, where: str, what: str) -> StoreError:
    """Return the Towpath error for a request without an answer.

    Args:
        error: Why none came.
        where: The object as a URL.
        what: What was being done.
    """
    if isinstance(error, urllib3.exceptions.SSLError) and error.args:
        cause = error.args[0]
        if isinstance(cause, SSLCertVerificationError):
            why = f"its certificate is not trusted: {cause.verify_message}"
            return StoreRefusedError(where, what, why, "look at `store.tls` and `store.endpoint`")
    return StoreAwayError(where, what, printed(f"{type(error).__name__}: {foreign(error)}"))
