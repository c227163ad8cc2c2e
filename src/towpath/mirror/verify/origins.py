"""The source ids for schema ids in the target's records. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from uuid import UUID

from towpath.ledger.books.ids import IdBooks, SchemaName
from towpath.model.changes import Framing, RecordChange
from towpath.model.nouns import TopicName
from towpath.model.subjects import has_ids, strategy_of
from towpath.schemas.answers import RecordId
from towpath.wire.naming import Part


@dataclass(frozen=True, slots=True)
class IdOrigin:
    """The origin of a schema id on the target.

    Attributes:
        ids: The ids at the source; several if the target has one id for them.
        foreign: Whether the ledger has decided that this number is no id of a schema that records
            of the topic may name, so that it passed unchanged. Both can be true of one number: one
            record had another id at the source, and another record had this number.
        given: Whether the file says which id it is, so that the source's registry knows nothing.
    """

    ids: tuple[RecordId, ...]
    foreign: bool = False
    given: bool = False


@dataclass
class IdOrigins:
    """Looks up the source ids for schema ids on the target.

    Attributes:
        changes: What digests of changes stand for.
        books: The decisions of the ledger.
    """

    changes: Mapping[str, RecordChange] = field(default_factory=dict)
    books: IdBooks = field(default_factory=IdBooks)

    def __post_init__(self) -> None:
        self._decisions = cache(self._decided)

    def of(self, topic: TopicName, part: Part, name: RecordId, change: str) -> IdOrigin:
        """Return the origin of a schema id on the target.

        Args:
            topic: The source topic.
            part: The part of the records.
            name: The id on the target.
            change: The digest of the change under which the records were copied.
        """
        known = self.changes.get(change)
        ids = known.ids if known is not None else None
        if ids is None or not has_ids(ids, part):
            return IdOrigin((name,))
        if ids.framing is Framing.FROM_GLUE:
            return IdOrigin((), given=True)
        before, no_ids = self._decisions(topic, part, change)
        own = _name(name)
        foreign = own in no_ids
        if own not in before:
            return IdOrigin((name,), foreign)
        named = {*map(_written, before[own]), *([name] if foreign else ())}
        return IdOrigin(tuple(sorted(named, key=str)), foreign)

    def _decided(
        self, topic: TopicName, part: Part, change: str
    ) -> tuple[dict[SchemaName, list[SchemaName]], set[SchemaName]]:
        ids = self.changes[change].ids
        assert ids is not None  # noqa: S101  # `of` has looked
        before, no_ids = dict[SchemaName, list[SchemaName]](), set[SchemaName]()
        decisions = self.books.decisions(strategy_of(ids, part), topic, part)
        for name, becomes in decisions.items():
            if becomes is None:
                no_ids.add(name)
            else:
                before.setdefault(becomes, []).append(name)
        return before, no_ids


def _name(written: RecordId) -> SchemaName:
    return UUID(written) if isinstance(written, str) else written


def _written(name: SchemaName) -> RecordId:
    return str(name) if isinstance(name, UUID) else name
