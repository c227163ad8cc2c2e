"""Schemas as a subject of the plan machine."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import assert_never
from uuid import UUID

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Phase
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.errors import SchemaHeldBackError, TowpathError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.model.schemas import (
    ALL_SUBJECTS,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
    qualified,
)
from towpath.plan.subject import (
    Columns,
    Difference,
    Failed,
    SubjectContext,
)
from towpath.registry.pool import AskingPool
from towpath.registry.reading import ReadRegistry
from towpath.registry.registry import Registry
from towpath.schemas.absent import NoSchemas
from towpath.schemas.configs import settings_text
from towpath.schemas.diff import diff
from towpath.schemas.difference import SchemaDifference, Skip
from towpath.schemas.guids import guid_on_target
from towpath.schemas.ids import conflicts, pairs, unusable
from towpath.schemas.observe_registries import observe, observe_target
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.past import Past
from towpath.schemas.register import Registrar
from towpath.schemas.registry_polling import RegistryLook
from towpath.schemas.steps import (
    KINDS,
    SCHEMAS,
    MarkDeleted,
    RegisterSchemas,
    RestoreSubject,
    SchemaStep,
    SetSubjectConfig,
)
from towpath.schemas.verify import ComparedVersion, listed, verified
from towpath.settings import LinkConfig, SchemaIds, SchemaRules

_NEVER = 86_400.0
"""Seconds between two observations where the file has no registry."""
_FEW, _TURNS = 100, 10
"""Of more failed registrations, one in so many is compared at each look, in turn."""


@dataclass(frozen=True, slots=True)
class CompareReport:
    """The comparison of all versions that the file asks for.

    Attributes:
        rows: The versions.
        problems: What keeps some of them from the target.
        requests: How many requests that took.
    """

    rows: tuple[ComparedVersion, ...]
    problems: tuple[Problem, ...]
    requests: int


@dataclass(frozen=True, slots=True)
class PlacedDifference(Difference[SchemaStep]):
    """A difference with the target versions of all source versions.

    Attributes:
        places: The places of those whose text and references were compared.
    """

    places: Mapping[SchemaVersion, SchemaVersion] = field(default_factory=dict)


class SchemasClient(NoSchemas):
    """Observes both registries, and changes the one of the target.

    Args:
        config: The section of the file.
        books: What the ledger knows of the link.
        source: The registry to read from.
        target: The registry to write to.
        pool: Asks several things at once.
    """

    def __init__(
        self,
        config: SchemaRules,
        books: LinkBooks,
        source: ReadRegistry,
        target: Registry,
        pool: Executor,
    ) -> None:
        self._config, self._books = config, books
        self._source, self._target, self._pool = source, target, pool
        self._looks = RegistryLook(source, pool), RegistryLook(target, pool)
        self._registrar = Registrar(config, source, target, pool)
        self._before, self._turn = Past(), 0

    def follow(self, books: LinkBooks) -> None:
        """Use another copy of the link's books from now on, as for another thread."""
        self._books, self._before = books, Past()

    def stop(self) -> None:
        """Stop sending requests, without waiting for any; callable from any thread."""
        self._source.stop()
        self._target.stop()

    def observe(self) -> ObservedSchemas:
        """Observe both clusters, without changing them.

        That a registry does not answer is part of what is seen.
        """
        seen = observe(self._config, *self._looks, self._past().touched)
        return replace(seen, at=time.monotonic())

    def again(self, seen: ObservedSchemas) -> ObservedSchemas:
        """Observe the target again after steps; keep what was observed of the source."""
        again = observe_target(self._config, seen, self._looks, self._past().touched)
        return replace(again, at=time.monotonic())

    def diff(self, seen: ObservedSchemas, around: SubjectContext) -> Difference[SchemaStep]:
        """Return the difference between the target and what the file asks for."""
        del around
        before = self._past()
        found = diff(seen, self._config, before)
        self._registrar.know(found.places, seen.wanted)
        told = {*(step.about for step in found.steps), *(each.about for each in found.problems)}
        problems = (*found.problems, *self._failures(before, told))
        notes = tuple(found.notes)
        if self._config.ids is SchemaIds.TRANSLATE:
            double = [*conflicts(pairs(seen, found.places), self._books.ids)]
            problems += tuple(each for each in double if isinstance(each, Problem))
            problems += tuple(unusable(seen, found.places))
            notes += tuple(each for each in double if isinstance(each, Note))
        return PlacedDifference(
            steps=tuple(found.steps),
            notes=notes,
            problems=problems,
            counts=self._counts(seen, found),
            places=found.places,
        )

    def guid(self, guid: UUID) -> UUID | None:
        """Return the target's GUID for a schema of the source, `None` if it has none."""
        ids = self._books.ids
        return guid_on_target(guid, self._source, self._target, ids.first_of)

    def _counts(self, seen: ObservedSchemas, found: SchemaDifference) -> dict[tuple[str, str], int]:
        wanted = sum(len(seen.source[name]) for name in seen.wanted)
        return {
            **{("skipped", str(reason)): found.skipped[reason] for reason in Skip},
            ("versions", "there"): len(found.places),
            ("versions", "missing"): wanted - len(found.places),
            ("requests", Side.SOURCE): self._source.requests,
            ("requests", Side.TARGET): self._target.requests,
        }

    def _failures(self, past: Past, told: Collection[str]) -> Iterator[Problem]:
        """Yield registrations that failed, although the target seems to lack nothing.

        It is asked whether it holds what was sent, as another link may have brought it over.
        """
        if SCHEMAS in told:
            return
        errors = {
            entry.name: entry.error
            for entry in self._books.journal.values()
            if (entry.subject, entry.do) == (SCHEMAS, RegisterSchemas.__name__)
            and entry.phase is Phase.FAILED
            and entry.name in past.begun
            and entry.name not in told
        }
        self._turn += 1
        few = len(errors) <= _FEW
        holds = {
            name: self._pool.submit(self._registrar.holds, past.begun[name])
            for name in errors
            if few or (self._turn + hash(name)) % _TURNS == 0
        }
        for name, error in errors.items():
            if name in holds and holds[name].result():
                past.begun.pop(name)
            else:
                yield Problem(name, error, Cause.SUBJECT)

    def compared(self, *, ask: bool) -> CompareReport:
        """Return all wanted versions with their counterparts on the target.

        Args:
            ask: Ask the target for every id, as clients do, and believe no list.
        """
        seen = self.observe()
        found = diff(seen, self._config, self._past())
        rows = verified(seen, found, self._target, self._pool) if ask else listed(seen, found)
        return CompareReport(tuple(rows), tuple(found.problems), self.requests)

    @property
    def requests(self) -> int:
        """Number of requests sent to both registries so far."""
        return self._source.requests + self._target.requests

    def present(self, steps: Sequence[SchemaStep]) -> Mapping[str, TopicId]:
        """Return the ids of existing things that steps are about, by name."""
        contexts = {qualified(step.about).context for step in steps}
        there = self._target.subjects(contexts, deleted=True)
        names = (step.about for step in steps if step.about in there)
        return dict.fromkeys(names, NO_TOPIC_ID)

    def apply(self, steps: Sequence[SchemaStep]) -> Changed:
        """Apply steps of one kind together, each about another thing."""
        self._looks[1].forget(SubjectName(step.about) for step in steps)
        return self._registrar.apply(steps)

    def _past(self) -> Past:
        self._before.read(self._books.journal)
        return self._before


