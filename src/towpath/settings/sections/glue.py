"""The id map of AWS Glue in the file, over all sections of `changes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from towpath.model.changes import Framing
from towpath.settings.sections.changes import ChangesConfig
from towpath.settings.shape import Place, Placed, path_text

GlueId = int | UUID
"""An id as records have it: Glue's schema version id, or the number of the other registry."""


def given_ids(sections: Iterable[ChangesConfig]) -> dict[GlueId, GlueId]:
    """Return the id map that the file itself gives."""
    return {name: becomes for _, name, becomes in _entries(sections)}


def two_answers(sections: Iterable[ChangesConfig]) -> Iterator[Placed]:
    """Yield contradictory entries for an id, as records of all topics share the map."""
    known: dict[GlueId, tuple[Place, GlueId]] = {}
    for place, name, becomes in _entries(sections):
        first, other = known.setdefault(name, (place, becomes))
        if other != becomes and first[0] != place[0]:  # those of one section are told there
            what = "UUID" if isinstance(name, UUID) else "id"
            yield Placed(
                place,
                f"gives {what} {name} the answer {becomes}, and"
                f" {path_text(('changes', *first[:-1]))} gives it {other}; all topics of a link"
                " share one map, so correct one of both, or mirror these topics by another link",
            )


def _entries(sections: Iterable[ChangesConfig]) -> Iterator[tuple[Place, GlueId, GlueId]]:
    """Yield each entry: its place below `changes`, the id, and what it becomes."""
    for index, section in enumerate(sections):
        ids = getattr(section, "ids", None)  # which may be wrong, as may be what is below
        framing = getattr(ids, "framing", Framing.CONFLUENT)
        for name, number in getattr(ids, "glue", {}).items():
            place: Place = (index, "ids", "glue", name)
            if framing is Framing.FROM_GLUE:
                yield place, UUID(name), number
            elif framing is Framing.TO_GLUE:
                yield place, number, UUID(name)
