"""Does steps, each only while the target is as the step requires it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from towpath.cluster.admin import Admin
from towpath.cluster.admin_checks import NewTopic
from towpath.cluster.codes import TOPIC_AUTHORIZATION_FAILED, refused
from towpath.cluster.metadata import TopicInfo, non_default
from towpath.cluster.rights import Right
from towpath.model.errors import ClusterError, RefusedError, StepOutdatedError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName
from towpath.topics.settings import equal
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs, Step

_MADE_MEANWHILE = "TOPIC_ALREADY_EXISTS"
_GONE = "none: it is gone"
Refusals = list[tuple[Step, ClusterError]]
"""Steps, each with why the target would refuse it."""


def apply(step: Step, target: Admin) -> None:
    """Do one step; what is there already as the step would leave it counts as done.

    Raises:
        StepOutdatedError: The target is not as the step requires it.
        ClusterError: The target cannot be asked, or refused.
    """
    match step:
        case CreateTopic():
            _create(step, _look_for_copy(step, target), target)
        case AddPartitions():
            _grow(step, _look(step.target, target), target)
        case SetConfigs():
            _set(step, _look(step.target, target), target)
        case DeleteTopic():
            _delete(step, _look(step.target, target), target)
        case _:
            assert_never(step)


def check_all(steps: Iterable[Step], target: Admin) -> Refusals:
    """Let the target check steps without doing them; return those that it would refuse.

    Raises:
        ClusterError: The target cannot be asked.
    """
    new: dict[TopicName, CreateTopic] = {}
    grown: dict[TopicName, AddPartitions] = {}
    changed: dict[TopicName, SetConfigs] = {}
    gone: dict[TopicName, DeleteTopic] = {}
    for step in steps:
        match step:
            case CreateTopic():
                new[step.target] = step
            case AddPartitions():
                grown[step.target] = step
            case SetConfigs():
                changed[step.target] = step
            case DeleteTopic():
                gone[step.target] = step
            case _:
                assert_never(step)
    changes = {name: step.changes for name, step in changed.items()}
    counts = {name: step.to_count for name, step in grown.items()}
    return [
        *_named(gone, _undeletable(gone, target)),
        *_named(changed, target.refused_configs(changes)),
        *_named(grown, target.refused_growth(counts)),
        *_named(new, _uncreatable(new.values(), target)),
    ]


def _named(steps: Mapping[TopicName, Step], why: Mapping[TopicName, ClusterError]) -> Refusals:
    return [(steps[name], error) for name, error in why.items()]


def _uncreatable(steps: Iterable[CreateTopic], target: Admin) -> dict[TopicName, ClusterError]:
    topics = [_new(step) for step in steps]
    refusals: dict[TopicName, ClusterError] = {
        name: error
        for name, error in target.refused_topics(topics).items()
        if error.name != _MADE_MEANWHILE
    }
    # A login that may create a topic need not be allowed to see it.
    wanted = [topic.name for topic in topics if topic.name not in refusals]
    seen = target.topics(wanted) if wanted else {}
    return refusals | {name: info.error for name, info in seen.items() if info.error}


def _undeletable(names: Iterable[TopicName], target: Admin) -> dict[TopicName, ClusterError]:
    """No request lets a deletion be checked; the rights alone can be asked for."""
    lacking = target.lacking(dict.fromkeys(names, (Right.DELETE,)))
    return {
        name: refused(
            Side.TARGET, f"deleting topic {name}", TOPIC_AUTHORIZATION_FAILED,
            acl=f"Delete on topic {name}",
        )
        for name in lacking
    }  # fmt: skip


def _new(step: CreateTopic) -> NewTopic:
    return NewTopic(step.target, step.partitions, step.replication_factor, step.configs)


def _look(name: TopicName, target: Admin) -> TopicInfo | None:
    found = target.topics([name]).get(name)
    if found is not None and found.error is not None:
        raise found.error
    return found


def _look_for_copy(step: CreateTopic, target: Admin) -> TopicInfo | None:
    try:
        return _look(step.target, target)
    except RefusedError as error:
        # Where the login may not even look, it may lack more, which helps more to know.
        refusals = [why for _, why in check_all([step], target)]
        raise (refusals or [error])[0] from None


def _create(step: CreateTopic, found: TopicInfo | None, target: Admin) -> None:
    if found is None:
        found = _make(step, target)
    if found is not None:
        _require_partitions(step.target, step.partitions, found)
        there = _own(step.target, target) if step.configs else {}
        _require(step.target, there, step.configs)


def _make(step: CreateTopic, target: Admin) -> TopicInfo | None:
    """Create the topic; return the one that was there already, if any."""
    try:
        target.create_topic(step.target, step.partitions, step.replication_factor, step.configs)
    except RefusedError as error:
        if error.name != _MADE_MEANWHILE:
            raise
        return _look(step.target, target)
    return None


def _grow(step: AddPartitions, found: TopicInfo | None, target: Admin) -> None:
    if found is None:
        raise StepOutdatedError(f"topic {step.target}", _partitions(step.from_count), _GONE)
    if len(found.partitions) != step.to_count:
        _require_partitions(step.target, step.from_count, found)
        target.add_partitions(step.target, step.to_count)


def _set(step: SetConfigs, found: TopicInfo | None, target: Admin) -> None:
    if found is None:
        raise StepOutdatedError(f"topic {step.target}", _settings(step.before), _GONE)
    if NO_TOPIC_ID not in (step.id, found.id):
        _require_id(step.target, step.id, found)
    there = _own(step.target, target)
    left = {key: v for key, v in step.changes.items() if not equal(key, there.get(key), v)}
    _require(step.target, there, {key: step.before.get(key) for key in left})
    if left:
        target.set_configs(step.target, left)


def _delete(step: DeleteTopic, found: TopicInfo | None, target: Admin) -> None:
    if found is None:
        return
    _require_id(step.target, step.id, found)
    _require_partitions(step.target, step.partitions, found)
    target.delete_topic(step.target, step.id)


def _own(name: TopicName, target: Admin) -> dict[str, str]:
    return non_default(target.configs([name]).sure(name))


def _require_id(name: TopicName, number: TopicId, found: TopicInfo) -> None:
    """Without an id nobody knows whether it is the same topic."""
    if found.id != number or found.id == NO_TOPIC_ID:
        raise StepOutdatedError(f"topic {name}", _id(number), _id(found.id))


def _id(number: TopicId) -> str:
    return f"id {number}" if number != NO_TOPIC_ID else "an id that nobody told"


def _require_partitions(name: TopicName, count: int, found: TopicInfo) -> None:
    if len(found.partitions) != count:
        raise StepOutdatedError(
            f"topic {name}", _partitions(count), _partitions(len(found.partitions))
        )


def _require(name: TopicName, there: Mapping[str, str], expected: Mapping[str, str | None]) -> None:
    found = {key: there.get(key) for key in expected}
    wrong = {key: value for key, value in expected.items() if not equal(key, found[key], value)}
    if wrong:
        raise StepOutdatedError(
            f"topic {name}", _settings(wrong), _settings({key: found[key] for key in wrong})
        )


def _settings(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"no {k} of its own" if v is None else f"{k}={v}" for k, v in values.items())


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
