"""Does steps, each only while the target is as the step requires it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import RefusedError, TowpathError
from towpath.model.nouns import TopicName
from towpath.model.outcome import Outcome
from towpath.topics.errors import StepOutdatedError
from towpath.topics.steps import AddPartitions, CreateTopic, Step

_MADE_MEANWHILE = "TOPIC_ALREADY_EXISTS"


def apply_all(steps: Iterable[Step], target: Admin) -> Outcome[Step]:
    """Do each step, whatever becomes of the others; failures are listed by source topic."""
    done: list[Step] = []
    failed: dict[str, TowpathError] = {}
    for step in steps:
        try:
            apply(step, target)
            done.append(step)
        except TowpathError as error:
            failed[step.source] = error
    return Outcome(tuple(done), failed)


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
        case _:
            assert_never(step)


def check(step: Step, target: Admin) -> None:
    """Let the target check a step without doing it.

    Raises:
        ClusterError: The target cannot be asked, or would refuse.
    """
    match step:
        case CreateTopic():
            _make(step, target, validate_only=True)
            # A login that may create a topic need not be allowed to see it.
            _look(step.target, target)
        case AddPartitions():
            target.add_partitions(step.target, step.to_count, validate_only=True)
        case _:
            assert_never(step)


def _look(name: TopicName, target: Admin) -> TopicInfo | None:
    found = target.topics([name]).get(name)
    if found is not None and found.error is not None:
        raise found.error
    return found


def _look_for_copy(step: CreateTopic, target: Admin) -> TopicInfo | None:
    try:
        return _look(step.target, target)
    except RefusedError:
        # Where the login may not even look, it may lack more, which helps more to know.
        check(step, target)
        raise


def _make(step: CreateTopic, target: Admin, *, validate_only: bool = False) -> TopicInfo | None:
    """Create the topic; return the one that was there already, if any."""
    try:
        target.create_topic(
            step.target, step.partitions, step.replication_factor, step.configs,
            validate_only=validate_only,
        )  # fmt: skip
    except RefusedError as error:
        if error.name != _MADE_MEANWHILE:
            raise
        return _look(step.target, target)
    return None


def _create(step: CreateTopic, found: TopicInfo | None, target: Admin) -> None:
    if found is None:
        found = _make(step, target)
    if found is not None:
        _require_partitions(step.target, step.partitions, found)
        _require_configs(step, target)


def _grow(step: AddPartitions, found: TopicInfo | None, target: Admin) -> None:
    if found is None:
        raise StepOutdatedError(step.target, _partitions(step.from_count), "none: it is gone")
    if len(found.partitions) != step.to_count:
        _require_partitions(step.target, step.from_count, found)
        target.add_partitions(step.target, step.to_count)


def _require_partitions(name: TopicName, count: int, found: TopicInfo) -> None:
    if len(found.partitions) != count:
        raise StepOutdatedError(name, _partitions(count), _partitions(len(found.partitions)))


def _require_configs(step: CreateTopic, target: Admin) -> None:
    there = target.configs([step.target]).sure(step.target) if step.configs else {}
    for key, value in step.configs.items():
        found = there[key].value if key in there else None
        if found != value:
            raise StepOutdatedError(step.target, f"{key}={value}", f"{key}={found}")


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
