"""Conditions of a query that a table may use to read less."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Relation(StrEnum):
    """How a column relates to a value."""

    EQUAL = "="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="
    AMONG = "in"


@dataclass(frozen=True, slots=True)
class ColumnBound:
    """A condition that each wanted row meets; all bounds of a query hold together.

    Attributes:
        column: Name of the column.
        relation: How the column relates to the value.
        value: An int, a text, bytes or a `datetime`; a tuple of them for `Relation.AMONG`.
    """

    column: str
    relation: Relation
    value: Any
