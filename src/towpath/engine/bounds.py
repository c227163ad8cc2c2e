"""Query conditions that let a table skip data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Relation(StrEnum):
    """The comparisons between a column and a value."""

    EQUAL = "="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="
    AMONG = "in"


@dataclass(frozen=True, slots=True)
class ColumnBound:
    """A condition on a column that every row of a query's result meets.

    Attributes:
        column: Name of the column.
        relation: How the column relates to the value.
        value: An int, a text, bytes or a `datetime`; a tuple of them for `Relation.AMONG`.
    """

    column: str
    relation: Relation
    value: Any
