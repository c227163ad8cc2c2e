"""Kafka messages that kafka-python lacks. It makes a message from a JSON file of its name.

The files beside this one describe them in the form of Kafka's own (KIP-932).
"""

from __future__ import annotations

from types import new_class
from typing import Any

from kafka.protocol.api_message import ApiMessage


def _message(name: str) -> Any:
    return new_class(name, (ApiMessage,), {"load_json": __name__})


DescribeShareGroupOffsetsRequest = _message("DescribeShareGroupOffsetsRequest")
"""Asks for the start offsets of share groups."""
DescribeShareGroupOffsetsResponse = _message("DescribeShareGroupOffsetsResponse")
"""The start offsets of share groups; -1 where none was set yet."""
AlterShareGroupOffsetsRequest = _message("AlterShareGroupOffsetsRequest")
"""Sets start offsets of a share group that has no members."""
AlterShareGroupOffsetsResponse = _message("AlterShareGroupOffsetsResponse")
"""What became of each partition's start offset."""
