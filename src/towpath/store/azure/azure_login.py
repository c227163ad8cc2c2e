"""Logins to Azure Blob Storage: a signing key, a SAS, or an identity with tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from threading import Lock
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from towpath.model.errors import ExtraMissingError, StoreAwayError, StoreRefusedError
from towpath.model.secret import Secret, remember
from towpath.runtime.clock import now_ms
from towpath.settings import StoreConfig

_SCOPE = "https://storage.azure.com/.default"
_EARLY_MS = 300_000
"""How long before it expires a token is fetched anew."""
_NO_IDENTITY = (
    "give a key, a SAS or a connection string under `store.azure`, or let this machine have an"
    " identity (`az login`, a managed identity, a workload identity)"
)
_SIGNED = (
    "content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range",
)  # fmt: skip
"""Headers that a signature covers, in this order (REST, "Authorize with Shared Key")."""


class BlobLogin(Protocol):
    """Protocol of a login for requests; thread-safe."""

    def url(self, url: str) -> str:
        """Return the URL of a request, with a signature if the login uses one."""

    def headers(self, method: str, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a request, including those of the login.

        Raises:
            StoreError: There is no token to be had.
        """


class KeyLogin:
    """Signs each request with a key of the account.

    Args:
        account: The account.
        key: Its key, in base64.

    Raises:
        ValueError: The key is none.
    """

    def __init__(self, account: str, key: Secret) -> None:
        self._account = account
        self._key = base64.b64decode(key.reveal(), validate=True)

    def url(self, url: str) -> str:
        """Return the URL unchanged."""
        return url

    def headers(self, method: str, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a request, with its time and its signature."""
        found = {**headers, "x-ms-date": format_datetime(datetime.now(UTC), usegmt=True)}
        text = signed_text(self._account, method, url, found)
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        signature = base64.b64encode(digest).decode()
        return {**found, "authorization": f"SharedKey {self._account}:{signature}"}


class SasLogin:
    """Adds a shared access signature to each URL.

    Args:
        sas: Its query.
    """

    def __init__(self, sas: Secret) -> None:
        self._sas = sas

    def url(self, url: str) -> str:
        """Return the URL with the signature."""
        sas = self._sas.reveal().strip().lstrip("?")
        return f"{url}{'&' if '?' in url else '?'}{sas}"

    def headers(self, method: str, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers unchanged."""
        del method, url
        return dict(headers)


class IdentityLogin:
    """Gets tokens as Azure's tools do: workload identity, managed identity, environment, CLI.

    Args:
        config: The store.

    Raises:
        ExtraMissingError: azure-identity is not installed.
    """

    def __init__(self, config: StoreConfig) -> None:
        try:
            from azure.identity import DefaultAzureCredential  # noqa: PLC0415  # an extra
        except ImportError:
            instead = "give a key or a SAS under `store.azure`"
            raise ExtraMissingError(config.url, "azure-identity", "azure", instead) from None
        # Its warnings repeat what programs printed; the error says what to do.
        logging.getLogger("azure").setLevel(logging.ERROR)
        self._where = config.url
        chosen = config.azure.client_id if config.azure else None
        names = ("managed_identity_client_id", "workload_identity_client_id")
        self._credential: Any = DefaultAzureCredential(
            **dict.fromkeys(names, chosen) if chosen else {}
        )
        self._lock = Lock()
        self._token, self._until = "", 0

    def url(self, url: str) -> str:
        """Return the URL unchanged."""
        return url

    def headers(self, method: str, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a request, with a token."""
        del method, url
        with self._lock:
            if now_ms() > self._until - _EARLY_MS:
                self._fetch()
            return {**headers, "authorization": f"Bearer {self._token}"}

    def _fetch(self) -> None:
        from azure.core.exceptions import AzureError, ClientAuthenticationError  # noqa: PLC0415

        try:
            found = self._credential.get_token(_SCOPE)
        except ClientAuthenticationError:
            # Its text has what each kind of login said, also what programs printed.
            why = "no identity of Azure could be used"
            raise StoreRefusedError(self._where, "log in", why, _NO_IDENTITY) from None
        except AzureError as error:
            raise StoreAwayError(self._where, "log in", type(error).__name__) from None
        remember(found.token)
        self._token, self._until = found.token, found.expires_on * 1000


def signed_text(account: str, method: str, url: str, headers: Mapping[str, str]) -> str:
    """Return the text that the signature of a request covers.

    Args:
        account: The account.
        method: The method.
        url: The URL.
        headers: All headers but the signature, by names in small letters.
    """
    lines = [
        method,
        *("" if headers.get(name) == "0" else headers.get(name, "") for name in _SIGNED),
    ]
    lines += [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-ms-")]
    parts = urlsplit(url)
    lines.append(f"/{account}{parts.path}")
    query = sorted(each.partition("=") for each in parts.query.split("&") if each)
    lines += [f"{name.lower()}:{unquote(value)}" for name, _, value in query]
    return "\n".join(lines)
