"""Applying of topic steps, each only if the target is still as the step requires."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, assert_never

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right
from towpath.cluster.admin.topic_changes import NewTopic
from towpath.cluster.codes import TOPIC_AUTHORIZATION_FAILED, refused
from towpath.cluster.metadata import Answers, ConfigEntry, TopicInfo, non_default
from towpath.model.errors import ClusterError, RefusedError, StepOutdatedError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.plan.subject import SettledStep
from towpath.topics.configs import equal
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs, TopicStep

T = TypeVar("T", bound=TopicStep)
_Found = dict[TopicName, TopicInfo]

_MADE_MEANWHILE = "TOPIC_ALREADY_EXISTS"
_GONE = "none: it is gone"
Refusals = list[tuple[TopicStep, ClusterError]]
"""Steps that the target would refuse, each with the error."""


def apply(step: TopicStep, target: Admin) -> None:
    """Apply one step; a topic that is already as wanted counts as done.

    Raises:
        StepOutdatedError: The target is not as the step requires.
        ClusterError: The target cannot be asked, or refuses the step.
    """
    apply_all([step], target).sure(step.about)


def apply_all(steps: Sequence[TopicStep], target: Admin) -> Changed:
    """Apply steps of one kind together, each for another topic.

    Raises:
        ClusterError: The target cannot be asked, and nothing was changed.
    """
    changed = Changed()
    # Each of these does nothing if there are no steps of its kind.
    _create([step for step in steps if isinstance(step, CreateTopic)], target, changed)
    _grow([step for step in steps if isinstance(step, AddPartitions)], target, changed)
    _set([step for step in steps if isinstance(step, SetConfigs)], target, changed)
    _delete([step for step in steps if isinstance(step, DeleteTopic)], target, changed)
    return changed


def is_as_made(step: CreateTopic, found: TopicInfo, configs: Mapping[str, ConfigEntry]) -> bool:
    """Return whether a topic is exactly as a step creates it, so that the link owns it.

    Configs that the login may not see count as different.
    """
    replicas = {len(partition.replicas) for partition in found.partitions}
    own = non_default(configs)
    return (
        len(found.partitions) == step.partitions
        and (step.replication_factor < 0 or replicas == {step.replication_factor})
        and own.keys() == step.configs.keys()
        and all(equal(key, value, own[key]) for key, value in step.configs.items())
    )


def present(steps: Sequence[TopicStep], target: Admin) -> dict[str, TopicId]:
    """Return the ids of the topics that steps are about and that exist, by name.

    For a removal, only the topic that it would remove counts.

    Raises:
        ClusterError: The target cannot be asked.
    """
    found = target.topics.describe({step.target for step in steps}) if steps else {}
    ids = {name: info.id for name, info in found.items() if not info.error}
    return {
        step.target: ids[step.target]
        for step in steps
        if step.target in ids
        and not (isinstance(step, DeleteTopic) and ids[step.target] != step.id)
    }


def settled(steps: Sequence[CreateTopic], target: Admin) -> dict[str, SettledStep]:
    """Return which topics exist that a dead process had begun to create, by name.

    Raises:
        ClusterError: The target cannot be asked.
    """
    found = target.topics.describe(step.target for step in steps) if steps else {}
    configs = target.configs.describe(found) if found else {}
    return {
        step.target: SettledStep(is_as_made(step, info, configs.get(step.target, {})), info.id)
        for step in steps
        if (info := found.get(step.target)) is not None and not info.error
    }


def check_all(steps: Iterable[TopicStep], target: Admin) -> Refusals:
    """Let the target validate steps; return the steps that it would refuse.

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
        *_named(changed, target.configs.check(changes)),
        *_named(grown, target.topics.check_growth(counts)),
        *_named(new, _uncreatable(new.values(), target)),
    ]


def _named(steps: Mapping[TopicName, TopicStep], why: Mapping[TopicName, ClusterError]) -> Refusals:
    return [(steps[name], error) for name, error in why.items()]


def _uncreatable(steps: Iterable[CreateTopic], target: Admin) -> dict[TopicName, ClusterError]:
    topics = [_new(step) for step in steps]
    refusals: dict[TopicName, ClusterError] = {
        name: error
        for name, error in target.topics.check_creations(topics).items()
        if not is_there(error)
    }
    # A login that may create a topic may still lack the right to describe it.
    wanted = [topic.name for topic in topics if topic.name not in refusals]
    seen = target.topics.describe(wanted) if wanted else {}
    return refusals | {name: info.error for name, info in seen.items() if info.error}


def _undeletable(names: Iterable[TopicName], target: Admin) -> dict[TopicName, ClusterError]:
    """Return deletions for which the login lacks the right; Kafka cannot check more in advance."""
    lacking = target.topics.lacking(dict.fromkeys(names, (Right.DELETE,)))
    return {
        name: refused(
            Side.TARGET,
            f"deleting topic {name}",
            TOPIC_AUTHORIZATION_FAILED,
            acl=f"Delete on topic {name}",
        )
        for name in lacking
    }


def _new(step: CreateTopic) -> NewTopic:
    return NewTopic(step.target, step.partitions, step.replication_factor, step.configs)


