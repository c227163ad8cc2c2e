"""Differences between two registries, collected during the comparison. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.model.findings import Cause, Note, Problem
from towpath.model.schemas import SchemaVersion, SubjectName
from towpath.schemas.steps import SchemaStep


class Skip(StrEnum):
    """The reasons to leave out a subject, a version or a setting; metrics count them."""

    REGISTRY = "registry"
    """A registry cannot be looked at, so nothing is known."""
    UNREAD = "unread"
    """A registry does not tell of a subject, or of what is set for it."""
    NAME = "name"
    """It has no name on the target, or the name of another one."""
    REFERENCE = "reference"
    """What it refers to is not there, or refers to it in a circle."""
    PARTS = "parts"
    """The file says `fail` for parts that it has."""
    ID = "id"
    """Its id is another schema's on the target, or the target keeps no ids."""
    CONFLICT = "conflict"
    """The target has something else in its place."""
    DELETED = "deleted"
    """It is soft-deleted on the target."""


@dataclass(slots=True)
class SchemaDifference:
    """Differences between two registries: steps, notes, problems and skipped parts.

    Attributes:
        steps: Steps that remove the difference.
        notes: Facts that a person should know.
        problems: What cannot be made the same, and why.
        places: Where the versions of the source are on the target.
        skipped: How many problems there are, by reason.
        stuck: Subjects of the source of which nothing can be brought over.
    """

    steps: list[SchemaStep] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    places: dict[SchemaVersion, SchemaVersion] = field(default_factory=dict)
    skipped: Counter[Skip] = field(default_factory=Counter)
    stuck: set[SubjectName] = field(default_factory=set)

    def note(self, about: str, text: str) -> None:
        """Add a note."""
        self.notes.append(Note(about, text))

    def problem(self, about: str, text: str, skip: Skip, cause: Cause = Cause.SUBJECT) -> None:
        """Add a problem: something that cannot be made the same on the target."""
        self.skipped[skip] += 1
        self.problems.append(Problem(about, text, cause))
