"""HTTP calls to a schema registry with several addresses, a deadline and retries."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from threading import BoundedSemaphore, Event, local
from typing import Any

from towpath.cluster.connect.security import ssl_context
from towpath.model.errors import RegistryRefusedError, UnreachableError
from towpath.model.foreign import foreign
from towpath.model.nouns import Side
from towpath.registry.answer import AGAIN, Answer, NotJsonError, read
from towpath.registry.away import Away
from towpath.registry.login import RegistryLogin, TokenRefusedError
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline
from towpath.settings import RegistryConfig, Tls

_PAUSES = BackOff(0.2, 5.0, jitter=0.25)
_TYPE = "application/vnd.schemaregistry.v1+json"
_LOGIN = "look at the login under `schemas.{side}`, and at its rights there (docs/schemas.md)"
_OAUTH = "look at `schemas.{side}.oauth`"
_PLACE = "look at `schemas.{side}.url`: it must be that of a schema registry"
NOT_THERE = 404
NO_SUCH_CALL = frozenset({NOT_THERE, 405, 501})
"""The HTTP status of registries that lack a call."""
_NO_WRITER = frozenset({403, 405, 501})
"""The HTTP status of addresses that let nobody write."""
_NOT_PERMITTED = 42205
"""The error of a registry that is READONLY; one of a subject that is READONLY is the same."""
_BLIND = frozenset({"DELETE", "PUT"})
"""Methods of changes after which the registry is asked what it holds."""

Asked = tuple[str, Mapping[str, str] | None, Mapping[str, Any] | None]
"""URL, query and body of a request."""


class RegistryHttp:
    """HTTP client of one registry; thread-safe.

    A call has one deadline, `timeout`. Until then it is repeated at the next address after a
    timeout, a broken connection, 429 and 5xx. An address that refuses a change may be one that is
    for reading alone, so each other address is asked before the refusal counts. Every request may
    be repeated: what a registry has done already it does not do twice. A registry that gives no
    usable answer to many calls in a row is away: calls then fail at once, but for one in a second
    that tries again. Redirects are not followed, so a login goes to addresses of the file alone.

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
        self._counted, self._stopped, self._restoring = count(1), Event(), local()
        self.requests = 0

    def stop(self) -> None:
        """Stop sending requests, except those that restore settings; callable from any thread."""
        self._stopped.set()

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Allow this thread's requests after `stop`, as they restore settings."""
        self._restoring.is_on = True
        try:
            yield
        finally:
            self._restoring.is_on = False

    def close(self) -> None:
        """Close all connections."""
        self.stop()
        self._http.close()

    def call(
        self,
        what: str,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send a request, and return the JSON of the answer.

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
        deadline, others = Deadline.after(self._config.timeout), len(self._config.url) - 1
        said = ""
        for attempt in count(1):
            self._go_on(what)
            at = self._best
            try:
                with self._slots:
                    asked = self._config.url[at] + path, query, body
                    answer = self._once(what, method, asked, deadline)
                if answer.status not in AGAIN:
                    self.away.heard()
                    if not others or not _for_reading_alone(method, answer):
                        return self._answer(what, method, answer, body)
                    # What was written is read back at the address that took it.
                    others, self._best = others - 1, (at + 1) % len(self._config.url)
                    continue
                pause = max(answer.wait, _PAUSES.after(attempt))
                why = said = f"HTTP {answer.status}: {answer.said()}"
            except NotJsonError as error:
                if attempt >= len(self._config.url):
                    raise self._strange(what, error) from None
                pause, why = 0.0, str(error)
            except (self._httpx.HTTPError, OSError, ValueError) as error:
                pause, why = _PAUSES.after(attempt), _why(error, said)
            self._best = (at + 1) % len(self._config.url)
            if attempt < len(self._config.url):
                pause = 0.0  # the next address has not been asked yet
            if deadline.left() <= pause:
                self.away.silent(why)
                raise self._unreachable(what, why)
            self._stopped.wait(pause)
        raise AssertionError

    def _go_on(self, what: str) -> None:
        if self._stopped.is_set() and not getattr(self._restoring, "is_on", False):
            raise self._unreachable(what, "it is asked no more, as the work was stopped")

    def if_any(self, what: str, path: str, query: Mapping[str, str] | None = None) -> Any:
        """Return the JSON of a GET request, `None` if the item does not exist."""
        try:
            return self.call(what, "GET", path, query)
        except RegistryRefusedError as error:
            if error.status == NOT_THERE:
                return None
            raise

    def remove(self, what: str, path: str) -> None:
        """Send a DELETE request; an item that does not exist is no error."""
        try:
            self.call(what, "DELETE", path)
        except RegistryRefusedError as error:
            if error.status != NOT_THERE:
                raise

    def _once(self, what: str, method: str, asked: Asked, deadline: Deadline) -> Answer:
        try:
            login = self._login.header(self._patience(deadline))
            answer = self._sent(method, asked, login, deadline)
            if answer.status == 401:
                self._login.refused(login)
                other = self._login.header(self._patience(deadline))
                if other != login:
                    return self._sent(method, asked, other, deadline)
        except TokenRefusedError as error:
            side, number = self.side, error.status
            advice = _OAUTH.format(side=side)
            raise RegistryRefusedError(side, what, number, number, error.text, advice) from None
        return answer

    def _patience(self, deadline: Deadline) -> float:
        """Return how many seconds one request may take."""
        # One address of several must not take the time of all.
        return max(0.05, deadline.left() / min(2, len(self._config.url)))

    def _sent(
        self, method: str, asked: Asked, login: Mapping[str, str], deadline: Deadline
    ) -> Answer:
        patience = self._patience(deadline)
        url, query, body = asked
        headers = {**login, **({"Content-Type": _TYPE} if body is not None else {})}
        self.requests = next(self._counted)
        end = Deadline.after(patience)
        sent = self._http.stream(
            method, url, params=query, json=body, headers=headers, timeout=patience
        )
        with sent as answer:
            return read(answer, end)

    def _answer(
        self, what: str, method: str, answer: Answer, body: Mapping[str, Any] | None
    ) -> Any:
        """Return what was answered, `None` for a change whose answer says nothing of use.

        Raises:
            RegistryRefusedError: It is an error.
            NotJsonError: It is no error, and not JSON.
        """
        status, side = answer.status, self.side
        if answer.is_good:
            return None if method in _BLIND else answer.json()
        advice = _LOGIN.format(side=side) if status in {401, 403} else ""
        if answer.elsewhere:
            advice = _PLACE.format(side=side)
        why = answer.said(str((body or {}).get("schema") or ""))
        raise RegistryRefusedError(side, what, status, answer.error(), why, advice)

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Translate errors from parsing an answer into an error that names the registry.

        Raises:
            RegistryRefusedError: The answer is not as registries give it.
        """
        try:
            yield
        except KeyError as error:
            raise self._strange(what, f"the answer has no {foreign(error)}") from None
        except (AttributeError, TypeError, ValueError) as error:
            text = f"the answer is not that of a schema registry: {foreign(error)}"
            raise self._strange(what, text) from None

    def _strange(self, what: str, why: object) -> RegistryRefusedError:
        advice = _PLACE.format(side=self.side)
        return RegistryRefusedError(self.side, what, 200, 200, str(why), advice)

    def _unreachable(self, what: str, why: str) -> UnreachableError:
        where = ", ".join(self._config.url)
        advice = f"look whether the registry runs, and at `schemas.{self.side}.url`"
        return UnreachableError(self.side, f"the schema registry at {where}: {what}", why, advice)


def _for_reading_alone(method: str, answer: Answer) -> bool:
    """Whether an answer may be that of a follower or a gateway that lets nobody write."""
    refused = answer.status in _NO_WRITER or answer.error() == _NOT_PERMITTED
    return method != "GET" and (refused or bool(answer.elsewhere))


def _verify(config: RegistryConfig) -> ssl.SSLContext | bool:
    https = any(url.startswith("https:") for url in config.url)
    return ssl_context(config.tls or Tls()) if https else True


def _why(error: Exception, said: str) -> str:
    """Return why there is no answer; `said` is the last error that the registry answered before."""
    name = type(error).__name__
    if "Timeout" not in name:
        return foreign(error)
    late = f"no answer in time ({name})"
    return f"{said}, and then {late}" if said else late
