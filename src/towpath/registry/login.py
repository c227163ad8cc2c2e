"""The header of a request that logs in to a schema registry."""

from __future__ import annotations

import base64
import time
from threading import Lock
from typing import Any

from towpath.config import OauthLogin, RegistryConfig
from towpath.model.secret import remember

_EARLY = 30.0
"""Seconds before its end at which a token is renewed."""
_DEFAULT_LIFE = 300.0


class RegistryLogin:
    """Makes the `Authorization` of requests; threads may share it.

    Args:
        config: The registry.
        http: The HTTP client that asks a token server.
    """

    def __init__(self, config: RegistryConfig, http: Any) -> None:
        self._config, self._http = config, http
        self._lock = Lock()
        self._token, self._until = "", 0.0

    def header(self, timeout: float) -> dict[str, str]:
        """Return the header, none where the file has no login.

        Args:
            timeout: Seconds that a token server has to answer.

        Raises:
            httpx.HTTPError: The token server did not answer, or refused.
            ValueError: The token server's answer has no token.
        """
        config = self._config
        if config.basic is not None:
            text = f"{config.basic.username}:{config.basic.password.reveal()}"
            word = base64.b64encode(text.encode()).decode()
            remember(word)
            return {"Authorization": f"Basic {word}"}
        if config.token is not None:
            return {"Authorization": f"Bearer {config.token.reveal()}"}
        if config.oauth is not None:
            return {"Authorization": f"Bearer {self._current(config.oauth, timeout)}"}
        return {}

    def renew(self) -> bool:
        """Forget a token that was refused; return whether another one may be accepted."""
        with self._lock:
            had, self._token = self._token, ""
        return bool(had)

    def _current(self, oauth: OauthLogin, timeout: float) -> str:
        with self._lock:
            if not self._token or time.monotonic() >= self._until:
                self._fetch(oauth, timeout)
            return self._token

    def _fetch(self, oauth: OauthLogin, timeout: float) -> None:
        form = {"grant_type": "client_credentials"}
        if oauth.scope:
            form["scope"] = oauth.scope
        login = oauth.client_id, oauth.client_secret.reveal()
        answer = self._http.post(oauth.token_url, data=form, auth=login, timeout=timeout)
        answer.raise_for_status()
        body = answer.json()
        token = body.get("access_token") if isinstance(body, dict) else None
        if not isinstance(token, str) or not token:
            raise ValueError("the token server's answer has no access_token")
        remember(token)
        life = body.get("expires_in")
        seconds = float(life) if isinstance(life, int | float) else _DEFAULT_LIFE
        self._token, self._until = token, time.monotonic() + max(1.0, seconds - _EARLY)
