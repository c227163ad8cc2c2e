"""What clients say of their software in ApiVersions (KIP-511). Pure."""

from __future__ import annotations

from kafka.protocol.metadata import ApiVersionsRequest

from towpath.gateway.frames import FrameError, Head
from towpath.gateway.recoding import decoded

_WITH_NAMES, _NEWEST = 3, 4
_HOLDING = frozenset({"kgo"})
"""The names of libraries that take a topic with another id for one that was deleted and made again,
and end for it: franz-go."""


def holds_ids(frame: bytes | bytearray, head: Head) -> bool:
    """Whether a client that asks for ApiVersions takes a topic with another id for another one."""
    if head.version < _WITH_NAMES:
        return False
    try:
        asked = decoded(ApiVersionsRequest, frame, min(head.version, _NEWEST))
    except FrameError:
        return False
    return asked.client_software_name in _HOLDING
