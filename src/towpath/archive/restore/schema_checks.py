"""Problems with archived schemas that a restore's plan reports."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, suppress

from towpath.archive.config import RestoredSchemas
from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.either_format import read_object
from towpath.archive.log import Archive
from towpath.archive.model import Segment
from towpath.archive.restore.model import RestoreScope
from towpath.model.amounts import count, counted
from towpath.model.errors import ClusterError, StoreError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import SegmentFormat, TopicName
from towpath.model.schemas import READONLY, QualifiedName, qualified
from towpath.registry.reading import ReadRegistry
from towpath.registry.registry import Registry
from towpath.schemas.difference import Skip
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.steps import SCHEMAS, RegisterSchemas
from towpath.schemas.subject import PlacedDifference
from towpath.settings import SchemaIds

_LOOKED_AT = 200
"""Segments that are looked at; of more, some at random."""
_NAMED = 5
_COLUMN = "schema_id"
_TRANSLATE = "`restore.schemas.ids: translate`"
_OVERRIDE = "READONLY_OVERRIDE"
"""The mode of a registry that no mode of a subject overrules."""


def stopping(found: PlacedDifference, rules: RestoredSchemas) -> Iterator[Problem]:
    """Yield reasons why restored records would refer to a wrong or a missing schema.

    Args:
        found: What differs.
        rules: What the file says of schemas.
    """
    if rules.ids is not SchemaIds.KEEP:
        return
    if any(each.about == SCHEMAS and each.cause is not Cause.CLUSTER for each in found.problems):
        text = f"no id can be kept, as above: set {_TRANSLATE}, or name another registry"
        yield Problem(SCHEMAS, text, Cause.FILE)
        return
    wrong = sum(found.counts.get(("skipped", each), 0) for each in (Skip.ID, Skip.CONFLICT))
    if wrong:
        text = (
            f"the target has other schemas where {counted(wrong, 'archived version')} would be, so"
            " restored records would be read with these: use an empty registry, give the subjects"
            f" another name or context, or set {_TRANSLATE}"
        )
        yield Problem(SCHEMAS, text, Cause.FILE)


def of_registry(
    seen: ObservedSchemas,
    found: PlacedDifference,
    source: ReadRegistry,
    target: Registry,
    rules: RestoredSchemas,
) -> Iterator[Note | Problem]:
    """Yield the target's registry modes that block writes, and differing compatibilities.

    Args:
        seen: What the archive and the target have.
        found: What differs.
        source: The archived registry.
        target: The registry of the target.
        rules: What the file says of schemas.
    """
    if seen.trouble is not None:
        return
    contexts = {qualified(a).context: qualified(b).context for a, b in seen.wanted.items()}
    registers = any(isinstance(each, RegisterSchemas) for each in found.steps)
    with suppress(ClusterError):  # it answered a moment ago; what fails later is told then
        for context, there in sorted(contexts.items()):
            if registers:
                yield from _of_mode(there, target.settings.mode_within(there))
            if not rules.for_all:
                yield from _of_compatibility(context, there, source, target)


def _of_mode(context: str, mode: str | None) -> Iterator[Note | Problem]:
    if mode == _OVERRIDE:
        text = (
            f"the target's registry is {mode} in the context {context}, so it takes no schema:"
            " set its mode to READWRITE or IMPORT"
        )
        yield Problem(SCHEMAS, text, Cause.CLUSTER)
    elif mode == READONLY:
        text = (
            f"the target's registry is {mode} in the context {context}: each subject gets a mode of"
            " its own for the time in which its schemas are registered"
        )
        yield Note(SCHEMAS, text)


def _of_compatibility(
    context: str, there: str, source: ReadRegistry, target: Registry
) -> Iterator[Note]:
    had = source.settings.compatibility(QualifiedName(context, "").subject).compatibility
    has = target.settings.compatibility(QualifiedName(there, "").subject).compatibility
    if had is not None and had != has:
        text = (
            f"subjects of the context {context} without a compatibility of their own had {had} when"
            f" they were archived, and get {has or 'the default'} on the target;"
            " `restore.schemas.global: true` brings it back"
        )
        yield Note(SCHEMAS, text)


def unknown_ids(archive: Archive, scope: RestoreScope, known: Collection[int]) -> Iterator[Note]:
    """Yield a note for each topic whose records name schema ids that are not restored.

    Values that begin with a zero byte may be anything, so that stops nothing.

    Args:
        archive: The archive.
        scope: What is restored.
        known: The ids of the archived schemas that come back.
    """
    segments = [
        segment
        for topic in scope.topics.values()
        for part in topic.parts
        for segment in archive.segments(part.id, part.start, part.end)
        if segment.format is SegmentFormat.PARQUET and segment.place is not None
    ]
    some = segments
    if len(segments) > _LOOKED_AT:
        some = random.sample(segments, _LOOKED_AT)
        text = (
            f"schema ids of records were looked at in {count(_LOOKED_AT)} of"
            f" {count(len(segments))} segments, chosen at random"
        )
        yield Note("schemas", text)
    strange: defaultdict[TopicName, set[int]] = defaultdict(set)
    for segment, ids in zip(some, archive.log.store.threads.map(
        lambda each: _ids_of(archive, each), some), strict=True):  # fmt: skip
        strange[segment.topic] |= ids.difference(known)
    for topic, ids in sorted(strange.items()):
        if ids:
            named = ", ".join(map(str, sorted(ids)[:_NAMED]))
            text = (
                f"its values seem to name {counted(len(ids), 'schema id')} without a schema that"
                f" comes back ({named}): the archive has none as of this version, or the file"
                " leaves it out; if they do name schemas, nobody can read these records there"
            )
            yield Note(topic, text)


def _ids_of(archive: Archive, segment: Segment) -> set[int]:
    """Return the ids that the values of a segment name; none if it cannot be read now."""
    found: set[int] = set()
    place = segment.place
    if place is None:
        return found
    # What cannot be read is told by those who look for objects, and when it is restored.
    with suppress(StoreError, CorruptSegmentError, NewerSegmentError), ExitStack() as stack:
        file = stack.enter_context(closing(archive.open(place.key)))
        read = read_object(segment.format, file, place.key)
        for rows in read.rows(read.segment(place.first_row_group), columns=[_COLUMN]):
            found.update(rows.column(_COLUMN).drop_null().unique().to_pylist())
    return found
