"""The steps of all subjects, and their form in JSON: in saved plans, and in the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from towpath.access import steps as access
from towpath.model.acl import Permission
from towpath.model.errors import ConfigError, Problem
from towpath.topics import steps as topics

Step = topics.Step | access.Step
Key = tuple[str, str, str, str]
"""What the journal knows a step by."""
_SHOWN = 60
"""Of a value that is no good, so many characters are shown."""

_KINDS: tuple[type[Step], ...] = (
    topics.CreateTopic,
    topics.AddPartitions,
    topics.SetConfigs,
    access.SetUser,
    access.SetQuota,
    access.CreateAcl,
    access.DeleteAcl,
    access.RemoveQuota,
    access.DeleteUser,
    topics.DeleteTopic,
)
"""In the order in which they are done: what others need first, and removals last."""

REMOVALS = (access.DeleteAcl, access.RemoveQuota, access.DeleteUser, topics.DeleteTopic)
"""Those that take something away from the target."""

_READERS: Mapping[str, TypeAdapter[Step]] = {k.__name__: TypeAdapter(k) for k in _KINDS}
"""What reads steps of each kind, made once: a ledger may hold thousands."""
SUBJECTS = tuple(dict.fromkeys(kind.subject for kind in _KINDS))
"""What a plan is about, in the order of its steps."""


def kind(step: Step) -> str:
    """Return the name of what a step does."""
    return type(step).__name__


def key(step: Step) -> Key:
    """Return what the journal knows a step by: subject, name, kind, and which settings."""
    part = ",".join(sorted(step.before)) if isinstance(step, topics.SetConfigs) else ""
    return step.subject, step.about, kind(step), part


def blamed(step: Step) -> str:
    """Return what a step's failure is told of: topics by their names at the source."""
    return str(getattr(step, "source", step.about))


def ordered(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps in the order in which they are done; those of a kind stay as they came.

    What is denied is denied before anything is there that it is about.
    """
    return tuple(sorted(steps, key=lambda step: (not _denies(step), _KINDS.index(type(step)))))


def _denies(step: Step) -> bool:
    return isinstance(step, access.CreateAcl) and step.acl.permission is Permission.DENY


def as_data(step: Step) -> dict[str, Any]:
    """Return a step for JSON."""
    return {"do": kind(step), "subject": step.subject, **asdict(step)}


def from_data(data: Mapping[str, Any], path: str) -> Step:
    """Return the step that `as_data` made this of.

    Args:
        data: From JSON.
        path: Where it stands in a file, for errors.

    Raises:
        ConfigError: It is no step that this program knows.
    """
    known = _READERS.get(str(data.get("do")))
    if known is None:
        text = f"{data.get('do')!r} is no step that this Towpath knows; use the one that planned it"
        raise ConfigError((Problem(path, text),))
    fields = {key: value for key, value in data.items() if key not in {"do", "subject"}}
    try:
        return known.validate_python(fields)
    except ValidationError as error:
        problems = (
            Problem(".".join((path, *map(str, each["loc"]))), _unknown(each))
            for each in error.errors(include_url=False)
        )
        raise ConfigError(tuple(problems)) from error


def _unknown(found: ErrorDetails) -> str:
    if found["type"] == "missing":
        return "is missing; make the plan again"
    value = repr(found["input"])[:_SHOWN]
    return f"{value} is nothing that this Towpath knows; use the one that planned it"
