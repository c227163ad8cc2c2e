"""Answers of both registries about schema ids, requested once each, and compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import Executor, Future

from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.nouns import Side
from towpath.model.schemas import DEFAULT_CONTEXT, Schema, SchemaId, SchemaVersion
from towpath.registry.reading import ReadRegistry

RecordId = int | str
"""The id of a schema in a record: a number, or a GUID as text."""
Asking = tuple[RecordId, str]
"""An id and its context; each context has its own ids."""
_DEEPEST = 64
"""References that go deeper are a circle."""


class _Asked:
    """Asks one registry. Once it is out of reach, it is not asked again."""

    def __init__(self, registry: ReadRegistry, pool: Executor) -> None:
        self._registry, self._pool = registry, pool
        self._ids: dict[Asking, Future[Schema | None]] = {}
        self._versions: dict[SchemaVersion, Schema | None] = {}
        self._digests: dict[SchemaVersion, str] = {}
        self._away: UnreachableError | None = None

    def ask(self, ids: Iterable[Asking]) -> None:
        for each in ids:
            if each not in self._ids:
                self._ids[each] = self._pool.submit(self._by_id, *each)

    def by_id(self, asking: Asking) -> Schema | None:
        self.ask([asking])
        return self._ids[asking].result()

    def _by_id(self, name: RecordId, context: str) -> Schema | None:
        if self._away is not None:
            raise self._away
        try:
            if isinstance(name, int):
                return self._registry.by_id(SchemaId(name), context)
            return self._registry.by_guid(name)
        except UnreachableError as error:
            self._away = error
            raise

    def _version(self, at: SchemaVersion) -> Schema | None:
        if at not in self._versions:
            found = self._registry.schema(at, deleted=True)
            self._versions[at] = found.schema if found is not None else None
        return self._versions[at]

    def whole(self, schema: Schema | None, depth: int = 0) -> str:
        """Return a digest of a schema with all its references, whatever their subjects are."""
        if schema is None or depth > _DEEPEST:
            return ""
        parts = [(each.name, self._whole(each.to, depth + 1)) for each in schema.references]
        return hashlib.sha256(json.dumps([schema.body, sorted(parts)]).encode()).hexdigest()

    def _whole(self, at: SchemaVersion, depth: int) -> str:
        # Once for each: many may refer to the same one, at each level.
        if at not in self._digests:
            self._digests[at] = self.whole(self._version(at), depth)
        return self._digests[at]


class SchemaAnswers:
    """The answers of both registries about schema ids.

    Args:
        source: The registry of the source.
        target: The registry of the target.
        pool: Asks several things at once.
    """

    def __init__(self, source: ReadRegistry, target: ReadRegistry, pool: Executor) -> None:
        self._registries = {Side.SOURCE: source, Side.TARGET: target}
        self._asked = {side: _Asked(each, pool) for side, each in self._registries.items()}

    @property
    def requests(self) -> int:
        """Number of requests sent to both registries so far."""
        return sum(each.requests for each in self._registries.values())

    def ask(self, side: Side, ids: Iterable[Asking]) -> None:
        """Start to request ids, several at once."""
        self._asked[side].ask(ids)

    def by_id(self, side: Side, name: RecordId, context: str = DEFAULT_CONTEXT) -> Schema | None:
        """Return the schema with an id, `None` if there is none.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        return self._asked[side].by_id((name, context))

    def difference(self, source: Schema, target: Schema) -> str:
        """Return the difference of two schemas for a deserializer, "" if there is none.

        What a schema refers to may have another subject and version on the target.

        Raises:
            ClusterError: A registry cannot be asked for a reference.
        """
        if source.body != target.body:
            return "another schema"
        ours, theirs = self._asked[Side.SOURCE], self._asked[Side.TARGET]
        same = ours.whole(source) == theirs.whole(target)
        return "" if same else "a schema whose references lead to others"

    def users(self, side: Side, name: RecordId) -> tuple[SchemaVersion, ...]:
        """Return the versions that use a schema id; none if the registry does not reveal them."""
        try:
            known = isinstance(name, int)
            return self._registries[side].users(SchemaId(int(name))) if known else ()
        except ClusterError:
            return ()
