"""Parsing of S3 notifications about created objects. Pure.

The body is S3's own JSON, or that of SNS around it
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote_plus

_CREATED = "ObjectCreated:"
_TEST = "s3:TestEvent"
_SNS = "Notification"


@dataclass(frozen=True, slots=True)
class CreatedObject:
    """An object that a notification reports as created.

    Attributes:
        bucket: The bucket.
        key: The whole key.
        at: When, in ms since 1970; `None` if the message does not say it.
    """

    bucket: str
    key: str
    at: int | None = None


class UnreadableEventError(ValueError):
    """A message is not an S3 notification."""


def created_objects(body: str) -> tuple[CreatedObject, ...]:
    """Return the objects that a message reports as created.

    Messages about other events, and the one that S3 sends when it is set up, tell of none.

    Raises:
        UnreadableEventError: It is no notification of S3.
    """
    try:
        told = json.loads(body)
        if isinstance(told, dict) and told.get("Type") == _SNS and "Message" in told:
            told = json.loads(told["Message"])
        if told.get("Event") == _TEST:
            return ()
        return tuple(_created(told["Records"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableEventError(type(error).__name__) from error


def _created(records: Any) -> Iterator[CreatedObject]:
    for each in records:
        if each["eventName"].removeprefix("s3:").startswith(_CREATED):
            told = each["s3"]
            key = unquote_plus(told["object"]["key"])
            yield CreatedObject(told["bucket"]["name"], key, _millis(each.get("eventTime")))


def _millis(time: str | None) -> int | None:
    return None if time is None else round(datetime.fromisoformat(time).timestamp() * 1000)
