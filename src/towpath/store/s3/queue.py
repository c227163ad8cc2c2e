"""A queue of Amazon SQS with notifications of a bucket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from towpath.settings import Tls
from towpath.settings.sections.notify import NotifyConfig
from towpath.store.s3.aws import aws_client
from towpath.store.s3.s3_errors import store_error
from towpath.store.transport import Transport

_RIGHTS = "give the login the rights sqs:GetQueueUrl, sqs:ReceiveMessage and sqs:DeleteMessage"
_BEYOND = 10.0
"""Seconds that an answer may take beyond the time for which the request waits."""


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A message of the queue.

    Attributes:
        body: Its text.
        receipt: Deletes it.
        times: How often it was received, now included.
    """

    body: str
    receipt: str
    times: int


class MessageQueue:
    """Receives messages, and deletes handled ones; for one thread at a time.

    Args:
        config: The queue.
    """

    def __init__(self, config: NotifyConfig) -> None:
        self._config = config
        self._transport = Transport(config.tls or Tls(), float(config.wait) + _BEYOND, 1)
        self._url = config.queue if "://" in config.queue else ""
        with self._told("log in to"):
            self._client = aws_client(
                "sqs",
                keys=config.keys,
                profile=config.profile,
                region=config.region,
                endpoint=config.endpoint,
            )
        self._client.meta.events.register("before-send.sqs", self._transport.send)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def receive(self) -> list[QueueMessage]:
        """Return the waiting messages, none if none arrive within `wait`.

        Raises:
            StoreError: The queue cannot be read.
        """
        config = self._config
        with self._told("receive messages from"):
            answer = self._client.receive_message(
                QueueUrl=self._where(),
                MaxNumberOfMessages=int(config.batch),
                WaitTimeSeconds=int(config.wait),
                VisibilityTimeout=int(config.visibility),
                AttributeNames=["ApproximateReceiveCount"],
            )
        return [_message(each) for each in answer.get("Messages", ())]

    def delete(self, messages: Sequence[QueueMessage]) -> None:
        """Delete messages, ten at most.

        Raises:
            StoreError: They could not be deleted; they will come again.
        """
        if not messages:
            return
        named = [
            {"Id": str(place), "ReceiptHandle": each.receipt} for place, each in enumerate(messages)
        ]
        with self._told("delete messages from"):
            self._client.delete_message_batch(QueueUrl=self._where(), Entries=named)

    def _where(self) -> str:
        if not self._url:
            self._url = self._client.get_queue_url(QueueName=self._config.queue)["QueueUrl"]
        return self._url

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            raise store_error(error, f"queue {self._config.queue}", what, rights=_RIGHTS) from None


def _message(each: Any) -> QueueMessage:
    times = each.get("Attributes", {}).get("ApproximateReceiveCount", "1")
    return QueueMessage(each["Body"], each["ReceiptHandle"], int(times))
