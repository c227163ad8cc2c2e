"""Register schemas at the target, and make sure that it holds what was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from towpath.config import Extras, SchemasConfig
from towpath.model.errors import (
    SchemaHeldBackError,
    SchemaNotKeptError,
    StepOutdatedError,
    TowpathError,
)
from towpath.model.nouns import Side
from towpath.model.outcome import Changed
from towpath.model.schemas import (
    IMPORT,
    NONE,
    READWRITE,
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.registry.registry import Registry
from towpath.schemas.steps import (
    MarkDeleted,
    RegisterSchemas,
    RestoreSubject,
    SchemaStep,
    SetSubjectConfig,
    WantedVersion,
)

Places = Mapping[SchemaVersion, SchemaVersion]
"""Where versions of the source are on the target."""


class Registrar:
    """Applies steps, each about another subject.

    Args:
        config: What the file asks for.
        source: The registry to read from.
        target: The registry to write to.
        pool: Does several steps at once.
    """

    def __init__(
        self, config: SchemasConfig, source: Registry, target: Registry, pool: ThreadPoolExecutor
    ) -> None:
        self._source, self._target, self._pool = source, target, pool
        self._normalize = config.normalize
        self._stripped = tuple(
            name
            for name, policy in (("metadata", config.metadata), ("rules", config.rules))
            if policy is Extras.STRIP
        )
        self._names: Mapping[SubjectName, SubjectName] = {}
        self._places: dict[SchemaVersion, SchemaVersion] = {}
        self._lock = threading.Lock()
        self._proven = False
        self._refused: SchemaNotKeptError | None = None
        self._mode: str | None = None
        self._mode_asked = False

    def know(self, places: Places, names: Mapping[SubjectName, SubjectName]) -> None:
        """Remember what a look at both registries has shown."""
        self._places |= places
        self._names = names

    def apply(self, steps: Sequence[SchemaStep]) -> Changed:
        """Apply steps of one kind; see `SubjectClient.apply`."""
        changed = Changed()
        alone, together = self._parted(steps)
        for step in alone:
            self._take(step, self._timed(step), changed)
        asked = [(step, self._pool.submit(self._timed, step)) for step in together]
        for step, answer in asked:
            self._take(step, answer.result(), changed)
        return changed

    def _parted(
        self, steps: Sequence[SchemaStep]
    ) -> tuple[Sequence[SchemaStep], Sequence[SchemaStep]]:
        """Return what is done alone: the first schema shows whether the target keeps ids."""
        if not self._proven and any(isinstance(step, RegisterSchemas) for step in steps):
            return steps[:1], steps[1:]
        return (), steps

    @staticmethod
    def _take(step: SchemaStep, done: float | TowpathError, changed: Changed) -> None:
        if isinstance(done, TowpathError):
            changed.failed[step.about] = done
        else:
            changed.done[step.about] = done

    def _timed(self, step: SchemaStep) -> float | TowpathError:
        began = time.monotonic()
        try:
            self._one(step)
        except TowpathError as error:
            return error
        return time.monotonic() - began

    def _one(self, step: SchemaStep) -> None:
        subject = SubjectName(step.name)
        if isinstance(step, RegisterSchemas):
            self._register(step)
        elif isinstance(step, MarkDeleted):
            for number in step.versions:
                self._target.soft_delete(SchemaVersion(subject, number))
        elif isinstance(step, RestoreSubject):
            self._target.set_mode(subject, step.mode)
            if not step.keep:
                config = self._target.compatibility(subject)
                self._set(subject, config, step.compatibility)
        else:
            self._configure(subject, step)

    def _configure(self, subject: SubjectName, step: SetSubjectConfig) -> None:
        wanted = SubjectConfig(None, step.compatibility, step.normalize)
        if wanted != SubjectConfig():
            self._target.set_compatibility(subject, wanted)
        if step.mode is not None:
            self._target.set_mode(subject, step.mode)

    def _register(self, step: RegisterSchemas) -> None:
        if self._refused is not None:
            raise self._refused
        with self._opened(step):
            for each in step.versions:
                self._version(step, each)
        self._proven = True

    @contextmanager
    def _opened(self, step: RegisterSchemas) -> Iterator[None]:
        """Let the target take the step's schemas, and restore what was set for the subject."""
        subject = SubjectName(step.name)
        needed = IMPORT if step.keep else READWRITE
        own = self._target.mode(subject)
        _require(subject, step.mode, own, needed)
        # A registry that has no modes takes ids always or never; what comes back tells.
        moves = (own or self._all_mode()) not in {None, needed}
        # With IMPORT, registries do not compare a schema with those before it.
        loosens = not step.keep and (step.had > 0 or len(step.versions) > 1)
        before = self._target.compatibility(subject) if loosens else SubjectConfig()
        _require(subject, step.compatibility, before.compatibility or step.compatibility, NONE)
        try:
            if moves:
                self._target.set_mode(subject, needed)
            if loosens:
                self._target.set_compatibility(subject, SubjectConfig(compatibility=NONE))
            yield
        finally:
            if loosens:
                self._set(subject, before, step.compatibility)
            if moves or own != step.mode:
                self._target.set_mode(subject, step.mode)

    def _set(self, subject: SubjectName, now: SubjectConfig, compatibility: str | None) -> None:
        """Set the compatibility of a subject again; its other configs stay."""
        if compatibility is None:
            self._target.set_compatibility(subject, SubjectConfig())
            if now.normalize is not None:
                self._target.set_compatibility(subject, SubjectConfig(normalize=now.normalize))
        else:
            self._target.set_compatibility(subject, SubjectConfig(compatibility=compatibility))

    def _all_mode(self) -> str | None:
        with self._lock:
            if not self._mode_asked:
                self._mode, self._mode_asked = self._target.mode(), True
            return self._mode

    def _version(self, step: RegisterSchemas, wanted: WantedVersion) -> None:
        at = SchemaVersion(SubjectName(step.source), wanted.version)
        found = self._source.schema(at, deleted=True)
        if found is None or (found.id, found.schema.body) != (wanted.id, wanted.body):
            now = "none" if found is None else f"id {found.id} and another schema"
            raise StepOutdatedError(str(at), f"id {wanted.id}", now, Side.SOURCE)
        whole = found.schema.without(self._stripped)
        schema = whole.referring(self._referred(step, found.schema))
        place = SchemaVersion(SubjectName(step.name), wanted.version)
        held = (
            self._kept(place, schema, wanted.id) if step.keep else self._translated(place, schema)
        )
        with self._lock:
            self._places[at] = held.at

    def _kept(self, at: SchemaVersion, schema: Schema, number: SchemaId) -> RegisteredSchema:
        told = self._target.register(at, schema, number, normalize=self._normalize)
        if told != number:
            raise self._not_kept(f"{at}", f"id {number}", f"id {told}", whole=not self._proven)
        held = self._target.schema(at)
        if held is None:
            raise self._not_kept(f"{at}", f"id {number}", "nothing", whole=not self._proven)
        if held.id != number:
            raise self._not_kept(f"{at}", f"id {number}", f"id {held.id}", whole=not self._proven)
        self._compare(at, schema, held.schema)
        self._proven = True
        return held

    def _compare(self, at: SchemaVersion, sent: Schema, held: Schema) -> None:
        """Raise if the target holds another schema than was sent."""
        if self._normalize and sent.body != held.body:
            # Only the registry can tell whether its form of the text means the same.
            found = self._target.find(at.subject, sent, normalize=True)
            if found is not None and found.at == at:
                return
        _compare(at, sent, held)

    def _translated(self, at: SchemaVersion, schema: Schema) -> RegisteredSchema:
        number = self._target.register(at, schema, normalize=self._normalize)
        held = self._target.find(at.subject, schema, normalize=self._normalize)
        if held is None or held.id != number:
            found = "nothing" if held is None else f"id {held.id}"
            raise self._not_kept(f"a schema of {at.subject}", f"id {number}", found, whole=False)
        self._compare(held.at, schema, held.schema)
        return held

    def _not_kept(self, what: str, sent: str, found: str, *, whole: bool) -> SchemaNotKeptError:
        error = SchemaNotKeptError(what, sent, found, whole=whole)
        if whole:
            self._refused = error
        return error

    def _referred(self, step: RegisterSchemas, schema: Schema) -> tuple[SchemaReference, ...]:
        """Return the references of a schema with the names and versions on the target."""
        return tuple(
            each._replace(subject=place.subject, version=place.version)
            for each in schema.references
            for place in [self._place(step, each.to)]
        )

    def _place(self, step: RegisterSchemas, at: SchemaVersion) -> SchemaVersion:
        if at in self._places:
            return self._places[at]
        name = self._names.get(at.subject)
        if name is None:
            raise SchemaHeldBackError(str(at))
        if step.keep:
            return SchemaVersion(name, at.version)
        found = self._source.schema(at, deleted=True)
        if found is None:
            raise SchemaHeldBackError(str(at))
        held = self._target.find(name, found.schema.referring(self._referred(step, found.schema)))
        if held is None:
            raise SchemaHeldBackError(str(at))
        self._places[at] = held.at
        return held.at


def _require(subject: SubjectName, had: str | None, found: str | None, ours: str) -> None:
    """Raise if a subject has neither what it had when the step was planned, nor what we set."""
    if found not in {had, ours}:
        raise StepOutdatedError(f"subject {subject}", had or "nothing set", found or "nothing set")


def _compare(at: SchemaVersion, sent: Schema, held: Schema) -> None:
    """Raise if the target holds another schema than was sent."""
    for what, one, other in (
        ("text", sent.body, held.body),
        ("references", sent.references, held.references),
        ("metadata", sent.metadata, held.metadata),
        ("rules", sent.rules, held.rules),
    ):
        if one != other:
            raise SchemaNotKeptError(str(at), f"the {what} that were sent", f"other {what}")
