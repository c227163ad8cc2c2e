"""Answers of a schema registry: reading, JSON, errors and `Retry-After`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from towpath.model.foreign import printed
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline

_SAID = 300
"""Characters of an answer that an error repeats."""
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[!/A-Za-z][^>]*>", re.DOTALL | re.IGNORECASE)
"""What makes a page of a proxy hard to read as a text."""
_LONGEST_WAIT = 60.0
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The HTTP status of answers after which the same is asked again."""


class NotJsonError(ValueError):
    """An answer is not JSON, such as a proxy's page or a truncated answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer of a registry.

    Attributes:
        status: The HTTP status.
        reason: The words that belong to the status.
        body: What was answered, decompressed.
        wait: The seconds that the registry asks to wait, 0 if it does not.
        elsewhere: Where it redirects to, without login and query; "" if it does not.
    """

    status: int
    reason: str
    body: bytes
    wait: float = 0.0
    elsewhere: str = ""

    @property
    def is_good(self) -> bool:
        """Whether the status of the answer is a success."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the JSON of the answer.

        Raises:
            NotJsonError: It is not JSON.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            text = f"the answer is not JSON: {self._text() or 'nothing'}"
            raise NotJsonError(text) from None

    def error(self) -> int:
        """Return the registry's error number, or the HTTP status if there is none."""
        with suppress(ValueError):
            data = self.json()
            number = data.get("error_code") if isinstance(data, dict) else None
            return number if isinstance(number, int) else self.status
        return self.status

    def said(self, schema: str = "") -> str:
        """Return the registry's message in one line, without secrets.

        Args:
            schema: The text of the schema that was sent, which is not repeated: it may be long, and
                tell what an error should not.
        """
        if self.elsewhere:
            return f"it redirects to {self.elsewhere}, which is not followed"
        text = ""
        with suppress(ValueError):
            data = self.json()
            text = str(data.get("message") or "") if isinstance(data, dict) else ""
        return self._text(text, schema) or self.reason or "no reason given"

    def _text(self, text: str = "", schema: str = "") -> str:
        text = text or _TAGS.sub(" ", self.body.decode(errors="replace"))
        for form in (schema, json.dumps(schema)[1:-1]) if schema else ():
            text = text.replace(form, "(the schema)")
        return printed(" ".join(text.split()))[:_SAID]


def read(found: Any, deadline: Deadline) -> Answer:
    """Read an answer to its end.

    Args:
        found: The answer as httpx gives it before its content is read.
        deadline: The end of the time for it. A connection may be alive for as long as it likes.

    Raises:
        TimeoutError: It is over.
    """
    parts: list[bytes] = []
    for part in found.iter_bytes():
        parts.append(part)
        if deadline.over:
            raise TimeoutError
    status, heads = found.status_code, found.headers
    place = heads.get("Location", "") if 300 <= status < 400 else ""
    return Answer(status, found.reason_phrase, b"".join(parts), asked_to_wait(heads), _bare(place))


def _bare(url: str) -> str:
    """Return a URL without login and query, which may be secret."""
    if not url:
        return ""
    with suppress(ValueError):
        parts = urlsplit(url)
        where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""
        return printed(f"{where}{parts.path}")[:_SAID]
    return "another URL"


def asked_to_wait(heads: Mapping[str, str]) -> float:
    """Return the seconds in a `Retry-After` header: a number or a date (RFC 9110, 10.2.3).

    0 if it asks for none, or for one that cannot be read.
    """
    text = heads.get("Retry-After", "0")
    with suppress(ValueError):
        return min(_LONGEST_WAIT, max(0.0, float(text)))
    with suppress(ValueError):
        # Its own clock counts, if it tells it.
        now = _seconds(heads["Date"]) if "Date" in heads else now_ms() / 1000
        return min(_LONGEST_WAIT, max(0.0, _seconds(text) - now))
    return 0.0


def _seconds(date: str) -> float:
    return parsedate_to_datetime(date).timestamp()
