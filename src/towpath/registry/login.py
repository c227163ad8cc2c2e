"""Authorization header for a schema registry."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any

from towpath.model.foreign import foreign
from towpath.model.secret import remember
from towpath.registry.answer import AGAIN, NotJsonError, read
from towpath.runtime.deadline import Deadline
from towpath.settings import OauthLogin, RegistryConfig

_EARLY = 30.0
"""Seconds before its end at which a token is renewed."""
_DEFAULT_LIFE = 300.0


class TokenRefusedError(Exception):
    """A token server refuses to issue a token.

    Args:
        status: The HTTP status.
        text: What it says.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status, self.text = status, text


class RegistryLogin:
    """Makes the `Authorization` header of requests; thread-safe.

    Args:
        config: The registry.
        http: The HTTP client that asks a token server.
    """

    def __init__(self, config: RegistryConfig, http: Any) -> None:
        self._config, self._http = config, http
        self._lock = Lock()
        self._token, self._until = "", 0.0

    def header(self, timeout: float) -> dict[str, str]:
        """Return the header, empty if the file has no login.

        Args:
            timeout: Seconds that a token server has to answer.

        Raises:
            TokenRefusedError: The token server refuses, and no repetition mends that.
            ValueError: The token server gave no usable answer.
        """
        config = self._config
        if config.basic is not None:
            text = f"{config.basic.username}:{config.basic.password.reveal()}"
            word = base64.b64encode(text.encode()).decode()
            remember(word)
            return {"Authorization": f"Basic {word}"}
        if config.token is not None:
            return _bearer(config.token.reveal())
        if config.oauth is not None:
            return _bearer(self._current(config.oauth, timeout))
        return {}

    def refused(self, header: Mapping[str, str]) -> None:
        """Forget a refused token, unless it was replaced already."""
        with self._lock:
            if self._token and header == _bearer(self._token):
                self._token = ""

    def _current(self, oauth: OauthLogin, timeout: float) -> str:
        with self._lock:
            if not self._token or time.monotonic() >= self._until:
                self._fetch(oauth, timeout)
            return self._token

    def _fetch(self, oauth: OauthLogin, timeout: float) -> None:
        # It takes a tenth of a second, and most commands ask no registry.
        import httpx  # noqa: PLC0415

        form = {"grant_type": "client_credentials"}
        if oauth.scope:
            form["scope"] = oauth.scope
        login, url = (oauth.client_id, oauth.client_secret.reveal()), oauth.token_url
        try:
            asked = self._http.stream("POST", url, data=form, auth=login, timeout=timeout)
            with asked as found:
                answer = read(found, Deadline.after(timeout))
        except (httpx.HTTPError, OSError) as error:
            raise ValueError(f"the token server at {url}: {foreign(error)}") from None
        if not answer.is_good:
            text = f"the token server at {url}: HTTP {answer.status}: {answer.said()}"
            if answer.status in AGAIN:
                raise ValueError(text)
            raise TokenRefusedError(answer.status, text)
        body: Any = None
        with suppress(NotJsonError):  # its text, which may hold a token, is not repeated
            body = answer.json()
        token = body.get("access_token") if isinstance(body, dict) else None
        if not isinstance(token, str) or not token:
            raise ValueError(f"the answer of the token server at {url} has no access_token")
        remember(token)
        life = body.get("expires_in")
        seconds = float(life) if isinstance(life, int | float) else _DEFAULT_LIFE
        self._token, self._until = token, time.monotonic() + max(1.0, seconds - _EARLY)


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
