"""What schemas lead to, compared on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from towpath.model.schemas import (
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectName,
)
from towpath.registry.registry import Registry
from towpath.schemas.answers import SchemaAnswers

DEPTH = 40


class Held:
    """The part of a registry that is asked for references."""

    def __init__(self, schemas: Mapping[SchemaVersion, Schema]) -> None:
        self.schemas, self.asked = schemas, 0

    def schema(self, at: SchemaVersion, *, deleted: bool) -> RegisteredSchema | None:
        assert deleted
        self.asked += 1
        return RegisteredSchema(at, SchemaId(1), self.schemas[at])


def at(level: int, side: str) -> SchemaVersion:
    return SchemaVersion(SubjectName(f"{side}{level}"), 1)


def lattice(end: str) -> dict[SchemaVersion, Schema]:
    """Return levels of two schemas, each of which refers to both of the next level."""
    made = {}
    for level in range(DEPTH):
        below = [at(level + 1, side) for side in "lr"] if level + 1 < DEPTH else []
        refs = tuple(SchemaReference(to.subject, to.subject, to.version) for to in below)
        for side in "lr":
            text = f'"{side}{level}{"" if below else end}"'
            made[at(level, side)] = Schema(text, references=refs)
    return made


def test_what_many_refer_to_is_compared_once() -> None:
    ours, same, other = (Held(lattice(end)) for end in ("x", "x", "y"))
    top = at(0, "l")
    with ThreadPoolExecutor(2) as pool:
        for theirs, told in ((same, ""), (other, "a schema whose references lead to others")):
            answers = SchemaAnswers(cast("Registry", ours), cast("Registry", theirs), pool)
            assert answers.difference(ours.schemas[top], theirs.schemas[top]) == told
            assert theirs.asked == 2 * (DEPTH - 1)
