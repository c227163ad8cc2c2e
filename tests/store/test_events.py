"""What notifications of S3 tell, by the bodies of messages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.objects.queues import by_sns, notification
from towpath.store.s3.events import CreatedObject, UnreadableEventError, created_objects

KEY = "data/eu/orders/0/0/00000000000000000000-00000000000000000009.parquet"
AT = 1738310400000
MADE = CreatedObject("bucket", KEY, AT)


@pytest.mark.parametrize("wrap", [str, by_sns])
def test_created_objects_are_told_by_s3_and_through_sns(wrap: Callable[[str], str]) -> None:
    assert created_objects(wrap(notification("bucket", KEY))) == (MADE,)
    odd = notification("bucket", "data/eu/a b+c/0", "s3:ObjectCreated:CompleteMultipartUpload")
    assert created_objects(wrap(odd)) == (CreatedObject("bucket", "data/eu/a b+c/0", AT),)


def test_a_message_need_not_say_when() -> None:
    told = json.loads(notification("bucket", KEY))
    del told["Records"][0]["eventTime"]
    assert created_objects(json.dumps(told)) == (CreatedObject("bucket", KEY),)


def test_other_events_tell_of_no_object() -> None:
    assert created_objects(notification("bucket", KEY, "ObjectRemoved:Delete")) == ()
    assert created_objects(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent"})) == ()
    assert created_objects(json.dumps({"Records": []})) == ()


@pytest.mark.parametrize(
    "body",
    ["", "hello", "[]", "null", "7", "{}", '{"Records": 5}', '{"Records": [{}]}',
     '{"Records": ["x"]}', '{"Type": "Notification", "Message": "hello"}',
     '{"Type": "Notification", "Message": 5}',
     '{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {}}}]}',
     '{"Records": [{"eventName": "ObjectCreated:Put", "eventTime": "noon", "s3": {"bucket":'
     ' {"name": "b"}, "object": {"key": "k"}}}]}'],
)  # fmt: skip
def test_anything_else_is_no_notification(body: str) -> None:
    with pytest.raises(UnreadableEventError):
        created_objects(body)
