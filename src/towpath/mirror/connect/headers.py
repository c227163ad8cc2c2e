"""Headers that a file adds to each record, as those of a link. Pure.

A value is one of what differs between records, alone, or a text that is the same for each record of
a topic. Metadata that a mapping sets is what its expression says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from towpath.bloblang.nodes import MetadataOf, Method, Node, Statement, with_metadata
from towpath.bloblang.show import template_text
from towpath.bloblang.template import TextTemplate
from towpath.mirror.connect.metadata import NONE_SET, metadata_of, set_by
from towpath.model.foreign import foreign
from towpath.settings.naming import TOPIC_METADATA, template_of
from towpath.settings.shape import Placed

_OF = {
    TOPIC_METADATA: "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_timestamp_ms": "timestamp",
}
"""The metadata of a record that a header may have alone."""
_INSTEAD = {
    "kafka_timestamp_unix": "use @kafka_timestamp_ms, which a header can be",
    "kafka_key": "keys go over as they are",
    "kafka_lag": "it differs each time a record is read; `towpath status` shows the lag",
    "": "name what you need of it, such as @kafka_topic",
}


@dataclass(frozen=True, slots=True)
class AddedHeaders:
    """The headers of a file.

    Attributes:
        headers: What a link's file says of them.
        problems: Those that no link can write, by place in Connect's file.
        notes: What is different from Connect, in sentences.
    """

    headers: tuple[dict[str, Any], ...]
    problems: tuple[Placed, ...]
    notes: tuple[str, ...]


def added_headers(
    given: Mapping[str, str], mappings: Sequence[Sequence[Statement]], taken: set[str]
) -> AddedHeaders:
    """Return the headers of a file.

    Args:
        given: Names, each with its text with expressions.
        mappings: The mappings that records go through, which may set metadata.
        taken: Names of the migrator's own headers.
    """
    known = NONE_SET
    for each in mappings:
        known = set_by(each, known)
    made: list[dict[str, Any]] = []
    problems: list[Placed] = []
    notes = [
        f"`meta {name} = ...` has no effect: {_NOT_MIGRATED}" for name in _unused(given, mappings)
    ]
    for name, text in given.items():
        if name in taken:
            notes.append(f"the header {name} is the migrator's own; its value stays that")
            continue
        try:
            made.append({"name": name, **_value(template_of(text), text, known)})
        except ValueError as error:
            place = ("output", "redpanda_migrator", "headers", name)
            problems.append(Placed(place, foreign(error)))
    return AddedHeaders(tuple(made), tuple(problems), tuple(notes))


_NOT_MIGRATED = "metadata is not migrated, and nothing asks for it"


def _unused(given: Mapping[str, str], mappings: Sequence[Sequence[Statement]]) -> Iterator[str]:
    """Yield the metadata that mappings set and nobody asks for."""
    set_here = [pair for statements in mappings for pair in metadata_of(statements)]
    asked = {name for text in given.values() for name in template_of(text).metadata}
    asked |= TextTemplate(tuple(each.value for every in mappings for each in every)).metadata
    return (name for name in dict.fromkeys(name for name, _ in set_here) if name not in asked)


def _value(template: TextTemplate, text: str, known: Mapping[str, Node]) -> dict[str, str]:
    """Return what a link's file says of the value of a header.

    Raises:
        ValueError: No header of a link has this value.
    """
    parts = tuple(p if isinstance(p, str) else with_metadata(p, known) for p in template.parts)
    made = TextTemplate(parts)
    if of := _alone(parts):
        return {"of": of}
    _require_of_topic(made)
    if not made.metadata:
        return {"value": made.text_of({})}
    return {"template": text if parts == template.parts else template_text(parts)}


def _alone(parts: Sequence[str | Node]) -> str | None:
    """Return the content of a header that is one thing of the record, `None` for others."""
    match parts:
        case [MetadataOf(name)] | [Method(MetadataOf(name), "string", ())]:
            return _OF.get(name)
        case _:
            return None


def _require_of_topic(made: TextTemplate) -> None:
    """Raise if a value is not the same for each record of a topic.

    Raises:
        ValueError: It is not.
    """
    if made.reads_content:
        raise ValueError("asks for the content of records, which is not read here")
    for name in sorted(made.metadata - {TOPIC_METADATA}):
        asked = f"@{name}" if name else "all metadata"
        if name in _OF:
            why = f"is possible alone: give ${{! {asked} }} a header of its own"
        elif not name.startswith("kafka_") and name:
            why = "is a header of the record, which goes over as it is under its own name"
        else:
            why = f"is not known here; {_INSTEAD.get(name, f'a header can be {_known()}')}"
        raise ValueError(f"asks for {asked}, which {why}")


def _known() -> str:
    return ", ".join(f"@{name}" for name in _OF)
