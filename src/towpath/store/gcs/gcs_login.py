"""Logins to Google Cloud like Google's tools; the only module that imports google-auth."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

import urllib3
from google.auth import default, exceptions
from google.auth.transport import Request, Response
from google.oauth2.service_account import Credentials

from towpath.model.errors import StoreAwayError, StoreError, StoreRefusedError
from towpath.model.foreign import printed
from towpath.model.secret import remember
from towpath.settings import StoreConfig, Tls
from towpath.store.transport import Transport, unanswered

_SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
_AT_ONCE = 4
_IN = "log in"
_NONE = (
    "give `store.service_account`, set GOOGLE_APPLICATION_CREDENTIALS, or run on a machine with a"
    " service account"
)
_SAID = 300
"""Characters of an answer that an error repeats."""


class GoogleLogin:
    """Login by a token that requests carry; thread-safe.

    Tokens come over lines that trust the authorities of the system: `store.tls` is about the store.

    Args:
        config: The store.

    Raises:
        StoreError: There are no usable credentials.
    """

    def __init__(self, config: StoreConfig) -> None:
        self._where = config.url
        self._transport = Transport(Tls(), config.request_timeout, _AT_ONCE)
        self._request = _AuthRequest(self._transport)
        self._lock = Lock()
        with self._told():
            self._credentials = _credentials(config, self._request)

    def headers(self, method: str, url: str) -> dict[str, str]:
        """Return the login headers of a request, with a token renewed before it expires.

        Raises:
            StoreError: There is no token to be had.
        """
        headers: dict[str, str] = {}
        with self._lock, self._told():
            self._credentials.before_request(self._request, method, url, headers)
        remember(headers.get("authorization", "").partition(" ")[2])
        return headers

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except exceptions.GoogleAuthError as error:
            raise _told(error, self._where) from None


class _AuthRequest(Request):
    """Requests of google-auth, over our lines and with our timeout."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> Response:
        del timeout  # that of the transport counts
        data = body.encode() if isinstance(body, str) else body
        try:
            answer = self._transport.ask(method, url, headers or {}, [data] if data else ())
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise exceptions.TransportError(error) from error
        return _AuthResponse(answer)


class _AuthResponse(Response):
    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self._answer = answer

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    @property
    def data(self) -> bytes:
        return self._answer.data


def _credentials(config: StoreConfig, request: Request) -> Any:
    if config.service_account is None:
        return default(scopes=_SCOPES, request=request)[0]
    try:
        info = json.loads(config.service_account.reveal())
        made = Credentials.from_service_account_info(info, scopes=_SCOPES)
        remember(str(info["private_key"]))
    except (exceptions.GoogleAuthError, ValueError, TypeError, AttributeError, KeyError):
        # What is wrong might repeat some of the key.
        why = "it is not the JSON key of a service account"
        raise StoreRefusedError(config.url, _IN, why, "look at `store.service_account`") from None
    return made


def _told(error: exceptions.GoogleAuthError, where: str) -> StoreError:
    if isinstance(error, exceptions.DefaultCredentialsError):
        why = "no usable Google credentials were found"
        return StoreRefusedError(where, _IN, why, _NONE)
    if isinstance(error, exceptions.TransportError):
        cause = error.args[0] if error.args else error
        return unanswered(cause if isinstance(cause, BaseException) else error, where, _IN)
    if error.retryable:
        return StoreAwayError(where, _IN, type(error).__name__)
    said = error.args[0] if error.args and isinstance(error.args[0], str) else ""
    why = printed(" ".join(said.split()))[:_SAID] or type(error).__name__
    advice = "look whether the service account and its key are still valid"
    return StoreRefusedError(where, _IN, why, advice)
