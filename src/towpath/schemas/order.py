"""The registration order: referenced schemas first, older versions first. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from towpath.model.schemas import SchemaVersion, SubjectName
from towpath.schemas.observed_schemas import Versions

Wave = Mapping[SubjectName, tuple[int, ...]]
"""Versions that can be registered together, of each subject the oldest first."""


def waves(
    todo: Mapping[SubjectName, Sequence[int]], versions: Versions, most: int
) -> tuple[list[Wave], dict[SubjectName, tuple[int, ...]]]:
    """Return versions in waves of registration, and those that can never be registered.

    A version needs the older ones of `todo` in its subject, and all versions that it refers to. It
    comes in a later wave than what it needs of other subjects.

    Args:
        todo: The versions to register, by subject, in ascending order.
        versions: All versions at the source.
        most: The most versions of a subject in one wave.
    """
    left = {subject: list(numbers) for subject, numbers in todo.items() if numbers}
    open_ = {SchemaVersion(subject, n) for subject, numbers in left.items() for n in numbers}
    found: list[Wave] = []
    while left:
        wave = {
            subject: now
            for subject, numbers in left.items()
            if (now := _ready(subject, numbers, versions, open_, most))
        }
        if not wave:
            break
        found.append(wave)
        for subject, now in wave.items():
            open_ -= {SchemaVersion(subject, number) for number in now}
            left[subject] = left[subject][len(now) :]
            if not left[subject]:
                del left[subject]
    return found, {subject: tuple(numbers) for subject, numbers in left.items()}


def _ready(
    subject: SubjectName,
    numbers: Sequence[int],
    versions: Versions,
    open_: Collection[SchemaVersion],
    most: int,
) -> tuple[int, ...]:
    """Return the first versions of a subject whose references are there."""
    ready: list[int] = []
    own: set[SchemaVersion] = set()
    for number in numbers[:most]:
        needs = {each.to for each in versions[subject][number].references}
        if any(each in open_ and each not in own for each in needs):
            break
        ready.append(number)
        own.add(SchemaVersion(subject, number))
    return tuple(ready)


def cycle(
    left: Mapping[SubjectName, Sequence[int]], versions: Versions
) -> tuple[SchemaVersion, ...]:
    """Return versions that reference each other in a cycle, none if there is no cycle.

    Args:
        left: The versions that can never be registered.
        versions: All versions at the source.
    """
    open_ = {SchemaVersion(subject, n) for subject, numbers in left.items() for n in numbers}
    at, path = min(open_, default=None), list[SchemaVersion]()
    while at is not None and at not in path:
        path.append(at)
        needs = [each.to for each in versions[at.subject][at.version].references]
        older = [SchemaVersion(at.subject, n) for n in left[at.subject] if n < at.version]
        at = next((each for each in (*needs, *older) if each in open_), None)
    return () if at is None else tuple(path[path.index(at) :])
