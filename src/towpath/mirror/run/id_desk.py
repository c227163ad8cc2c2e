"""The desk of a run that answers slices waiting for schema ids, and keeps the id map."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from uuid import UUID

from towpath.ledger.books.ids import IdBooks, SchemaName
from towpath.ledger.entries import DecidedIds, RefusedIds
from towpath.ledger.link import OpenLink
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.run.reconcile import Reconciled
from towpath.model.changes import IdChange, SubjectStrategy
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.schemas import SubjectName
from towpath.model.subjects import GIVEN, has_ids, strategy_of
from towpath.plan.differences import SubjectPart
from towpath.schemas.awaited import Changes, IdAnswers
from towpath.schemas.ids import Pairs, pairs, registered, undecided, why_unknown
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.steps import SchemaStep
from towpath.schemas.subject import SUBJECT, PlacedDifference, SchemasClient
from towpath.settings import SchemaIds, given_ids

_SHOWN = 20
_NOT_LOOKED = Reason.of(ReasonCode.SCHEMAS_UNSEEN, why="they were not looked at yet")


class IdDesk:
    """Keeps the schema id map of a link whose records get the target's ids.

    Args:
        link: The link.
        client: The client of its schemas.
        bring: Looks at the registries, and registers what is missing.
        made: Returns what came of that the last time.
        meter: Counts what is waited for.

    Attributes:
        sentences: What is waited for, and which entries of the file come too late.
    """

    def __init__(
        self,
        link: OpenLink,
        client: object,
        bring: Callable[[], None],
        made: Callable[[], Reconciled],
        meter: LinkMeter,
    ) -> None:
        self._link, self._client, self._meter = link, client, meter
        self._bring, self._made = bring, made
        self.sentences: tuple[str, ...] = ()
        schemas = link.config.schemas
        self._registries = schemas is not None and schemas.ids is SchemaIds.TRANSLATE
        self._given = given_ids(link.config.changes)
        self._on = self._registries or bool(self._given)
        self._answers = IdAnswers(link.config.link, link.books.ids, self._change)
        self._taken: SubjectPart[SchemaStep, ObservedSchemas] | None = None

    def begin(self) -> None:
        """Write the id map before the first slice begins; drop requests of earlier slices.

        Raises:
            ClusterError: The ledger could not be read or written.
        """
        if self._on:
            self._read()
            self._answers.begin()
            self._write({SubjectName(GIVEN): self._given})
            self._record()
            self._tell()

    def look(self) -> None:
        """Read the slices' requests for schema ids, and answer those that are due.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        if not self._on:
            return
        self._read()
        self._record()
        if self._answers.look_is_due(time.monotonic()):
            began = time.monotonic()
            if self._registries:
                self._bring()
            part = self._part()
            answered = part is None or part.seen.trouble is None
            self._answers.looked(began, time.monotonic(), answered=answered)
            self._record()
            self._append(self._answers.guids(self._guid))
        answers = self._answers.due(time.monotonic(), self._why)
        self._append(answers)
        self._tell()

    def _append(self, entries: Sequence[DecidedIds | RefusedIds]) -> None:
        if entries:
            self._link.ledger.append(entries)
            self._read()

    def _guid(self, guid: UUID) -> UUID | None:
        try:
            return self._client.guid(guid) if isinstance(self._client, SchemasClient) else None
        except ClusterError:
            return None  # it is looked for again

    def _read(self) -> None:
        self._link.read()
        if self._link.config.schemas is None:
            self._link.ledger.read_schemas(self._link.books)

    def _change(self, topic: TopicName) -> IdChange | None:
        return self._link.config.change_of(topic).ids

    def _part(self) -> SubjectPart[SchemaStep, ObservedSchemas] | None:
        found = self._made().found
        return found.of(SUBJECT) if found is not None else None

    def _record(self) -> None:
        """Write the ids that the last look has shown to be the same schemas."""
        part = self._part()
        if part is None or part is self._taken or not isinstance(part.found, PlacedDifference):
            return
        self._write(pairs(part.seen, part.found.places))
        self._taken = part

    def _write(self, found: Pairs) -> None:
        """Write the ids about which nothing is decided yet."""
        fresh = undecided(found, self._link.books.ids)
        self._append(registered(self._link.config.link, fresh))

    def _why(self, scope: tuple[SubjectStrategy, TopicName, str], name: SchemaName) -> Reason:
        part = self._part()
        if part is None:
            return _NOT_LOOKED
        return why_unknown(part.seen, dict(self._troubles(part)), scope, name)

    def _troubles(
        self, part: SubjectPart[SchemaStep, ObservedSchemas]
    ) -> Iterator[tuple[str, str | TowpathError]]:
        for problem in part.found.problems:
            yield problem.about, problem.text
        yield from self._made().outcome.failed.items()

    def _tell(self) -> None:
        sentences = [
            *overruled(self._given, self._link.books.ids, self._change),
            *self._answers.sentences(),
        ]
        more = len(sentences) - _SHOWN
        rest = [f"{more} other schema ids"] if more > 0 else []
        self.sentences = (*sentences[:_SHOWN], *rest)
        self._meter.ids(self._answers.waiting, self._link.books.ids.passed)


def overruled(
    given: Mapping[SchemaName, SchemaName], books: IdBooks, changes: Changes
) -> Iterator[str]:
    """Yield a sentence for each id whose value in the file contradicts an earlier decision.

    Args:
        given: Which ids become which by the file.
        books: What the ledger knows.
        changes: Returns what happens to the ids of a topic.
    """
    known = books.subjects.get(GIVEN, {})
    for name, becomes in given.items():
        if name in known and known[name].becomes != becomes:
            yield (
                f"the file gives {becomes} for id {name}, but it was decided as"
                f" {known[name].becomes} before records were written, and that holds"
            )
    for (topic, part), decided in books.topics.items():
        change = changes(topic)
        if change is None or not has_ids(change, part) or strategy_of(change, part) is not None:
            continue
        for name in decided.keys() & given.keys():
            if name not in known or decided[name].order < known[name].order:
                yield (
                    f"the file gives {given[name]} for id {name}, but it has passed unchanged in"
                    f" {part}s of {topic} before the file gave it, and that holds"
                )
