"""The table of schema id decisions, which compiled loops search.

An id is a number (Confluent's wire format), or a UUID: Glue's schema version id, or the GUID that
newer serializers write to a header. An id that the table does not have is not decided yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from towpath.model.reasons import ReasonCode
from towpath.wire.batch import Table
from towpath.wire.loops import inlined

SchemaName = int | UUID
"""How a record names its schema: by a number, or by a UUID."""

NUMBER, UUID_ = range(2)
"""Kinds of ids."""
NONE, PASSES, BECOMES_NUMBER, BECOMES_UUID = range(4)
"""Decisions. `NONE`: no schema that the topic may use has this id."""
KIND, HIGH, LOW, DECISION, TO_HIGH, TO_LOW, CAUSE = range(7)
"""Columns of a table of ids, which is sorted by the first three. A number is in `LOW`. `CAUSE` is
the number of the cause for which an id passes, 0 if it is the same on both sides."""
COLUMNS = 7
CAUSES = (
    ReasonCode.ERROR,
    ReasonCode.SCHEMA_ID_ABSENT,
    ReasonCode.SCHEMA_ID_ELSEWHERE,
    ReasonCode.SCHEMA_ID_LEFT_OUT,
    ReasonCode.SCHEMA_ID_NOT_REGISTERED,
    ReasonCode.SCHEMA_ID_NOT_GIVEN,
    ReasonCode.SCHEMAS_UNSEEN,
    ReasonCode.SCHEMA_ID_UNANSWERED,
)
"""Why ids pass unchanged that have no id on the target; the first is any other cause."""

_HALF = 1 << 64


@dataclass(frozen=True, slots=True)
class IdTable:
    """The schema id decisions of one topic.

    Attributes:
        key: Rows for ids of keys, with the columns above.
        value: Rows for ids of values.
    """

    key: Table
    value: Table

    @classmethod
    def of(
        cls,
        key: Mapping[SchemaName, SchemaName | None] | None = None,
        value: Mapping[SchemaName, SchemaName | None] | None = None,
        passing: Mapping[SchemaName, ReasonCode] | None = None,
    ) -> IdTable:
        """Make a table of decisions from mappings of schema ids.

        Args:
            key: What each id of a key becomes: another id, itself if it passes unchanged, `None` if
                no schema that the topic may use has this id.
            value: The same for ids of values.
            passing: Why ids pass unchanged that have no id on the target.
        """
        return cls(_rows(key or {}, passing or {}), _rows(value or {}, passing or {}))


def name_of(kind: int, high: int, low: int) -> SchemaName:
    """Return the schema id of a table row."""
    return low if kind == NUMBER else UUID(int=(high % _HALF) << 64 | low % _HALF)


def _rows(
    decisions: Mapping[SchemaName, SchemaName | None], passing: Mapping[SchemaName, ReasonCode]
) -> Table:
    rows = np.empty((len(decisions), COLUMNS), np.int64)
    for row, (name, becomes) in zip(rows, decisions.items(), strict=True):
        row[:DECISION] = _columns(name)
        row[DECISION:CAUSE] = _decision(name, becomes)
        row[CAUSE] = _cause(passing[name]) if name in passing else 0
    return rows[np.lexsort((rows[:, LOW], rows[:, HIGH], rows[:, KIND]))]


def _columns(name: SchemaName) -> tuple[int, int, int]:
    if isinstance(name, UUID):
        return UUID_, _signed(name.int >> 64), _signed(name.int % _HALF)
    return NUMBER, 0, name


def _decision(name: SchemaName, becomes: SchemaName | None) -> tuple[int, int, int]:
    if becomes is None or becomes == name:
        return NONE if becomes is None else PASSES, 0, 0
    kind, high, low = _columns(becomes)
    return BECOMES_NUMBER if kind == NUMBER else BECOMES_UUID, high, low


def _cause(code: ReasonCode) -> int:
    return CAUSES.index(code) + 1 if code in CAUSES else 1


def _signed(half: int) -> int:
    return half - _HALF if half >= _HALF >> 1 else half


@inlined
def _before(row: Any, kind: Any, high: Any, low: Any) -> Any:
    """Whether a row comes before an id."""
    if row[KIND] != kind:
        return row[KIND] < kind
    return row[HIGH] < high if row[HIGH] != high else row[LOW] < low


@inlined
def find(table: Any, kind: Any, high: Any, low: Any, hint: Any) -> Any:
    """Return the row of a schema id, or -1, trying row `hint` first."""
    if hint < len(table):
        row = table[hint]
        if row[LOW] == low and row[HIGH] == high and row[KIND] == kind:
            return hint
    first, last = np.int64(0), np.int64(len(table))
    while first < last:
        middle = (first + last) >> 1
        if _before(table[middle], kind, high, low):
            first = middle + 1
        else:
            last = middle
    if first < len(table):
        row = table[first]
        if row[LOW] == low and row[HIGH] == high and row[KIND] == kind:
            return first
    return np.int64(-1)
