"""Parsing of times in the file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from towpath.runtime.clock import is_ms
from towpath.settings.problems import must_be

LIKE = "a time such as 2025-01-31T08:00:00Z"


def milliseconds(value: int) -> int:
    """Return a number unchanged if it can be milliseconds since 1970.

    Raises:
        ValueError: It has too few or too many digits for that.
    """
    if not is_ms(value):
        raise ValueError(f"{value} is not in milliseconds since 1970, which have 12 or 13 digits")
    return value


def parse_time(text: str, else_write: str = "") -> int:
    """Parse an ISO 8601 time with a zone, or digits, into milliseconds since 1970.

    Args:
        text: The text.
        else_write: What to write instead of times before 1970.

    Raises:
        ValueError: It is not such a text, or before 1970.
    """
    if text.isascii() and text.isdigit():
        return milliseconds(int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not {LIKE}") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; add Z for UTC, or an offset such as +02:00")
    since_1970 = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    if since_1970 < 0:  # brokers read negative times as `latest` and `earliest`
        hint = f"; write {else_write}" if else_write else ""
        raise ValueError(f"{text!r} is before 1970{hint}")
    return round(since_1970 * 1000)


def _moment(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return milliseconds(value)
    if isinstance(value, str):
        return parse_time(value)
    raise ValueError(must_be(LIKE, value))


Moment = Annotated[
    int,
    PlainValidator(_moment, json_schema_input_type=str | int),
    PlainSerializer(lambda moment: moment),
]
"""Milliseconds since 1970."""
