"""The state of schema ids in records as JSON."""

from __future__ import annotations

from towpath.cli.show.shapes import AwaitedJson, SchemaIdsJson
from towpath.schemas.ids_standing import IdsStanding


def ids_as_json(found: IdsStanding) -> SchemaIdsJson:
    """Return the state of schema ids in records, for programs."""
    return SchemaIdsJson(
        translated=found.translated,
        untranslated=dict(found.untranslated),
        awaited=[
            AwaitedJson(
                topic=each.topic,
                partition=each.partition,
                since=each.at,
                keys=list(each.keys),
                values=list(each.values),
            )
            for each in found.awaited
        ],
    )
