"""The subjects of a schema registry that the records of a topic may refer to. Pure."""

from __future__ import annotations

from towpath.model.changes import Framing, IdChange, SubjectStrategy
from towpath.model.schemas import qualified

KEY, VALUE = "key", "value"
"""The parts of a record that name schemas."""
GIVEN = ""
"""Stands for a subject where the file itself says which id becomes which."""


def may_use(strategy: SubjectStrategy, topic: str, part: str, subject: str) -> bool:
    """Return whether the keys or values of a topic may refer to a subject's schemas.

    The context of the subject does not count, as records do not tell theirs.

    Args:
        strategy: How subjects are named.
        topic: The topic at the source.
        part: `key` or `value`.
        subject: The name of the subject at the source, with its context if it has one.
    """
    name = qualified(subject).name
    match strategy:
        case SubjectStrategy.TOPIC:
            return name == f"{topic}-{part}"
        case SubjectStrategy.TOPIC_RECORD:
            return name.startswith(f"{topic}-")
        case SubjectStrategy.RECORD:
            return True


def has_ids(change: IdChange, part: str) -> bool:
    """Return whether ids of keys or values are rewritten."""
    return (change.key if part == KEY else change.value) is not None


def strategy_of(change: IdChange, part: str) -> SubjectStrategy | None:
    """Return the naming rule for subjects of keys or values, `None` if the file gives the ids."""
    if change.framing is not Framing.CONFLUENT:
        return None
    return change.key if part == KEY else change.value
