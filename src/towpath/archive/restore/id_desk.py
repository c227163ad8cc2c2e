"""The desk that answers restore slices which meet schema ids unknown to the target.

All that both sides have in common is in the ledger before the first record. So an id without a
decision belongs to no schema that came back. A restore that follows its archive waits for a later
version, which may have the schema (docs/decisions/0064).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from towpath.ledger.books.ids import SchemaName
from towpath.ledger.entries import DecidedIds, RefusedIds
from towpath.ledger.link import OpenTarget
from towpath.model.changes import IdChange, SubjectStrategy
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.schemas.awaited import IdAnswers
from towpath.schemas.ids import Pairs, registered, undecided, why_unknown
from towpath.schemas.observed_schemas import ObservedSchemas

_NOT_LOOKED = Reason.of(ReasonCode.SCHEMAS_UNSEEN, why="they were not looked at yet")
HasGuid = Callable[[UUID], bool]


@dataclass(frozen=True, slots=True)
class SeenSchemas:
    """The state of both registries after the last restore of schemas.

    Attributes:
        seen: The archived registry and that of the target.
        troubles: What keeps subjects from the target, by their names on either side.
    """

    seen: ObservedSchemas
    troubles: Mapping[str, str] = field(default_factory=dict)


class RestoredIds:
    """Decides the new schema ids for restored records.

    Args:
        to: The target.
        change: How ids are rewritten.
        has_guid: Returns whether the target has a schema with a GUID.
        waits: Whether a later version of the archive may have what is missing.
    """

    def __init__(self, to: OpenTarget, change: IdChange, has_guid: HasGuid, *, waits: bool) -> None:
        self._to, self._has_guid = to, has_guid
        self._change = change if waits else replace(change, wait_ms=0)
        self._answers = IdAnswers(to.name, to.books.ids, lambda _topic: self._change)
        self._known: SeenSchemas | None = None
        self._has_begun = False

    def take(self, known: SeenSchemas, found: Pairs) -> None:
        """Record the schemas that both registries share; drop open questions of earlier runs.

        Args:
            known: What was seen.
            found: Ids on the target.

        Raises:
            ClusterError: The ledger could not be read or written.
        """
        self._known = known
        if not self._has_begun:
            self._has_begun = True
            self._answers.begin()
        self._append(registered(self._to.name, undecided(found, self._to.books.ids)))

    def answer(self) -> None:
        """Answer the waiting slices, as far as answers are due.

        Raises:
            ClusterError: The ledger could not be read or written.
        """
        self._to.ledger.read_schemas(self._to.books)
        now = time.monotonic()
        if self._answers.look_is_due(now):
            self._append(self._answers.guids(lambda guid: guid if self._has_guid(guid) else None))
            self._answers.looked(now, now)
        self._append(self._answers.due(now, self._why))

    def _append(self, entries: Sequence[DecidedIds | RefusedIds]) -> None:
        if entries:
            self._to.ledger.append(entries)
            self._to.ledger.read_schemas(self._to.books)

    def _why(self, scope: tuple[SubjectStrategy, TopicName, str], name: SchemaName) -> Reason:
        if self._known is None:
            return _NOT_LOOKED
        return why_unknown(self._known.seen, self._known.troubles, scope, name)
