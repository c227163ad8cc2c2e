"""The gateway's own answers, to requests that it does not relay."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.producer import InitProducerIdResponse

from towpath.cluster.codes import UNSUPPORTED_VERSION
from towpath.cluster.connect.exchange import Versions as KnownVersions
from towpath.gateway.apis import Api
from towpath.gateway.cluster_check import CHECKED, is_elsewhere, versions_answer
from towpath.gateway.frames import Head
from towpath.gateway.passing_requests import NONE, Versions
from towpath.gateway.producer_eras import FIRST_ID, IDS
from towpath.gateway.request_changes import initial
from towpath.model.nouns import ClusterId

_EPOCH = 0


class OwnAnswers:
    """Answers that the gateway gives without asking a broker.

    Args:
        relayed: Lowest and highest version of each request that clients may send.
        checked: The cluster id that clients must believe in, `None` where they are not asked, and
            their newest question is answered in an older form.
    """

    def __init__(
        self, relayed: Mapping[int, tuple[int, int]], checked: ClusterId | None = None
    ) -> None:
        self._relayed, self._checked = dict(relayed), checked
        if checked is not None:
            self._relayed[Api.API_VERSIONS] = 0, CHECKED
        self._random = random.SystemRandom()

    def answer(self, frame: bytearray, head: Head) -> bytes | None:
        """Return the gateway's own answer to a request, `None` if a broker answers it.

        Raises:
            FrameError: The request cannot be decoded.
        """
        if head.key == Api.API_VERSIONS:
            return self._versions(frame, head)
        if head.key == Api.INIT_PRODUCER_ID and self.takes(head):
            return self._producer_id(frame, head)
        return None

    def narrow(self, taken: KnownVersions) -> None:
        """Reduce the supported request versions to those of these brokers."""
        both = {
            key: (max(low, taken[key][0]), min(high, taken[key][1]))
            for key, (low, high) in self._relayed.items()
            if key in taken
        }
        self._relayed = {key: (low, high) for key, (low, high) in both.items() if low <= high}

    def takes(self, head: Head) -> bool:
        """Return whether the gateway supports a request of this kind and version."""
        low, high = self.versions(head.key)
        return low <= head.version <= high

    def versions(self, key: int) -> Versions:
        """Return the lowest and highest version of a request that the gateway supports."""
        return Versions(*self._relayed.get(key, NONE))

    def _versions(self, frame: bytearray, head: Head) -> bytes:
        """Answer ApiVersions; a newer version than ours gets ours in version 0 (KIP-511).

        Features are left out: clients would use transactions of KIP-890, which name topics by ids.

        Raises:
            FrameError: The request cannot be decoded.
        """
        keys = [
            ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in sorted(self._relayed.items())
        ]
        if self._checked is not None and head.version == CHECKED:
            elsewhere = is_elsewhere(frame, head, self._checked)
            return versions_answer(keys, head, is_elsewhere=elsewhere)
        known = self.takes(head)
        answer = ApiVersionsResponse(error_code=0 if known else UNSUPPORTED_VERSION, api_keys=keys)
        return _framed(answer, head.version if known else 0, head.correlation)

    def _producer_id(self, frame: bytearray, head: Head) -> bytes | None:
        """Answer an idempotent producer; a transactional one has its id of its coordinator."""
        if initial(frame, head.version).transactional_id is not None:
            return None
        number = FIRST_ID + self._random.randrange(IDS)
        answer = InitProducerIdResponse(producer_id=number, producer_epoch=_EPOCH)
        return _framed(answer, head.version, head.correlation)


def _framed(answer: Any, version: int, correlation: int) -> bytes:
    answer.API_VERSION = version
    answer.with_header(correlation_id=correlation)
    return bytes(answer.encode(header=True, framed=True))
