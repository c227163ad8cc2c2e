"""The check of clients that tell in which cluster they believe they are (KIP-1242). Pure.

Since Kafka 4.4 a Java client sends the ids of cluster and broker with ApiVersions version 5. A
client that comes from the source itself, as its addresses lead to the gateway now, names the
source. It is told to begin anew (REBOOTSTRAP_REQUIRED), and so forgets all that it knows.
"""

from __future__ import annotations

from kafka.protocol.metadata import ApiVersionsResponse

from towpath.gateway.frames import FrameError, Head, after_tags, uvarint
from towpath.gateway.steering_answers import framed
from towpath.model.nouns import ClusterId

CHECKED = 5
"""The version of ApiVersions that names the cluster; its answer is that of version 4."""
_ANSWER = 4
_REBOOTSTRAP = 129


def believed_cluster(frame: bytes | bytearray, head: Head) -> str | None:
    """Return the cluster id in an ApiVersions request of version 5, `None` if it names none.

    Raises:
        FrameError: It is no such request.
    """
    try:
        at = after_tags(frame, head.end)
        for _ in range(2):  # name and version of the client's software
            size, at = uvarint(frame, at)
            at += max(size - 1, 0)
        size, at = uvarint(frame, at)
        if at + size - 1 > len(frame):
            raise FrameError("an ApiVersions request that ends early")
        return bytes(frame[at : at + size - 1]).decode(errors="replace") if size else None
    except IndexError as error:
        raise FrameError("an ApiVersions request that ends early") from error


def versions_answer(
    keys: list[ApiVersionsResponse.ApiVersion], head: Head, *, is_elsewhere: bool
) -> bytes:
    """Answer ApiVersions version 5.

    Args:
        keys: Requests and their versions.
        head: The head of the request.
        is_elsewhere: Whether the client believes to be in another cluster.
    """
    answer = ApiVersionsResponse(
        error_code=_REBOOTSTRAP if is_elsewhere else 0,
        throttle_time_ms=0,
        api_keys=[] if is_elsewhere else keys,
    )
    return framed(answer, Head(head.key, _ANSWER, head.correlation, head.end))


def is_elsewhere(frame: bytes | bytearray, head: Head, shown: ClusterId) -> bool:
    """Return whether a client believes to be in another cluster than the one that it is shown.

    Raises:
        FrameError: It is no ApiVersions request of version 5.
    """
    named = believed_cluster(frame, head)
    return named is not None and named != shown
