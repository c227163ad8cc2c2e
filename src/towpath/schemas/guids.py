"""Schema GUIDs, which newer serializers write to headers, and their translation."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from towpath.ledger.books.ids import SchemaName
from towpath.model.schemas import SchemaId
from towpath.registry.reading import ReadRegistry
from towpath.registry.registry import Registry


def guid_on_target(
    guid: UUID,
    source: ReadRegistry,
    target: Registry,
    becomes: Callable[[SchemaId], SchemaName | None],
) -> UUID | None:
    """Return the target's GUID for a schema of the source, `None` if it has none.

    A GUID follows from the content. So it is the same on both sides, unless the schema had to be
    changed for the target: other names of references, no metadata.

    Args:
        guid: The GUID at the source.
        source: The registry of the source.
        target: The registry of the target.
        becomes: Returns the id on the target for one of the source, `None` if none is known.

    Raises:
        ClusterError: A registry cannot be asked.
    """
    ours = source.by_guid(str(guid))
    if ours is None:
        return None
    for number in source.ids_of_guid(str(guid)):
        there = becomes(number)
        found = target.guid_of(SchemaId(there)) if isinstance(there, int) else None
        if found is not None:
            return found
    theirs = target.by_guid(str(guid))
    return guid if theirs is not None and theirs.body == ours.body else None
