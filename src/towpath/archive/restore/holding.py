"""Topic configs that are withheld while a topic is restored. Pure.

Restored records are old and keep their timestamps. With its own configs a topic could delete,
compact, refuse or restamp them as they arrive. So it gets these once all of it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from towpath.topics.configs import (
    MOST_BYTES,
    POLICY,
    RETENTIONS,
    TIME_LIMITS,
    TIMESTAMP_TYPE,
    compacts,
    holding,
    limit,
    stamps_itself,
    tighter,
)
from towpath.topics.observed import ObservedTopics
from towpath.topics.owned import DELETE, UNLIMITED, HeldConfigs
from towpath.topics.releases import SEGMENT_BYTES

_CREATE_TIME = "CreateTime"
_ANY_TIME = str((1 << 63) - 1)
"""Kafka's value for a time limit that limits nothing."""
_LEAST_BYTES, _GROWTH = 16 << 20, 4
"""A record may take more bytes than in the batch that a producer had compressed."""
_REQUEST = 1 << 20
"""Bytes of a request beside its largest batch, far more than it takes."""
ANY: Mapping[str, str] = {
    POLICY: DELETE,
    TIMESTAMP_TYPE: _CREATE_TIME,
    MOST_BYTES: str(_LEAST_BYTES),
    SEGMENT_BYTES: str(_LEAST_BYTES),
    **dict.fromkeys(RETENTIONS, UNLIMITED),
    **dict.fromkeys(TIME_LIMITS, _ANY_TIME),
}
"""All configs that can be held back, to ask a target without any topic whether it knows them."""


def configs_to_withhold(
    final: Mapping[str, str],
    beneath: Mapping[str, str],
    seen: ObservedTopics,
    archived: Mapping[str, str] = MappingProxyType({}),
) -> HeldConfigs:
    """Return the configs to withhold from a topic during its restore.

    Args:
        final: The configs that the topic has itself in the end.
        beneath: The configs in effect where it has none itself, as far as known.
        seen: What was observed of the target.
        archived: The configs in effect when the topic was archived, as far as known: its batches
            may be as large as these allowed, whatever the topic has in the end.
    """
    effect = holding({**beneath, **final})
    meanwhile = {
        key: value for key, value in _meanwhile(effect, seen, archived) if key in seen.accepted
    }
    return HeldConfigs(meanwhile, {key: final.get(key) for key in meanwhile})


def _meanwhile(
    effect: Mapping[str, str], seen: ObservedTopics, archived: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the configs that differ from what a topic needs that is being filled."""
    if compacts(effect):
        yield POLICY, DELETE
    for key in RETENTIONS:
        if limit(effect.get(key)) != limit(UNLIMITED):
            yield key, UNLIMITED
    if stamps_itself(effect):
        yield TIMESTAMP_TYPE, _CREATE_TIME
    for key in TIME_LIMITS:
        if effect.get(key) != _ANY_TIME:
            yield key, _ANY_TIME
    wanted = most_bytes(effect, seen.request_bytes, archived)
    if (limit(effect.get(MOST_BYTES)) or 0) < wanted:
        yield MOST_BYTES, str(wanted)
    if tighter(effect.get(SEGMENT_BYTES), str(wanted)):
        yield SEGMENT_BYTES, str(wanted)


def most_bytes(
    configs: Mapping[str, str], request_bytes: int | None, archived: Mapping[str, str]
) -> int:
    """Return the `max.message.bytes` that a topic should have during its restore."""
    own = max(int(each.get(MOST_BYTES) or 0) for each in (configs, archived))
    wanted = max(_LEAST_BYTES, _GROWTH * own)
    if request_bytes is None:
        return wanted
    return max(own, min(wanted, request_bytes - _REQUEST))