class Schemas:
    """The subject of the plan machine for schema registries."""

    names = (SCHEMAS,)
    kinds = KINDS
    columns = Columns(("subject", "now", "then", "why"), ("now",))

    @contextmanager
    def client(self, link: OpenLink) -> Iterator[NoSchemas]:
        """Open a client of this subject for a link."""
        config = link.config.schemas
        if config is None:
            yield NoSchemas(link.books)
            return
        with ExitStack() as stack:
            pool = stack.enter_context(AskingPool(config.max_requests))
            source = Registry(config.source, Side.SOURCE, config.max_requests)
            stack.callback(source.close)
            target = Registry(config.target, Side.TARGET, config.max_requests)
            stack.callback(target.close)
            yield SchemasClient(config, link.books, source, target, pool)

    def interval(self, config: LinkConfig) -> float:
        """Return the number of seconds between two observations in a run."""
        return config.schemas.interval if config.schemas else _NEVER

    def held_back(self, steps: Sequence[SchemaStep], failed: Failed) -> Mapping[str, TowpathError]:
        """Return errors for steps that need a schema which could not be registered."""
        lost = {step.about for step, _ in failed if isinstance(step, RegisterSchemas)}
        held: dict[str, TowpathError] = {}
        for step in steps if lost else ():
            needs = step.needs if isinstance(step, RegisterSchemas) else ()
            missing = lost.intersection((step.about, *needs))
            if missing and not isinstance(step, RestoreSubject):
                own = step.about in missing
                held[step.about] = SchemaHeldBackError(step.about if own else min(missing), own)
        return held

    def row(self, step: SchemaStep) -> tuple[str, ...]:
        """Return a step as a row of the table."""
        match step:
            case RegisterSchemas():
                first, last = step.versions[0], step.versions[-1]
                numbers = f"version {first.version}" + (
                    f" to {last.version}" if first != last else ""
                )
                then = f"{numbers}, id {first.id}" if first == last and step.keep else numbers
                why = "" if step.source == step.name else f"of the source: {step.source}"
                return step.name, counted(step.had, "version") if step.had else "", then, why
            case SetSubjectConfig():
                return _shown(step.name), step.had, _config(step), ""
            case MarkDeleted():
                versions = ", ".join(map(str, step.versions))
                return step.name, "", f"version {versions} deleted", "as at the source"
            case RestoreSubject():
                then = _config(step) or "as before"
                return step.name, "", then, "a registration was interrupted"
            case _:
                assert_never(step)

    def summary(
        self, steps: Sequence[SchemaStep], topics: Mapping[TopicName, TopicName]
    ) -> Iterator[str]:
        """Return short texts about what steps do."""
        del topics
        if steps:
            yield f"schemas: {KINDS.verbs(steps)}"


def _config(step: SetSubjectConfig | RestoreSubject) -> str:
    return settings_text(SubjectConfig(step.mode, step.compatibility, step.normalize, step.more))


def _shown(name: str) -> str:
    """Return the name of a subject, in words where it stands for all."""
    parts = qualified(name)
    if name == ALL_SUBJECTS:
        return "all subjects"
    return name if parts.name else f"all subjects of {parts.context}"


SUBJECT = Schemas()
