"""Decoding, changing and encoding of requests and answers, with kafka-python's messages."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from towpath.gateway.frames import FrameError


class LateAnswer(bytearray):
    """An answer that the client gets `LATE` seconds later, so that it does not ask at once."""


LATE = 0.1
Change = Callable[[bytearray, int], bytes | bytearray]
"""Changes a frame whose message has a version."""


def decoded(message: Any, frame: bytes | bytearray, version: int) -> Any:
    """Decode a request or an answer, with its header.

    Raises:
        FrameError: It is no such message.
    """
    try:
        return message.decode(memoryview(frame)[4:], version=version, header=True)
    except (ValueError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise FrameError(f"a frame that is no {message.name} of version {version}") from error


def recoded(
    message: Any, change: Callable[[Any], None], frame: bytes | bytearray, version: int
) -> bytes:
    """Return a frame whose message was decoded, changed and encoded again.

    Raises:
        FrameError: It is no such message.
    """
    found = decoded(message, frame, version)
    change(found)
    return bytes(found.encode(header=True, framed=True))
