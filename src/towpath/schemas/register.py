"""The registration of schemas at the target, with a check of the stored result."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace

from towpath.model.errors import (
    SchemaHeldBackError,
    SchemaNotKeptError,
    StepOutdatedError,
    TowpathError,
)
from towpath.model.nouns import Side
from towpath.model.outcome import Changed
from towpath.model.schemas import (
    DEFAULT_CONTEXT,
    IMPORT,
    NONE,
    READONLY,
    READWRITE,
    QualifiedName,
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
    qualified,
)
from towpath.registry.reading import ReadRegistry
from towpath.registry.registry import Registry
from towpath.schemas.configs import settings_text
from towpath.schemas.parts import stripped
from towpath.schemas.steps import (
    MarkDeleted,
    RegisterSchemas,
    RestoreSubject,
    SchemaStep,
    SetSubjectConfig,
    WantedVersion,
)
from towpath.settings import SchemaRules

Places = Mapping[SchemaVersion, SchemaVersion]
"""Where versions of the source are on the target."""


class Registrar:
    """Applies steps about schemas, each for another subject.

    Args:
        config: What the file asks for.
        source: The registry to read from.
        target: The registry to write to.
        pool: Does several steps at once.
    """

    def __init__(
        self, config: SchemaRules, source: ReadRegistry, target: Registry, pool: Executor
    ) -> None:
        self._source, self._target, self._pool = source, target, pool
        self._settings = target.settings
        self._config, self._normalize = config, config.normalize
        self._names: Mapping[SubjectName, SubjectName] = {}
        self._places: dict[SchemaVersion, SchemaVersion] = {}
        self._lock = threading.Lock()
        self._proven = False
        self._refused: SchemaNotKeptError | None = None
        self._modes: dict[str, str | None] = {}
        self._contexts = frozenset({DEFAULT_CONTEXT})

    def know(self, places: Places, names: Mapping[SubjectName, SubjectName]) -> None:
        """Store an observation of both registries."""
        self._places |= places
        self._names = names
        with self._lock:
            self._modes.clear()

    def apply(self, steps: Sequence[SchemaStep]) -> Changed:
        """Apply steps of one kind, each about another subject."""
        changed = Changed()
        rest = deque(steps)
        # One after the other until one has shown that the target keeps what it is sent: of a
        # registry that does not, as little as possible has to be cleaned up.
        while rest and isinstance(rest[0], RegisterSchemas) and not self._is_clear:
            step = rest.popleft()
            self._take(step, self._timed(step), changed)
        asked = [(step, self._pool.submit(self._timed, step)) for step in rest]
        for step, answer in asked:
            self._take(step, answer.result(), changed)
        return changed

    @property
    def _is_clear(self) -> bool:
        """Whether the target has shown that it keeps schemas, or that it does not."""
        return self._proven or self._refused is not None

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
            if not step.keep:
                before = SubjectConfig(None, step.compatibility, step.normalize, step.more)
                self._settings.set_config(subject, before, self._settings.compatibility(subject))
            # Last, as registries refuse configs of a subject that is READONLY.
            self._settings.set_mode(subject, step.mode)
        else:
            self._configure(subject, step)

    def _configure(self, subject: SubjectName, step: SetSubjectConfig) -> None:
        asked = SubjectConfig(None, step.compatibility, step.normalize, step.more)
        now = self._settings.compatibility(subject)
        wanted = asked.over(now)
        if wanted != now:
            with self._writable(subject, step):
                self._settings.set_config(subject, wanted, now)
                self._require_held(subject, wanted)
        if step.mode is not None:
            self._settings.set_mode(subject, step.mode)

    @contextmanager
    def _writable(self, subject: SubjectName, step: SetSubjectConfig) -> Iterator[None]:
        """Let configs of a subject be set; registries refuse those of one that is READONLY."""
        name = qualified(subject)
        own = self._settings.mode(subject) if name.name else None
        if not name.name or (own or self._mode_within(name.context)) != READONLY:
            yield
            return
        _require(subject, step.was, own, READONLY)
        try:
            self._settings.set_mode(subject, READWRITE)
            yield
        finally:
            with self._settings.restoring():
                self._settings.set_mode(subject, own)

    def _require_held(self, subject: SubjectName, wanted: SubjectConfig) -> None:
        held = self._settings.compatibility(subject)
        if held != wanted:
            sent, found = (settings_text(each) or "nothing" for each in (wanted, held))
            raise SchemaNotKeptError(f"what is set for {subject}", sent, found)

    def _register(self, step: RegisterSchemas) -> None:
        if self._refused is not None:
            raise self._refused
        with self._opened(step):
            for each in step.versions:
                self._version(step, each)
                self._require_context(qualified(step.name))
        self._proven = True

    def _require_context(self, name: QualifiedName) -> None:
        """Raise if the target took a context for a part of the name."""
        if name.context in self._contexts:
            return
        there = self._target.contexts()
        if there is not None and name.context not in there:
            found = "a subject of the default context"
            raise self._not_kept(name.subject, f"the context {name.context}", found, whole=False)
        self._contexts |= {name.context}

    @contextmanager
    def _opened(self, step: RegisterSchemas) -> Iterator[None]:
        """Let the target take the step's schemas, and restore what was set for the subject."""
        subject = SubjectName(step.name)
        needed = IMPORT if step.keep else READWRITE
        own = self._settings.mode(subject)
        _require(subject, step.mode, own, needed)
        # A registry that has no modes takes ids always or never; what comes back tells.
        moves = (own or self._mode_within(qualified(subject).context)) not in {None, needed}
        # With IMPORT, registries do not compare a schema with those before it.
        loosens = not step.keep and (step.had > 0 or len(step.versions) > 1)
        before = self._settings.compatibility(subject) if loosens else SubjectConfig()
        _require(subject, step.compatibility, before.compatibility or step.compatibility, NONE)
        before = replace(before, compatibility=step.compatibility)
        loose = replace(before, compatibility=NONE)
        try:
            if moves:
                self._settings.set_mode(subject, needed)
            if loosens:
                self._settings.set_config(subject, loose, before)
            yield
        finally:
            with self._settings.restoring():
                if loosens:
                    self._settings.set_config(subject, before, loose)
                if moves or own != step.mode:
                    self._settings.set_mode(subject, step.mode)

    def _mode_within(self, context: str) -> str | None:
        with self._lock:
            if context not in self._modes:
                self._modes[context] = self._settings.mode_within(context)
            return self._modes[context]

    def _version(self, step: RegisterSchemas, wanted: WantedVersion) -> None:
        at = SchemaVersion(SubjectName(step.source), wanted.version)
        found = self._source.schema(at, deleted=True)
        if found is None or (found.id, found.schema.body) != (wanted.id, wanted.body):
            now = "none" if found is None else f"id {found.id} and another schema"
            raise StepOutdatedError(str(at), f"id {wanted.id}", now, Side.SOURCE)
        whole = found.schema.without(stripped(self._config, self._target.traits))
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
        held = self._found(at.subject, schema)
        if held is None or held.id != number:
            found = "nothing" if held is None else f"id {held.id}"
            error = self._not_kept(f"a schema of {at.subject}", f"id {number}", found, whole=False)
            context = qualified(at.subject).context
            if not self._proven and self._target.by_id(number, context) is None:
                self._refused = error  # it keeps nothing at all
            raise error
        self._compare(held.at, schema, held.schema)
        return held

    def holds(self, step: RegisterSchemas) -> bool:
        """Return whether the target holds everything that a step registers, as sent now."""
        try:
            return all(self._is_held(step, each) for each in step.versions)
        except TowpathError:
            return False

    def _is_held(self, step: RegisterSchemas, wanted: WantedVersion) -> bool:
        at = SchemaVersion(SubjectName(step.source), wanted.version)
        place, found = self._places.get(at), self._source.schema(at, deleted=True)
        held = None if place is None else self._target.schema(place, deleted=True)
        if place is None or found is None or held is None:
            return False
        whole = found.schema.without(stripped(self._config, self._target.traits))
        self._compare(place, whole.referring(self._referred(step, found.schema)), held.schema)
        return not step.keep or held.id == wanted.id

    def _found(self, subject: SubjectName, schema: Schema) -> RegisteredSchema | None:
        """Return the version that a schema was registered as; `None` if there is none."""
        held = self._target.find(subject, schema, normalize=self._normalize)
        if held is None or (held.schema.metadata, held.schema.rules) == (
            schema.metadata,
            schema.rules,
        ):
            return held
        # Some registries look for the text alone, and find an older version with other rules.
        last = self._target.latest(subject)
        return last if last is not None and last.schema.body == held.schema.body else held

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
        whole = found.schema.without(stripped(self._config, self._target.traits))
        asked = whole.referring(self._referred(step, whole))
        held = self._target.find(name, asked, normalize=self._normalize)
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
