"""Archived schemas that a restore registers before the first record.

It is what a mirror brings over, with the archive in the place of the registry of the source: what
is planned, journalled, compared after each registration, and restored after a crash is the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from uuid import UUID

from towpath.archive.config import RestoredSchemas
from towpath.archive.errors import CommitLogError
from towpath.archive.log import Archive
from towpath.archive.log.schema_parts import captured_parts
from towpath.archive.read.archived_registry import ArchivedRegistry
from towpath.archive.restore.applying import SUBJECTS
from towpath.archive.restore.id_desk import RestoredIds, SeenSchemas
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.schema_checks import of_registry, stopping, unknown_ids
from towpath.ledger.link import OpenTarget
from towpath.model.amounts import counted
from towpath.model.errors import ClusterError, LinkHeldError, StoreError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side
from towpath.plan.applier import Applier
from towpath.plan.journal import JournalWriter
from towpath.plan.subject import Difference, SubjectContext
from towpath.plan.subjects import SubjectClients
from towpath.registry.pool import AskingPool
from towpath.registry.registry import Registry
from towpath.runtime.backoff import BackOff
from towpath.schemas.difference import Skip
from towpath.schemas.ids import pairs
from towpath.schemas.ids_standing import IdsStanding
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.steps import SCHEMAS, SchemaStep
from towpath.schemas.subject import SUBJECT, PlacedDifference, SchemasClient

_AGAIN = BackOff(first=2.0, longest=30.0)
_ROUNDS = 5
"""How often what is left is brought over. A second round finds what somebody did meanwhile."""
_WRONG = (Skip.ID, Skip.CONFLICT, Skip.REGISTRY)
"""Reasons for which a restored record would be read with another schema, or with none at all."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """The schemas of the archive and of the target, and their differences."""

    seen: ObservedSchemas
    found: PlacedDifference

    @property
    def wrong(self) -> bool:
        """Whether a problem with schemas forbids restoring records."""
        return any(self.found.counts.get(("skipped", reason), 0) for reason in _WRONG)


class RestoredRegistry:
    """Registers the schemas of one restore, before records and again as the archive grows.

    Args:
        to: The target.
        rules: What the file says of schemas, `None` if none come back.
        stop: Set to end early.
        follow: Whether the restore goes on with what is archived meanwhile.

    Attributes:
        was_in_trouble: Whether the attempt before the last one failed.
        left_out: Sentences about what the target refused, although records may come: nobody can
            read those that name such a schema, and nobody reads them with another one.
    """

    def __init__(
        self,
        to: OpenTarget,
        rules: RestoredSchemas | None,
        stop: threading.Event,
        *,
        follow: bool = False,
    ) -> None:
        self._to, self._rules, self._stop = to, rules, stop
        change = rules.id_change if rules is not None else None
        self._ids: RestoredIds | None = None
        if change is not None:
            self._ids = RestoredIds(to, change, self._has_guid, waits=follow)
        self._brought: frozenset[str] | None = None
        self._there = self._subjects = 0
        self._failures, self._next = 0, 0.0
        self._trouble, self.was_in_trouble = "", False
        self.left_out: tuple[str, ...] = ()

    def bring(self, archive: Archive, hold: Callable[[], None]) -> tuple[str, ...]:
        """Register schemas; return why no record may be restored, as sentences.

        Args:
            archive: The archive as of the restored version.
            hold: Raises if this process may no longer change the target.

        Raises:
            BrokenLogError: The archived schemas cannot be read.
            ClusterError: The journal cannot be written.
            LinkHeldError: Another process changes the target now.
            StoreError: The store does not give them.
        """
        parts = parts_of(archive)
        if self._rules is None or not parts:
            return ()
        source = ArchivedRegistry(archive.log.store, archive.then, archive.log.where)
        with _opened(self._to, source, self._rules) as (client, _):
            self._to.ledger.read_schemas(self._to.books)
            now, failed = self._applied(client, hold)
        refused = (*failed, *map(str, now.found.problems)) if now.wrong else ()
        if now.found.steps and not (refused or failed or self._stop.is_set()):
            refused = ("the registry of the target is not as it should be after each attempt",)
        if not refused:
            self.left_out = tuple(f"schemas: {each}" for each in failed)
            self._take(now)
            self._brought = parts
        return tuple(f"schemas: {each}" for each in refused)

    def _applied(
        self, client: SchemasClient, hold: Callable[[], None]
    ) -> tuple[_Compared, tuple[str, ...]]:
        """Do what is missing; return what is there then, and what failed."""
        clients = SubjectClients(SUBJECTS, {SUBJECT: client})
        failed: tuple[str, ...] = ()
        now = _compared(client)
        for _ in range(_ROUNDS):
            if failed or not now.found.steps or self._stop.is_set():
                break
            writer = JournalWriter(self._to, clients)
            applier = Applier(clients, writer, stop=self._stop, hold=hold)
            failed = applier.apply(now.found.steps).left_out
            now = _compared(client)
        return now, failed

    def _take(self, now: _Compared) -> None:
        """Remember what came back, and write what ids become, for the slices that rewrite them."""
        found = now.found
        self._there = len(found.places)
        self._subjects = len({at.subject for at in found.places})
        if self._ids is not None:
            troubles = {each.about: each.text for each in found.problems}
            self._ids.take(SeenSchemas(now.seen, troubles), pairs(now.seen, found.places))

    def follow(self, archive: Archive, hold: Callable[[], None]) -> tuple[bool, str]:
        """Register changed schemas; return whether all are registered, and why not.

        Args:
            archive: The archive as it is now.
            hold: Raises if this process may no longer change the target.

        Raises:
            LinkHeldError: Another process changes the target now.
        """
        self.was_in_trouble = bool(self._trouble)
        if self._rules is None or parts_of(archive) == self._brought:
            self._trouble = ""
            return True, ""
        if time.monotonic() < self._next:
            return False, self._trouble
        try:
            refused = self.bring(archive, hold)
        except LinkHeldError:
            raise
        except (ClusterError, CommitLogError, StoreError) as error:
            refused = (f"schemas: {error}",)
        self._failures = self._failures + 1 if refused else 0
        self._next = time.monotonic() + (_AGAIN.after(self._failures) if refused else 0.0)
        self._trouble = "; ".join(refused[:1])
        return not refused, self._trouble

    def answer(self) -> None:
        """Answer slices that wait for new schema ids.

        Raises:
            ClusterError: The ledger could not be read or written.
        """
        if self._ids is not None:
            self._ids.answer()

    def _has_guid(self, guid: UUID) -> bool:
        """Whether the target has a schema with a GUID; false if it does not answer."""
        if self._rules is None:
            return False
        registry = Registry(self._rules.target, Side.TARGET, 1)
        try:
            return registry.by_guid(str(guid)) is not None
        except ClusterError:
            return False
        finally:
            registry.close()

    def sentences(self) -> Iterator[str]:
        """Yield sentences about the outcome for the archived schemas."""
        if self._there:
            how = "with their ids" if self._ids is None else "with ids of the target"
            yield (
                f"schemas: {counted(self._there, 'version')} of"
                f" {counted(self._subjects, 'subject')} are there, {how}"
            )
        if self._ids is not None:
            yield from IdsStanding.known(self._to.books.ids).sentences()


def parts_of(archive: Archive) -> frozenset[str]:
    """Return the keys of the objects that hold the archived schemas.

    Raises:
        BrokenLogError: A capture cannot be read.
    """
    parts = captured_parts(archive.then, archive.log.where)
    return frozenset(each.object for each in parts.values())


def planned_schemas(
    to: OpenTarget, archive: Archive, rules: RestoredSchemas, scope: RestoreScope | None
) -> Difference[SchemaStep]:
    """Plan the registration of schemas, and list its problems; nothing is changed.

    Args:
        to: The target.
        archive: The archive as of the restored version.
        rules: What the file says of schemas.
        scope: What is restored, of which some records are looked at; `None` to look at none.

    Raises:
        BrokenLogError: The archived schemas cannot be read.
        LedgerError: The ledger is of no use.
        StoreError: The store does not give them.
    """
    if not parts_of(archive):
        text = (
            f"version {archive.then.version} of the archive has none, so none come back; `schemas`"
            " in its file archives those of a registry"
        )
        return Difference(problems=(Problem(SCHEMAS, text, Cause.SUBJECT),))
    source = ArchivedRegistry(archive.log.store, archive.then, archive.log.where)
    with _opened(to, source, rules) as (client, target):
        if to.ledger.usable():
            to.ledger.read_schemas(to.books)
        now = _compared(client)
        further: list[Note | Problem] = [*stopping(now.found, rules)]
        further += of_registry(now.seen, now.found, source, target, rules)
    known = {each.id for name in now.seen.wanted for each in now.seen.source[name].values()}
    strange = tuple(unknown_ids(archive, scope, known)) if scope is not None else ()
    notes = (each for each in further if isinstance(each, Note))
    problems = (each for each in further if isinstance(each, Problem))
    return replace(
        now.found,
        notes=(*now.found.notes, *notes, *strange),
        problems=(*now.found.problems, *problems),
    )


def _compared(client: SchemasClient) -> _Compared:
    """Return what both sides have, and the difference; that a registry is away stops a restore."""
    seen = client.observe()
    found = client.diff(seen, SubjectContext())
    if not isinstance(found, PlacedDifference):
        raise TypeError("registries tell where versions are")
    if seen.trouble is not None:
        found = replace(found, problems=(Problem(SCHEMAS, str(seen.trouble), Cause.CLUSTER),))
    return _Compared(seen, found)


@contextmanager
def _opened(
    to: OpenTarget, source: ArchivedRegistry, rules: RestoredSchemas
) -> Iterator[tuple[SchemasClient, Registry]]:
    with ExitStack() as stack:
        pool = stack.enter_context(AskingPool(rules.max_requests))
        target = Registry(rules.target, Side.TARGET, rules.max_requests)
        stack.callback(target.close)
        yield SchemasClient(rules, to.books, source, target, pool), target
