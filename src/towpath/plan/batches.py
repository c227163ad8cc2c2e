"""Which steps are done together, and which are not done because of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from towpath.access.steps import CreateAcl, DeleteAcl, DeleteUser, SetUser
from towpath.model.acl import EVERY, Permission
from towpath.model.errors import StepHeldBackError, TowpathError
from towpath.plan.steps import Step, kind
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic

AT_ONCE = 100
"""Steps are done together up to so many; Ctrl-C is heard behind them."""
_PARTITIONS = 400
"""So many are made together; a small broker takes a second or two for them."""
_EVERYBODY = f"User:{EVERY}"


def batches(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Return steps in their order, those of a kind together.

    What denies is never done together with what allows: one of both must be done before.
    """
    for _, alike in groupby(steps, key=_alike):
        batch: list[Step] = []
        size = 0
        for step in alike:
            if batch and (len(batch) == AT_ONCE or size + _size(step) > _PARTITIONS):
                yield batch
                batch, size = [], 0
            batch.append(step)
            size += _size(step)
        yield batch


def _alike(step: Step) -> tuple[str, Permission | None]:
    return kind(step), step.acl.permission if isinstance(step, CreateAcl | DeleteAcl) else None


def _size(step: Step) -> int:
    match step:
        case CreateTopic():
            return step.partitions
        case AddPartitions():
            return step.to_count - step.from_count
        case SetUser() | DeleteUser() | DeleteTopic():
            return _PARTITIONS  # alone: each has requests of its own, and takes a while
        case _:
            return 1


def held_back(
    steps: Iterable[Step], failed: Iterable[tuple[Step, TowpathError]]
) -> dict[str, TowpathError]:
    """Return which steps would allow too much, as others failed that must be done before.

    Who is to be allowed something must have been denied what limits it; what limits somebody must
    stay until nothing is allowed any more.
    """
    before = [step for step, _ in failed if isinstance(step, CreateAcl | DeleteAcl)]
    return {
        step.about: StepHeldBackError(first.about, _DONE[type(first)])
        for step in (steps if before else ())
        if isinstance(step, CreateAcl | DeleteAcl)
        if (first := next((each for each in before if _limits(each, step)), None))
    }


_DONE = {CreateAcl: "created", DeleteAcl: "deleted"}
_FIRST = {CreateAcl: Permission.DENY, DeleteAcl: Permission.ALLOW}


def _limits(first: CreateAcl | DeleteAcl, step: CreateAcl | DeleteAcl) -> bool:
    """Whether a step must not be done without another one."""
    one, other = first.acl, step.acl
    return (
        type(first) is type(step)
        and one.permission is _FIRST[type(first)]
        and one.permission is not other.permission
        and (one.principal == other.principal or _EVERYBODY in {one.principal, other.principal})
        and one.meets(other)
    )
