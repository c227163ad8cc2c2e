"""The difference between two registries, as steps and problems. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from towpath.config import Extras, SchemaIds, SchemasConfig
from towpath.config.naming import collisions
from towpath.model.findings import Cause, Note, Problem
from towpath.model.schemas import (
    IMPORT,
    NONE,
    READONLY,
    READWRITE,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.schemas.observed import ObservedSchemas, SeenVersion
from towpath.schemas.order import cycle, waves
from towpath.schemas.steps import (
    MOST_VERSIONS,
    SCHEMAS,
    MarkDeleted,
    RegisterSchemas,
    RestoreSubject,
    SchemaStep,
    SetSubjectConfig,
    WantedVersion,
)

_COPIED = frozenset({READONLY, READWRITE})
"""Modes that a subject of the target gets from its source."""


@dataclass(slots=True)
class SchemaDifference:
    """What differs.

    Attributes:
        steps: Steps that remove the difference.
        notes: Facts that a person should know.
        problems: What cannot be made the same, and why.
        places: Where the versions of the source are on the target.
    """

    steps: list[SchemaStep] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    places: dict[SchemaVersion, SchemaVersion] = field(default_factory=dict)


def diff(
    seen: ObservedSchemas,
    config: SchemasConfig,
    begun: Mapping[str, RegisterSchemas],
    marks: frozenset[SchemaVersion] = frozenset(),
) -> SchemaDifference:
    """Return the difference between what the file asks for and the registry of the target.

    Args:
        seen: Both registries.
        config: What the file asks for.
        begun: Registrations that did not end well, by the subject on the target.
        marks: Versions on the target that the link has registered and that were deleted at the
            source then.
    """
    return _Diff(seen, config, begun, marks).all()


class _Diff:
    def __init__(
        self,
        seen: ObservedSchemas,
        config: SchemasConfig,
        begun: Mapping[str, RegisterSchemas],
        marks: frozenset[SchemaVersion],
    ) -> None:
        self._seen, self._config, self._begun, self._marks = seen, config, begun, marks
        self._found = SchemaDifference()
        self._keep = config.ids is SchemaIds.KEEP
        self._stuck: set[SubjectName] = set()
        self._ids = {
            each.id: each.body for numbers in seen.target.values() for each in numbers.values()
        }

    def all(self) -> SchemaDifference:
        seen, found = self._seen, self._found
        if seen.trouble is not None:
            found.problems.append(_problem(SCHEMAS, str(seen.trouble)))
            return found
        for name, error in seen.failed.items():
            found.problems.append(_problem(name, str(error)))
        for name, text in seen.misnamed.items():
            found.problems.append(Problem(name, text, Cause.FILE))
        self._refuse_equal_names()
        if ignored := self._ignored():
            found.problems.append(_problem(SCHEMAS, ignored))
            found.steps += self._restored(frozenset())
            return found
        steps = self._registered()
        later = frozenset(step.about for step in steps)
        found.steps += [*self._restored(later), *steps]
        found.steps += [*self._marked(steps), *self._configured()]
        self._note_references()
        return found

    def _marked(self, steps: Iterable[SchemaStep]) -> Iterator[MarkDeleted]:
        """Yield steps that soft-delete what is so at the source, what refers to others first."""
        seen, keep = self._seen, self._keep
        new = [step for step in steps if isinstance(step, RegisterSchemas)]
        for step in sorted(new, key=lambda step: -step.wave):
            numbers = tuple(each.version for each in step.versions if each.deleted)
            if numbers and keep:
                yield MarkDeleted(step.name, numbers, step.wave)
        for at in sorted(seen.gone if keep else ()):
            place = self._found.places.get(at)
            if place is not None and place in self._marks - seen.deleted:
                yield MarkDeleted(place.subject, (place.version,), -1)

    def _refuse_equal_names(self) -> None:
        for target, names in collisions(self._seen.wanted.items()).items():
            self._stuck |= {SubjectName(name) for name in names}
            text = f"{', '.join(names)} would all be {target} on the target; change `rename`"
            self._found.problems += [Problem(name, text, Cause.FILE) for name in names]

    def _ignored(self) -> str:
        """Return that the target ignores ids, "" unless an earlier step has shown it."""
        for name, begun in self._begun.items():
            there = self._seen.target.get(SubjectName(name), {})
            for each in begun.versions if begun.keep and begun.had == 0 else ():
                same = [one for one in there.values() if one.body == each.body]
                if same and all(one.id != each.id for one in same) and self._keep:
                    return (
                        f"target: the schema registry does not keep ids: {name} was registered with"
                        f" id {each.id} and has id {same[0].id}; use a registry that has the mode"
                        " IMPORT, or set `schemas.ids: translate`"
                    )
        return ""

    def _registered(self) -> list[SchemaStep]:
        """Return steps for what the target lacks."""
        seen = self._seen
        todo = {
            name: numbers
            for name in sorted(seen.wanted)
            if name not in self._stuck and (numbers := self._missing(name))
        }
        found, left = waves(todo, seen.source, MOST_VERSIONS)
        steps: list[SchemaStep] = []
        for number, wave in enumerate(found):
            steps += [self._step(name, now, number) for name, now in wave.items()]
        self._stuck |= left.keys()
        circle = cycle(left, seen.source)
        for name, numbers in left.items():
            versions = ", ".join(map(str, numbers))
            why = (
                f"the references {' -> '.join(map(str, circle))} form a circle"
                if circle
                else "what it refers to cannot be registered"
            )
            self._found.problems.append(_problem(name, f"version {versions} stays out: {why}"))
        return steps

    def _missing(self, name: SubjectName) -> tuple[int, ...]:
        """Return the versions of a subject that the target lacks."""
        missing = [
            number
            for number, each in sorted(self._seen.source[name].items())
            if not self._is_broken(name, number, each)
            and not self._is_refused(SchemaVersion(name, number))
            and self._lacks(SchemaVersion(name, number), each)
        ]
        return tuple(missing)

    def _is_broken(self, name: SubjectName, number: int, each: SeenVersion) -> bool:
        lost = [r.to for r in each.references if not self._is_at_source(r.to)]
        if lost:
            text = f"version {number} refers to {lost[0]}, which the source does not have"
            self._found.problems.append(_problem(name, text))
        return bool(lost)

    def _is_refused(self, at: SchemaVersion) -> bool:
        """Whether a version has parts that the file forbids; name those that it strips."""
        has = self._seen.extras.get(at, frozenset())
        policies = {"metadata": self._config.metadata, "rules": self._config.rules}
        refused = [name for name in sorted(has) if policies[name] is Extras.FAIL]
        if refused:
            text = f"version {at.version} has {' and '.join(refused)}, and the file says `fail`"
            self._found.problems.append(_problem(at.subject, text))
        elif has:
            text = f"{' and '.join(sorted(has))} stay at the source, as the file says `strip`"
            self._found.notes.append(Note(at.subject, text))
        return bool(refused)

    def _is_at_source(self, at: SchemaVersion) -> bool:
        return at.subject in self._seen.wanted and at.version in self._seen.source[at.subject]

    def _lacks(self, at: SchemaVersion, each: SeenVersion) -> bool:
        mirror = self._seen.wanted[at.subject]
        if self._keep:
            return self._lacks_kept(at, mirror, each)
        if (same := self._seen.same.get(at)) is not None:
            self._found.places[at] = same.at
            return False
        refs = self._translated(each)
        there = self._seen.target.get(mirror, {})
        for number, one in sorted(there.items()):
            is_live = SchemaVersion(mirror, number) not in self._seen.deleted
            if is_live and refs is not None and (one.body, one.references) == (each.body, refs):
                self._found.places[at] = SchemaVersion(mirror, number)
                return False
        return True

    def _translated(self, each: SeenVersion) -> tuple[SchemaReference, ...] | None:
        """Return references as they are on the target, `None` if one is not there yet."""
        found = []
        for ref in each.references:
            if ref.to not in self._found.places:
                source = self._seen.source[ref.subject][ref.version]
                if self._lacks(ref.to, source):
                    return None
            place = self._found.places[ref.to]
            found.append(ref._replace(subject=place.subject, version=place.version))
        return tuple(found)

    def _lacks_kept(self, at: SchemaVersion, mirror: SubjectName, each: SeenVersion) -> bool:
        there = self._seen.target.get(mirror, {}).get(at.version)
        if there is None:
            held = self._ids.get(each.id, each.body)
            if held != each.body:
                text = (
                    f"version {at.version} has the id {each.id}, which is another schema's on the"
                    " target; use an empty registry or another context, or set"
                    " `schemas.ids: translate`"
                )
                self._found.problems.append(_problem(at.subject, text))
            return held == each.body
        same = self._seen.same.get(at)
        if same is not None and (same.at.version, same.id) == (at.version, each.id):
            self._found.places[at] = same.at
            return False
        if (there.id, there.body, there.references) == (each.id, each.body, self._renamed(each)):
            place = SchemaVersion(mirror, at.version)
            self._found.places[at] = place
            if place in self._seen.deleted and at not in self._seen.gone:
                text = f"version {at.version} is soft-deleted on the target; nobody undoes that"
                self._found.problems.append(_problem(at.subject, text))
            return False
        self._found.problems.append(_problem(at.subject, _conflict(at, mirror, each, there)))
        return False

    def _renamed(self, each: SeenVersion) -> tuple[SchemaReference, ...]:
        wanted = self._seen.wanted
        return tuple(
            ref._replace(subject=wanted.get(ref.subject, ref.subject)) for ref in each.references
        )

    def _step(self, name: SubjectName, numbers: Iterable[int], wave: int) -> RegisterSchemas:
        seen, mirror = self._seen, self._seen.wanted[name]
        versions = [(number, seen.source[name][number]) for number in numbers]
        needs = {seen.wanted[ref.subject] for _, each in versions for ref in each.references}
        before = self._before(mirror)
        return RegisterSchemas(
            name=mirror,
            source=name,
            versions=tuple(
                WantedVersion(n, each.id, each.body, SchemaVersion(name, n) in seen.gone)
                for n, each in versions
            ),
            wave=wave,
            needs=tuple(sorted(needs - {mirror})),
            had=len(seen.target.get(mirror, {})),
            mode=before.mode,
            compatibility=before.compatibility,
            keep=self._keep,
        )

    def _before(self, mirror: SubjectName) -> SubjectConfig:
        """Return what was set for a subject of the target before we changed anything."""
        now = self._seen.target_configs.get(mirror, SubjectConfig())
        begun = self._begun.get(mirror)
        if begun is None:
            return now
        if now.mode == (IMPORT if begun.keep else READWRITE):
            now = replace(now, mode=begun.mode)
        if not begun.keep and now.compatibility == NONE:
            now = replace(now, compatibility=begun.compatibility)
        return now

    def _restored(self, later: frozenset[str]) -> Iterator[RestoreSubject]:
        """Yield steps that restore what an interrupted step left changed.

        A registration of the same subject restores it as well.
        """
        for name, begun in self._begun.items():
            now = self._seen.target_configs.get(SubjectName(name))
            if now is None or name in later:
                continue
            before = self._before(SubjectName(name))
            if now != before:
                yield RestoreSubject(name, before.mode, before.compatibility, begun.keep)

    def _configured(self) -> Iterator[SetSubjectConfig]:
        """Yield steps for what the source has set for its subjects."""
        seen = self._seen
        for name, mirror in sorted(seen.wanted.items()):
            asked = seen.source_configs.get(name, SubjectConfig())
            wanted = replace(asked, mode=asked.mode if asked.mode in _COPIED else None)
            if wanted == SubjectConfig() or name in self._stuck:
                continue
            now = self._before(mirror)
            merged = SubjectConfig(
                wanted.mode or now.mode,
                wanted.compatibility or now.compatibility,
                now.normalize if wanted.normalize is None else wanted.normalize,
            )
            if merged != now:
                yield SetSubjectConfig(
                    mirror, wanted.mode, wanted.compatibility, wanted.normalize, told(now)
                )

    def _note_references(self) -> None:
        for name in sorted(self._seen.wanted):
            if not self._config.matches(name):
                text = "the file leaves it out; it is brought over as a schema refers to it"
                self._found.notes.append(Note(name, text))


def told(config: SubjectConfig) -> str:
    """Return what is set for a subject, for people."""
    normalize = "" if config.normalize is None else f"normalize {str(config.normalize).lower()}"
    return ", ".join(filter(None, (config.mode, config.compatibility, normalize)))


def _conflict(
    at: SchemaVersion, mirror: SubjectName, source: SeenVersion, target: SeenVersion
) -> str:
    if source.id != target.id:
        what = f"id {target.id} on the target and {source.id} at the source"
    elif source.body != target.body:
        what = f"another schema on the target, under the same id {SchemaId(source.id)}"
    else:
        what = "other references on the target"
    return (
        f"version {at.version} has {what} ({mirror}): the subject was made again, or somebody else"
        " writes to it; nothing is overwritten, so give it another name with `rename`, leave it out"
        " with `exclude`, or set `schemas.ids: translate`"
    )


def _problem(about: str, text: str) -> Problem:
    return Problem(about, text, Cause.SUBJECT)
