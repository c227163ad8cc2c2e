"""Types of JSON outputs: how their schemas are made, and types that several outputs share."""

from __future__ import annotations

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from towpath.model.deleted import DeletedRecords

shape = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
"""Decorator of a `TypedDict` that describes a JSON object without further keys."""


@shape
class DeletedJson(TypedDict):
    """Records that the target deleted and the source still has."""

    first: int
    """The source offset of the first one."""
    end: int
    """The source offset after the last one."""
    records: int
    exact: bool
    """Whether they were counted; otherwise `records` is an upper bound."""
    due: int
    """How many of them the source's own retention deletes soon."""
    why: list[str]
    """What deleted them: configs or requests."""
    foretold: bool
    meant: bool
    """Whether the file or an option allows it."""


def deleted_as_json(found: DeletedRecords) -> DeletedJson:
    """Return records that the target deleted for programs."""
    return DeletedJson(
        first=found.first,
        end=found.end,
        records=found.records,
        exact=found.exact,
        due=found.due,
        why=list(map(str, found.why)),
        foretold=found.foretold,
        meant=found.meant,
    )
