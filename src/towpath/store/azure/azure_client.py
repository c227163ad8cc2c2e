"""Requests to the REST API of Azure Blob Storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

import urllib3

from towpath.model.errors import StoreRefusedError
from towpath.settings import StoreConfig, Tls
from towpath.settings.sections.azure import ConnectionText
from towpath.store.azure.azure_errors import store_error
from towpath.store.azure.azure_login import BlobLogin, IdentityLogin, KeyLogin, SasLogin
from towpath.store.names import ObjectNames
from towpath.store.objects import Data
from towpath.store.requests import Errand
from towpath.store.transport import Transport, unanswered

AT_ONCE = 32
"""Connections that are kept."""
_VERSION = "2023-11-03"
"""The version of the API: the oldest with all that is used here and that every cloud has."""
_DONE = frozenset({200, 201, 202, 206})


class AzureClient:
    """Client for one container; thread-safe.

    Args:
        config: The store.

    Attributes:
        names: Names of its objects.

    Raises:
        StoreError: There is no usable login.
    """

    def __init__(self, config: StoreConfig) -> None:
        self._container = config.bucket
        self.names = ObjectNames(config)
        text = ConnectionText.of(config.azure.connection_string if config.azure else None)
        self._base = config.endpoint or text.endpoint or f"https://{config.blob_host}"
        self._login = _login(config, text)
        self._transport = Transport(config.tls or Tls(), config.request_timeout, AT_ONCE)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def of_object(
        self,
        method: str,
        asked: Errand,
        headers: Mapping[str, str] = {},
        query: Mapping[str, str] = {},
        body: Sequence[Data] = (),
    ) -> urllib3.BaseHTTPResponse:
        """Send a request about an object, and return the answer.

        Raises:
            StoreError: It was refused, or none came.
        """
        name = quote(self.names.name(asked.key), safe="/~")
        return self._answer(method, f"/{self._container}/{name}", asked, query, headers, body)

    def listed(self, asked: Errand, query: Mapping[str, str]) -> bytes:
        """Return a page of the objects of the container, as XML.

        Raises:
            StoreError: It was refused, or none came.
        """
        query = {"restype": "container", "comp": "list", **query}
        return self._answer("GET", f"/{self._container}", asked, query, {}, ()).data

    def _answer(
        self,
        method: str,
        path: str,
        asked: Errand,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: Sequence[Data],
    ) -> urllib3.BaseHTTPResponse:
        url = f"{self._base}{path}" + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        sent = {"x-ms-version": _VERSION, "accept-encoding": "identity", **headers}
        if method == "PUT":
            sent["content-length"] = str(sum(map(len, body)))
        sent = self._login.headers(method, url, sent)
        where = self.names.where(asked.key)
        try:
            answer = self._transport.ask(method, self._login.url(url), sent, body)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise unanswered(error, where, asked.what) from None
        if answer.status in _DONE:
            return answer
        code = answer.headers.get("x-ms-error-code", "")
        raise store_error(answer.status, code, where, asked.what, only_new=asked.only_new)


def _login(config: StoreConfig, text: ConnectionText) -> BlobLogin:
    given = config.azure
    key, sas = text.account_key, text.sas
    if given is not None:
        key, sas = given.account_key or key, given.sas or sas
    if sas is not None:
        return SasLogin(sas)
    if key is None:
        return IdentityLogin(config)
    try:
        return KeyLogin(config.account, key)
    except ValueError:
        why = "the key of the account is not base64"
        raise StoreRefusedError(config.url, "log in", why, "look at `store.azure`") from None
