"""Calls to a schema registry: several addresses, one deadline, and what is tried again."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from threading import BoundedSemaphore, Event
from typing import Any

from towpath.cluster.connect.security import ssl_context
from towpath.config import RegistryConfig, Tls
from towpath.model.backoff import BackOff
from towpath.model.deadline import Deadline
from towpath.model.errors import RegistryRefusedError, UnreachableError
from towpath.model.foreign import foreign, printed
from towpath.model.nouns import Side
from towpath.registry.away import Away
from towpath.registry.login import RegistryLogin

_PAUSES = BackOff(0.2, 5.0, jitter=0.25)
_TYPE = "application/vnd.schemaregistry.v1+json"
_SAID = 300
"""Characters of an answer that an error repeats."""
_LOGIN = "look at the login under `schemas.{side}`, and at its rights there (docs/schemas.md)"
NOT_THERE = 404
NO_SUCH_CALL = frozenset({NOT_THERE, 405, 501})
"""The HTTP status of registries that lack a call."""
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class RegistryHttp:
    """Asks one registry; threads may share it.

    A call has one deadline, `timeout`. Until then it is repeated at the next address after a
    timeout, a broken connection, 429 and 5xx. Every request may be repeated: what a registry has
    done already it does not do twice. A registry that gives no usable answer to many calls in a row
    is away: calls then fail at once, but for one in a second that tries again.

    Args:
        config: The registry.
        side: Which registry it is.
        at_once: The most requests at the same time.

    Attributes:
        requests: How many requests were sent.
        away: True while it answers nobody.
    """

    def __init__(self, config: RegistryConfig, side: Side, at_once: int) -> None:
        # It takes a tenth of a second, and most commands ask no registry.
        import httpx  # noqa: PLC0415

        self._httpx, self._config, self.side = httpx, config, side
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        headers = {"Accept": f"{_TYPE}, application/json", "User-Agent": "towpath"}
        self._http = httpx.Client(verify=_verify(config), limits=limits, headers=headers)
        self._login = RegistryLogin(config, self._http)
        self._slots = BoundedSemaphore(at_once)
        self._best = 0
        self.away = Away(2 * at_once)
        self._counted = count(1)
        self.requests = 0

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def call(
        self,
        what: str,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the answer, from JSON.

        Args:
            what: What is done, for messages.
            method: The HTTP method.
            path: The path below the address, quoted.
            query: The query.
            body: What is sent as JSON.

        Raises:
            RegistryRefusedError: The registry answered with an error that no repetition mends.
            UnreachableError: Nothing usable was answered in time.
        """
        if why := self.away.refuses():
            raise self._unreachable(what, why)
        deadline = Deadline.after(self._config.timeout)
        for attempt in count(1):
            at = self._best
            try:
                with self._slots:
                    answer = self._once(method, self._config.url[at] + path, query, body, deadline)
            except (self._httpx.HTTPError, OSError, ValueError) as error:
                pause, why = _PAUSES.after(attempt), _why(error)
            else:
                if answer.status_code == 401 and attempt == 1 and self._login.renew():
                    continue
                if answer.status_code not in _AGAIN:
                    self.away.heard()
                    return self._answer(what, answer)
                pause = max(_asked(answer), _PAUSES.after(attempt))
                why = f"HTTP {answer.status_code}: {_said(answer)}"
            self._best = (at + 1) % len(self._config.url)
            if attempt < len(self._config.url):
                pause = 0.0  # the next address has not been asked yet
            if deadline.left() <= pause:
                self.away.silent(why)
                raise self._unreachable(what, why)
            Event().wait(pause)
        raise AssertionError

    def if_any(self, what: str, path: str, query: Mapping[str, str] | None = None) -> Any:
        """Return what a GET answers, `None` if there is no such thing; see `call`."""
        try:
            return self.call(what, "GET", path, query)
        except RegistryRefusedError as error:
            if error.status == NOT_THERE:
                return None
            raise

    def remove(self, what: str, path: str) -> None:
        """Delete something, also if there is no such thing; see `call`."""
        try:
            self.call(what, "DELETE", path)
        except RegistryRefusedError as error:
            if error.status != NOT_THERE:
                raise

    def _once(
        self,
        method: str,
        url: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        deadline: Deadline,
    ) -> Any:
        # One address of several must not take the time of all.
        parts = min(2, len(self._config.url))
        patience = max(0.05, deadline.left() / parts)
        headers = self._login.header(patience)
        if body is not None:
            headers["Content-Type"] = _TYPE
        self.requests = next(self._counted)
        return self._http.request(
            method, url, params=query, json=body, headers=headers, timeout=patience
        )

    def _answer(self, what: str, answer: Any) -> Any:
        data: Any = None
        with suppress(ValueError):
            data = answer.json() if answer.content else None
        status = answer.status_code
        if 200 <= status < 300:
            return data
        error = data.get("error_code") if isinstance(data, dict) else None
        number = error if isinstance(error, int) else status
        advice = _LOGIN.format(side=self.side) if status in {401, 403} else ""
        raise RegistryRefusedError(self.side, what, status, number, _said(answer), advice)

    def _unreachable(self, what: str, why: str) -> UnreachableError:
        where = ", ".join(self._config.url)
        advice = f"look whether the registry runs, and at `schemas.{self.side}.url`"
        return UnreachableError(self.side, f"the schema registry at {where}: {what}", why, advice)


def _verify(config: RegistryConfig) -> ssl.SSLContext | bool:
    https = any(url.startswith("https:") for url in config.url)
    return ssl_context(config.tls or Tls()) if https else True


def _why(error: Exception) -> str:
    name = type(error).__name__
    return f"no answer in time ({name})" if "Timeout" in name else foreign(error)


def _said(answer: Any) -> str:
    """Return what an answer says, in one line, without secrets."""
    text = answer.text
    with suppress(ValueError, KeyError, TypeError):
        text = str(answer.json()["message"] or text)
    return printed(" ".join(text.split()))[:_SAID] or answer.reason_phrase or "no reason given"


def _asked(answer: Any) -> float:
    """Return the seconds that a registry asks to wait."""
    with suppress(ValueError):
        return min(60.0, float(answer.headers.get("Retry-After", "0")))
    return 0.0