def _look(names: Iterable[TopicName], target: Admin, changed: Changed) -> _Found:
    """Return the topics of these names that exist and can be described."""
    wanted = list(names)
    found = target.topics.describe(wanted) if wanted else {}
    changed.take({}, {name: info.error for name, info in found.items() if info.error})
    return {name: info for name, info in found.items() if not info.error}


def _create(steps: Sequence[CreateTopic], target: Admin, changed: Changed) -> None:
    found = _look((step.target for step in steps), target, changed)
    _explain([step for step in steps if step.target in changed.failed], target, changed)
    new = [step for step in _hopeful(steps, changed) if step.target not in found]
    found |= _look(_make(new, target, changed), target, changed)
    there = [step for step in steps if step.target in found]
    own = _own((step.target for step in there if step.configs), target)
    for step in there:
        changed.failed.pop(step.target, None)
        with changed.about(step.target):
            _require_partitions(step.target, step.partitions, found[step.target])
            _require(step.target, own.sure(step.target) if step.configs else {}, step.configs)
            changed.done[step.target] = None


def _explain(hidden: Sequence[CreateTopic], target: Admin, changed: Changed) -> None:
    """Replace errors of topics that cannot be described by why they could not be created."""
    refusals = check_all(hidden, target) if hidden else []
    changed.take({}, {step.target: error for step, error in refusals})


def _make(new: Sequence[CreateTopic], target: Admin, changed: Changed) -> list[TopicName]:
    """Create topics; return those that somebody else has created meanwhile."""
    if not new:
        return []
    made = target.topics.create_all(map(_new, new))
    counts = {step.target: step.partitions for step in new if step.target in made}
    led = target.topics.wait_for_leaders(counts)
    changed.take({name: made[name] for name in led}, {**made.failed, **led.failed})
    return [name for name, error in made.failed.items() if is_there(error)]


def is_there(error: ClusterError) -> bool:
    """Return whether an error says that a topic with this name already exists."""
    return isinstance(error, RefusedError) and error.name == _MADE_MEANWHILE


def _grow(steps: Sequence[AddPartitions], target: Admin, changed: Changed) -> None:
    found = _look((step.target for step in steps), target, changed)
    counts: dict[TopicName, int] = {}
    for step in _hopeful(steps, changed):
        with changed.about(step.target):
            count = len(_there(step, found, _partitions(step.from_count)).partitions)
            if count != step.to_count:
                _require_partitions(step.target, step.from_count, found[step.target])
                counts[step.target] = step.to_count
            else:
                changed.done[step.target] = None
    if counts:
        grown = target.topics.grow_all(counts)
        changed.take(grown, grown.failed)


def _set(steps: Sequence[SetConfigs], target: Admin, changed: Changed) -> None:
    found = _look((step.target for step in steps), target, changed)
    own = _own(found, target)
    left: dict[TopicName, dict[str, str | None]] = {}
    for step in _hopeful(steps, changed):
        with changed.about(step.target):
            info = _there(step, found, _configs(step.before))
            if NO_TOPIC_ID not in (step.id, info.id):
                _require_id(step.target, step.id, info)
            wrong = _wrong(step, own.sure(step.target))
            if wrong:
                left[step.target] = wrong
            else:
                changed.done[step.target] = None
    if left:
        made = target.configs.change_all(left)
        changed.take(made, made.failed)


def _wrong(step: SetConfigs, there: Mapping[str, str]) -> dict[str, str | None]:
    """Return the changes still to be made, if all values are as they were when planned."""
    left = {key: v for key, v in step.changes.items() if not equal(key, there.get(key), v)}
    _require(step.target, there, {key: step.before.get(key) for key in left})
    return left


def _delete(steps: Sequence[DeleteTopic], target: Admin, changed: Changed) -> None:
    found = _look((step.target for step in steps), target, changed)
    for step in _hopeful(steps, changed):
        with changed.about(step.target):
            info = found.get(step.target)
            began = time.monotonic()
            if info is not None:
                _require_id(step.target, step.id, info)
                _require_partitions(step.target, step.partitions, info)
                target.topics.delete(step.target, step.id)
            changed.done[step.target] = None if info is None else time.monotonic() - began


def _hopeful(steps: Sequence[T], changed: Changed) -> list[T]:
    return [step for step in steps if step.target not in changed.failed]


def _there(step: AddPartitions | SetConfigs, found: _Found, expected: str) -> TopicInfo:
    if step.target not in found:
        raise StepOutdatedError(f"topic {step.target}", expected, _GONE)
    return found[step.target]


def _own(names: Iterable[TopicName], target: Admin) -> Answers[TopicName, dict[str, str]]:
    """Return the configs set on topics themselves."""
    found = target.configs.describe(names)
    return Answers({name: non_default(all_) for name, all_ in found.items()}, found.failed)


def _require_id(name: TopicName, number: TopicId, found: TopicInfo) -> None:
    """Raise if a topic has another id, or none: it may be another topic."""
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
            f"topic {name}", _configs(wrong), _configs({key: found[key] for key in wrong})
        )


def _configs(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"no {k} of its own" if v is None else f"{k}={v}" for k, v in values.items())


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
