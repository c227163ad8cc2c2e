"""The difference between two registries, as steps and problems. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from towpath.model.amounts import counted
from towpath.model.errors import ConfigError
from towpath.model.findings import Cause
from towpath.model.schemas import READONLY, SchemaVersion, SubjectName
from towpath.schemas.configs import Configs
from towpath.schemas.difference import SchemaDifference, Skip
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.order import cycle, waves
from towpath.schemas.past import Past
from towpath.schemas.steps import (
    MOST_VERSIONS,
    SCHEMAS,
    MarkDeleted,
    RegisterSchemas,
    WantedVersion,
)
from towpath.schemas.target_versions import Placing
from towpath.settings import SchemaIds, SchemaRules


def diff(seen: ObservedSchemas, config: SchemaRules, past: Past | None = None) -> SchemaDifference:
    """Return the steps and problems between the file and the target's registry.

    Args:
        seen: Both registries.
        config: What the file asks for.
        past: What this link did before; nothing without it.
    """
    return _Diff(seen, config, past or Past()).all()


class _Diff:
    def __init__(self, seen: ObservedSchemas, config: SchemaRules, past: Past) -> None:
        self._seen, self._config, self._past = seen, config, past
        self._found = SchemaDifference()
        self._keep = config.ids is SchemaIds.KEEP
        self._placing = Placing(seen, config, self._found)
        self._configs = Configs(seen, config, past, self._found)

    def all(self) -> SchemaDifference:
        seen, found = self._seen, self._found
        if seen.trouble is not None:
            found.problem(SCHEMAS, str(seen.trouble), Skip.REGISTRY)
            return found
        self._name_what_is_left_out()
        self._name_interrupted()
        self._placing.refuse_names()
        if ignored := self._cannot_keep() or self._ignored():
            found.problem(SCHEMAS, ignored, Skip.ID)
            found.steps += self._configs.restored(frozenset())
            return found
        steps = self._registered()
        self._placing.note_parts()
        later = frozenset(step.about for step in steps if self._takes_over(step.about))
        found.steps += [*self._configs.restored(later), *steps]
        found.steps += [*self._marked(steps), *self._configs.set()]
        self._note_references()
        self._note_two_ways()
        if not self._keep:
            self._placing.note_ids()
            self._note_made_again()
        return found

    def _name_what_is_left_out(self) -> None:
        seen, found = self._seen, self._found
        for name, error in seen.failed.items():
            found.stuck.add(name)
            found.problem(name, str(error), Skip.UNREAD)
        for name, error in seen.unread.items():
            text = f"{error}; its configs stay as they are on the target"
            found.problem(name, text, Skip.UNREAD)
        for name, mirror in seen.wanted.items():
            if mirror in seen.unread_there and name not in seen.failed:
                # What was set before could not be restored.
                found.problem(name, str(seen.unread_there[mirror]), Skip.UNREAD)
                found.stuck.add(name)
        for name, text in seen.misnamed.items():
            found.problem(name, text, Skip.NAME, Cause.FILE)
        if seen.copies:
            text = (
                "source and target are one registry, and copies are not copied again:"
                f" {counted(len(seen.copies), 'subject')}, such as {min(seen.copies)}"
            )
            found.note(SCHEMAS, text)
        for context in sorted(seen.unmapped):
            text = (
                "`schemas.contexts` does not say what becomes of this context of the source; give"
                " it a name on the target there, or `skip`"
            )
            found.problem(context, text, Skip.NAME, Cause.FILE)

    def _name_interrupted(self) -> None:
        """Name what a process may have left behind that cannot be restored now."""
        seen, found, past = self._seen, self._found, self._past
        lost = seen.unread_there.keys() & (past.touched - {*seen.wanted.values()})
        for mirror in sorted(lost):
            text = f"{seen.unread_there[mirror]}; a step about it was interrupted"
            found.problem(mirror, f"{text}, so its mode may have to be restored", Skip.UNREAD)
        for name, begun in sorted(past.begun.items()):
            if begun.registry not in {"", *self._config.target.url}:
                text = (
                    f"its registration at {begun.registry} was interrupted, and the file names"
                    " another registry now: look whether its mode there is still IMPORT"
                )
                found.note(name, text)

    def _takes_over(self, mirror: str) -> bool:
        """Whether a registration of a subject restores what an interrupted one has changed."""
        begun = self._past.begun.get(mirror)
        if mirror in self._past.opened:
            return False
        # Where the file now asks for other ids, it needs another mode, and finds that one.
        return begun is None or begun.keep == self._keep

    def _cannot_keep(self) -> str:
        """Return that the target can keep no id, "" if it may."""
        traits = self._seen.traits
        if traits.keeps_ids or not self._keep or not self._seen.wanted:
            return ""
        return (
            f"target: a schema registry of the kind {traits.kind} gives ids of its own; set"
            " `schemas.ids: translate`, or use a registry that has the mode IMPORT"
        )

    def _ignored(self) -> str:
        """Return that the target ignores ids, "" unless an earlier step has shown it."""
        for name, begun in self._past.begun.items():
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

    def _registered(self) -> list[RegisterSchemas]:
        """Return steps for what the target lacks."""
        seen, found = self._seen, self._found
        todo = {
            name: numbers
            for name in sorted(seen.wanted)
            if name not in found.stuck and (numbers := self._placing.missing(name))
        }
        self._drop_dependants(todo)
        parts, left = waves(todo, seen.source, MOST_VERSIONS)
        steps: list[RegisterSchemas] = []
        for number, wave in enumerate(parts):
            steps += [self._step(name, now, number) for name, now in wave.items()]
        for mirror in sorted({step.about for step in steps if step.mode == READONLY}):
            text = "it is READONLY on the target, but for the time in which schemas are registered"
            found.note(mirror, text)
        found.stuck |= left.keys()
        circle = cycle(left, seen.source)
        for name, numbers in left.items():
            versions = ", ".join(map(str, numbers))
            why = (
                f"the references {' -> '.join(map(str, circle))} form a circle"
                if circle
                else "what it refers to cannot be registered"
            )
            found.problem(name, f"version {versions} stays out: {why}", Skip.REFERENCE)
        return steps

    def _drop_dependants(self, todo: dict[SubjectName, tuple[int, ...]]) -> None:
        """Drop what refers to versions that the target neither has nor gets, and name it.

        Another schema may stand in their place there, which a registry would take for them.
        """
        places = self._found.places
        while True:
            open_ = {SchemaVersion(name, n) for name, numbers in todo.items() for n in numbers}
            lost = {
                at: ref.to
                for at in sorted(open_)
                for ref in self._seen.source[at.subject][at.version].references
                if ref.to not in open_ and ref.to not in places
            }
            if not lost:
                return
            for at, to in lost.items():
                text = f"version {at.version} refers to {to}, which cannot be brought over"
                self._found.problem(at.subject, text, Skip.REFERENCE)
                todo[at.subject] = tuple(n for n in todo[at.subject] if n != at.version)

    def _step(self, name: SubjectName, numbers: Iterable[int], wave: int) -> RegisterSchemas:
        seen, mirror = self._seen, self._seen.wanted[name]
        versions = [(number, seen.source[name][number]) for number in numbers]
        needs = {seen.wanted[ref.subject] for _, each in versions for ref in each.references}
        before = self._configs.before(mirror)
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
            normalize=before.normalize,
            more=before.more,
            registry=self._config.target.url[0],
        )

    def _marked(self, steps: Iterable[RegisterSchemas]) -> Iterator[MarkDeleted]:
        """Yield steps that soft-delete what is so at the source, what refers to others first."""
        seen, keep = self._seen, self._keep
        for step in sorted(steps, key=lambda step: -step.wave):
            numbers = tuple(each.version for each in step.versions if each.deleted)
            if numbers and keep:
                yield MarkDeleted(step.name, numbers, step.wave)
        for at in sorted(seen.gone if keep else ()):
            place = self._found.places.get(at)
            if place is not None and place in self._past.marks and place not in seen.deleted:
                yield MarkDeleted(place.subject, (place.version,), -1)

    def _note_references(self) -> None:
        for name in sorted(self._seen.wanted):
            if not self._config.matches(name):
                text = "the file leaves it out; it is brought over as a schema refers to it"
                self._found.note(name, text)

    def _note_two_ways(self) -> None:
        """Tell of what a link in the other direction with equal names seems to have made."""
        made = sorted(filter(None, map(self._made_of, self._seen.target)))
        if made and not self._config.is_one_registry:
            text = (
                f"{counted(len(made), 'subject')} of the source, such as {made[0]}, with the name"
                " and the schemas that `rename` gives to copies of subjects of the target: if a"
                " link makes these in the other direction, both copy each other's copies without"
                " end; leave them out (`exclude`)"
            )
            self._found.note(SCHEMAS, text)

    def _made_of(self, there: SubjectName) -> SubjectName | None:
        """Return the wanted subject that looks like a copy of one of the target."""
        seen, name = self._seen, None
        if self._config.matches(there):
            with suppress(ConfigError):  # it has no name
                name = SubjectName(self._config.target_name(there))
        if name is None or name == there or name not in seen.wanted:
            return None
        ours, theirs = seen.source.get(name, {}), seen.target[there]
        alike = {each.body for each in ours.values()} <= {each.body for each in theirs.values()}
        return name if ours and alike else None

    def _note_made_again(self) -> None:
        """Note versions that have another schema than when the link brought them over."""
        for at, was in sorted(self._past.brought.items()):
            now = self._seen.source.get(at.subject, {}).get(at.version)
            if now is not None and (now.id, now.body) != (was.id, was.body):
                text = (
                    f"the subject was made again at the source: version {at.version} had id"
                    f" {was.id} and has id {now.id}; what the target got before stays there"
                )
                self._found.note(at.subject, text)
