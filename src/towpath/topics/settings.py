"""Which settings a topic gets when it is created on the target. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from towpath.topics.observe import Observed, Topic

_TIMESTAMP_TYPE = "message.timestamp.type"
_MIN_INSYNC = "min.insync.replicas"

# They name brokers, or a message format that no broker of today asks for.
_NEVER = frozenset({
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "message.format.version",
})  # fmt: skip

# Tiered storage is set up per cluster, and a topic that asks for it elsewhere is refused.
_TIERED = ("remote.", "local.retention.")

_LIMITS = (
    "max.message.bytes",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "retention.bytes",
    "retention.ms",
)
"""Settings whose default on the target must not be tighter than what holds on the source: the
target would refuse or delete records that the source still has."""


def settings_for(
    topic: Topic, observed: Observed, replicas: int
) -> tuple[dict[str, str], list[str]]:
    """Return the settings of the target topic, and what a person should know about them.

    Args:
        topic: The topic on the source.
        observed: What the target knows, and its defaults.
        replicas: Replication factor that the topic gets on the target.
    """
    configs, notes = _copied(topic, observed)
    inherited = {**observed.defaults, **configs}
    for key, value, note in (
        *_policy(topic, inherited),
        *_loosened(topic, inherited),
        *_own_times(observed.defaults),
        *_enough_in_sync(inherited, replicas),
    ):
        configs[key] = value
        notes.append(note)
    notes += _times_lost_later(topic)
    return configs, notes


def stamps_itself(settings: Mapping[str, str]) -> bool:
    """Whether the brokers overwrite the times of records."""
    return settings.get(_TIMESTAMP_TYPE) == "LogAppendTime"


def _copied(topic: Topic, observed: Observed) -> tuple[dict[str, str], list[str]]:
    wanted = {
        key: value
        for key, value in topic.own.items()
        if key not in _NEVER and key != _TIMESTAMP_TYPE and not key.startswith(_TIERED)
    }
    notes = []
    tiered = sorted(key for key in topic.own if key.startswith(_TIERED))
    if tiered:
        notes.append(
            f"not copied, as tiered storage belongs to a cluster: {', '.join(tiered)};"
            " set it on the target if that has tiered storage"
        )
    unknown = sorted(wanted.keys() - observed.known)
    if unknown:
        notes.append(f"not copied, as the target does not know them: {', '.join(unknown)}")
    return {key: wanted[key] for key in wanted if key in observed.known}, notes


Change = tuple[str, str, str]
"""A setting, its value, and why."""


def _policy(topic: Topic, inherited: Mapping[str, str]) -> Iterator[Change]:
    ours, theirs = topic.settings.get("cleanup.policy"), inherited.get("cleanup.policy")
    if ours and theirs and set(ours.split(",")) != set(theirs.split(",")):
        why = f"cleanup.policy is set to {ours}, as on the source: the target's default is {theirs}"
        yield "cleanup.policy", ours, why


def _loosened(topic: Topic, inherited: Mapping[str, str]) -> Iterator[Change]:
    for key in _LIMITS:
        ours, theirs = topic.settings.get(key), inherited.get(key)
        if ours and theirs and _limit(ours) > _limit(theirs):
            why = f"{key} is set to {ours}, as on the source: the target's default is {theirs}"
            yield key, ours, why


def _own_times(defaults: Mapping[str, str]) -> Iterator[Change]:
    if stamps_itself(defaults):
        why = (
            f"{_TIMESTAMP_TYPE} is set to CreateTime so that records keep their times: the"
            " target's default is LogAppendTime"
        )
        yield _TIMESTAMP_TYPE, "CreateTime", why


def _times_lost_later(topic: Topic) -> Iterator[str]:
    if stamps_itself(topic.settings):
        yield (
            f"{_TIMESTAMP_TYPE}=LogAppendTime is not copied, so that records keep their times;"
            " after the cutover set it on the target topic"
        )


def _enough_in_sync(inherited: Mapping[str, str], replicas: int) -> Iterator[Change]:
    wanted = int(inherited.get(_MIN_INSYNC, 1))
    if wanted > replicas:
        why = (
            f"{_MIN_INSYNC} {replicas} instead of {wanted}: it must not be above the"
            " replication factor"
        )
        yield _MIN_INSYNC, str(replicas), why


def _limit(value: str) -> float:
    number = int(value)
    return math.inf if number < 0 else number
