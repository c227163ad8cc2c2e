"""Two registries in a test, and what brings one over without clusters."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from tests.support.registries.registry import LocalRegistry, record, refers
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Journal, Phase
from towpath.model.errors import TowpathError
from towpath.model.nouns import NO_TOPIC_ID, LinkName, Side
from towpath.model.schemas import SchemaId, SchemaReference, SchemaVersion, SubjectName
from towpath.plan.kinds import as_data, batches
from towpath.plan.subject import Difference, SubjectContext
from towpath.registry.registry import Registry
from towpath.schemas.diff import diff
from towpath.schemas.difference import SchemaDifference
from towpath.schemas.observed_schemas import ObservedSchemas, SeenVersion, Versions
from towpath.schemas.past import Past
from towpath.schemas.steps import (
    KINDS,
    RegisterSchemas,
    SchemaStep,
    SetSubjectConfig,
    WantedVersion,
)
from towpath.schemas.subject import SUBJECT, SchemasClient
from towpath.settings import SchemasConfig

LINK = LinkName("schemas")


def one(number: int, text: str = "", *references: tuple[str, int]) -> SeenVersion:
    """Return a version with this id; its references are called like the subjects."""
    refs = tuple(SchemaReference(name, SubjectName(name), v) for name, v in references)
    return SeenVersion(SchemaId(number), text or str(number), refs)


def schemas_config(**more: Any) -> SchemasConfig:
    """Return the section `schemas` of a file with these keys."""
    sides = {"source": {"url": "http://s"}, "target": {"url": "http://t"}}
    return SchemasConfig.model_validate({**sides, **more})


def compared(
    source: Versions,
    target: Versions,
    begun: Mapping[str, RegisterSchemas] | None = None,
    seen: Mapping[str, Any] | None = None,
    brought: Mapping[SchemaVersion, WantedVersion] | None = None,
    opened: Mapping[str, SetSubjectConfig] | None = None,
    **more: Any,
) -> SchemaDifference:
    """Return the difference between two registries that hold these versions.

    Args:
        source: The versions at the source, all of which the file asks for.
        target: Those on the target.
        begun: Registrations that did not end well.
        seen: What else was observed.
        brought: What the link has brought over.
        opened: Steps that set configs and did not end well.
        **more: Keys of the file.
    """
    config = schemas_config(**more)
    names = {name: SubjectName(config.target_name(name)) for name in source}
    return diff(
        ObservedSchemas(source=source, target=target, wanted=names, **(seen or {})),
        config,
        Past(begun=dict(begun or {}), opened=dict(opened or {}), brought=dict(brought or {})),
    )


@dataclass
class Bringing:
    """Brings schemas over, with a journal in memory.

    Attributes:
        config: The section `schemas` of a file.
        books: What the ledger knows; those of another one go on with its journal.
        failed: Steps that failed in the last sync, by what they are about.
    """

    config: dict[str, Any]
    books: LinkBooks = field(default_factory=lambda: LinkBooks(LINK))
    failed: dict[str, TowpathError] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stack = ExitStack()
        made = SchemasConfig.model_validate(self.config)
        source = Registry(made.source, Side.SOURCE, made.max_requests)
        target = Registry(made.target, Side.TARGET, made.max_requests)
        for side in (source, target):
            self._stack.callback(side.close)
        pool = self._stack.enter_context(ThreadPoolExecutor(made.max_requests))
        self.client = SchemasClient(made, self.books, source, target, pool)

    def __enter__(self) -> Bringing:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def requests(self) -> int:
        """How many requests both registries got so far."""
        return self.client.requests

    def look(self) -> Difference[SchemaStep]:
        """Return the difference now."""
        return self.client.diff(self.client.observe(), SubjectContext())

    def sync(self) -> Difference[SchemaStep]:
        """Do all steps; return the difference before."""
        found = self.look()
        failed: list[tuple[SchemaStep, TowpathError]] = []
        for batch in batches(KINDS.ordered(found.steps), KINDS):
            steps: list[SchemaStep] = list(batch)  # type: ignore[arg-type]
            held = SUBJECT.held_back(steps, failed)
            now = [step for step in steps if step.about not in held]
            changed = self.client.apply(now)
            for step in steps:
                error = {**changed.failed, **held}.get(step.about)
                if error is not None:
                    failed.append((step, error))
                self._note(step, error)
        self.failed = {step.about: error for step, error in failed}
        return found

    def settle(self) -> None:
        """Bring all over; assert that nothing is left then."""
        self.sync()
        assert self.failed == {}
        found = self.look()
        assert (found.steps, found.problems) == ((), ())

    def _note(self, step: SchemaStep, error: TowpathError | None) -> None:
        phase = Phase.FAILED if error else Phase.DONE
        subject, name, do, part = KINDS.key(step)
        self.books.take(
            Journal(
                link=LINK, subject=subject, name=name, do=do, part=part, step=as_data(step),
                phase=phase, plan="", owned=False, topic_id=NO_TOPIC_ID, at=0,
                error=str(error or ""),
            )
        )  # fmt: skip


def between(source: str, target: str, **more: Any) -> Bringing:
    """Bring schemas from one address to another one."""
    return Bringing({"source": {"url": source}, "target": {"url": target}, **more})


def fill(registry: LocalRegistry) -> None:
    """Register subjects that refer to each other, with a history."""
    registry.register("address", record("Address", "zip"))
    registry.register("address", record("Address", "zip", "city"))
    of = refers(("Address", "address", 2))
    registry.register("person", record("Person", of={"home": "Address"}), references=of)
    of = refers(("Person", "person", 1))
    registry.register("order", record("Order", of={"by": "Person"}), references=of)
