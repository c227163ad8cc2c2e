"""The target versions that correspond to source versions, or are missing. Pure."""

from __future__ import annotations

from collections import defaultdict

from towpath.model.amounts import shortened
from towpath.model.findings import Cause
from towpath.model.schemas import (
    DEFAULT_CONTEXT,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectName,
    qualified,
)
from towpath.schemas.difference import SchemaDifference, Skip
from towpath.schemas.observed_schemas import ObservedSchemas, SeenVersion
from towpath.schemas.parts import names_of_parts, policies, why_left_out
from towpath.settings import Extras, SchemaIds, SchemaRules
from towpath.settings.naming import collisions

_SHOWN = 3
"""How many subjects of an id a note names."""


class Placing:
    """Compares versions one by one, and collects target versions, notes and problems.

    Args:
        seen: Both registries.
        config: What the file asks for.
        found: The difference to fill in.
    """

    def __init__(self, seen: ObservedSchemas, config: SchemaRules, found: SchemaDifference) -> None:
        self._seen, self._config, self._found = seen, config, found
        self._keep = config.ids is SchemaIds.KEEP
        self._policies = policies(config, seen.traits)
        self._left = defaultdict[tuple[SubjectName, str], list[int]](list)
        self._new: dict[SchemaVersion, bool] = {}
        # Each context has its own ids.
        self._ids = {
            (qualified(name).context, each.id): (each.body, "")
            for name, numbers in seen.target.items()
            for each in numbers.values()
        }

    def refuse_names(self) -> None:
        """Mark subjects whose target names are invalid or taken."""
        seen, found = self._seen, self._found
        for target, names in collisions(seen.wanted.items()).items():
            found.stuck |= {SubjectName(name) for name in names}
            text = f"{', '.join(names)} would all be {target} on the target; change `rename`"
            if len({qualified(name).context for name in names}) > 1:
                text = f"{text}, or `contexts`"
            for name in names:
                found.problem(name, text, Skip.NAME, Cause.FILE)
        if not seen.has_contexts:
            self._refuse_contexts()

    def _refuse_contexts(self) -> None:
        lost = defaultdict[str, list[SubjectName]](list)
        for name, mirror in self._seen.wanted.items():
            lost[qualified(mirror).context].append(name)
        lost.pop(DEFAULT_CONTEXT, None)
        for context, names in sorted(lost.items()):
            self._found.stuck |= set(names)
            text = (
                f"the target's registry has no contexts, and {len(names)} of the subjects would be"
                f' in this one; map their context to "." with `schemas.contexts`'
            )
            self._found.problem(context, text, Skip.NAME)

    def missing(self, name: SubjectName) -> tuple[int, ...]:
        """Return the versions of a subject that the target lacks and can get."""
        missing = [
            number
            for number, each in sorted(self._seen.source[name].items())
            if not self._is_broken(name, number, each)
            and self._lacks(SchemaVersion(name, number), each)
            and not self._is_refused(SchemaVersion(name, number))
        ]
        return tuple(missing)

    def note_parts(self) -> None:
        """Add notes on schema parts that are not copied, once all versions are compared."""
        for (name, text), numbers in sorted(self._left.items()):
            plural = "s" if len(numbers) > 1 else ""
            self._found.note(name, f"version{plural} {', '.join(map(str, numbers))}: {text}")

    def note_ids(self) -> None:
        """Add a note for each source id that has several ids on the target."""
        ids = defaultdict[tuple[str, SchemaId], dict[SchemaId, list[SubjectName]]](dict)
        for at, place in self._found.places.items():
            own = self._seen.source[at.subject][at.version].id
            held = self._seen.target[place.subject][place.version].id
            key = qualified(at.subject).context, own
            ids[key].setdefault(held, []).append(at.subject)
        for (_, own), several in sorted(ids.items()):
            if len(several) < 2:
                continue
            parts = (f"{number} in {_some(names)}" for number, names in sorted(several.items()))
            text = f"id {own} of the source is {', '.join(parts)} on the target"
            first = min(name for names in several.values() for name in names)
            self._found.note(first, f"{text}; each subject has its own")

    def _is_broken(self, name: SubjectName, number: int, each: SeenVersion) -> bool:
        lost = [r.to for r in each.references if not self._is_at_source(r.to)]
        if lost:
            text = f"version {number} refers to {lost[0]}, {self._why_lost(lost[0])}"
            self._found.problem(name, text, Skip.REFERENCE)
        return bool(lost)

    def _why_lost(self, at: SchemaVersion) -> str:
        seen, context = self._seen, qualified(at.subject).context
        if (error := seen.lost.get(at) or seen.failed.get(at.subject)) is not None:
            return f"which could not be read: {error}"
        if context in seen.unmapped or self._config.leaves_out(context):
            return f"whose context {context} is not brought over; `schemas.contexts` maps it"
        return "which the source does not have"

    def _is_refused(self, at: SchemaVersion) -> bool:
        """Whether a version has parts that the file forbids; name those that stay behind."""
        has = self._seen.extras.get(at, frozenset())
        refused = {name for name in has if self._policies[name] is Extras.FAIL}
        if refused:
            text = f"version {at.version} has {names_of_parts(refused)}, and the file says `fail`"
            self._found.problem(at.subject, text, Skip.PARTS)
        elif has:
            reason = why_left_out(has, self._config, self._seen.traits)
            self._left[at.subject, f"{names_of_parts(has)} stay at the source, {reason}"].append(
                at.version
            )
        return bool(refused)

    def _is_at_source(self, at: SchemaVersion) -> bool:
        return at.subject in self._seen.wanted and at.version in self._seen.source[at.subject]

    def _lacks(self, at: SchemaVersion, each: SeenVersion) -> bool:
        mirror = self._seen.wanted[at.subject]
        if self._keep:
            return self._lacks_kept(at, mirror, each)
        return self._lacks_translated(at)

    def _lacks_translated(self, at: SchemaVersion) -> bool:
        """Whether the target lacks a version, after all that it refers to was compared."""
        begun, stack = set[SchemaVersion](), [at]
        while stack:
            top = stack[-1]
            begun.add(top)
            # What refers to each other in a circle is compared once, and lacks its references.
            needs = (each.to for each in self._seen.source[top.subject][top.version].references)
            open_ = [to for to in needs if to not in begun and self._is_at_source(to)]
            if further := [to for to in open_ if to not in self._new]:
                stack += further
                continue
            stack.pop()
            if top not in self._new:
                self._new[top] = self._is_new(top)
        return self._new[at]

    def _is_new(self, at: SchemaVersion) -> bool:
        """Whether the target lacks a version; remember its place if it does not."""
        if (same := self._seen.same.get(at)) is not None:
            self._found.places[at] = same.at
            return False
        mirror, each = self._seen.wanted[at.subject], self._seen.source[at.subject][at.version]
        refs = self._translated(each)
        for number, one in sorted(self._seen.target.get(mirror, {}).items()):
            place = SchemaVersion(mirror, number)
            is_same = refs is not None and (one.body, one.references) == (each.body, refs)
            if is_same and place not in self._seen.deleted and self._is_alike(at, place):
                self._found.places[at] = place
                return False
        return True

    def _is_alike(self, at: SchemaVersion, place: SchemaVersion) -> bool:
        """Whether metadata and rules are equal, as far as nothing else tells versions apart."""
        ours, theirs = self._seen.apart
        return at not in ours or ours[at] == theirs.get(place)

    def _translated(self, each: SeenVersion) -> tuple[SchemaReference, ...] | None:
        """Return references as they are on the target, `None` if one is not there yet."""
        places = [self._found.places.get(ref.to) for ref in each.references]
        found = [
            ref._replace(subject=place.subject, version=place.version)
            for ref, place in zip(each.references, places, strict=True)
            if place is not None
        ]
        return tuple(found) if len(found) == len(places) else None

    def _lacks_kept(self, at: SchemaVersion, mirror: SubjectName, each: SeenVersion) -> bool:
        there = self._seen.target.get(mirror, {}).get(at.version)
        if there is None:
            return self._can_take_id(at, mirror, each)
        same = self._seen.same.get(at)
        if same is not None and (same.at.version, same.id) == (at.version, each.id):
            self._found.places[at] = same.at
            return False
        if (there.id, there.body, there.references) == (each.id, each.body, self._renamed(each)):
            place = SchemaVersion(mirror, at.version)
            self._found.places[at] = place
            if place in self._seen.deleted and at not in self._seen.gone:
                text = f"version {at.version} is soft-deleted on the target; nobody undoes that"
                self._found.problem(at.subject, text, Skip.DELETED)
            return False
        self._found.problem(at.subject, _conflict(at, mirror, each, there), Skip.CONFLICT)
        return False

    def _can_take_id(self, at: SchemaVersion, mirror: SubjectName, each: SeenVersion) -> bool:
        """Whether the id of a version is free on the target, or that of the same schema."""
        context = qualified(mirror).context
        # Two contexts that become one may have the same ids for other schemas.
        held, owner = self._ids.setdefault((context, each.id), (each.body, str(at)))
        if held == each.body:
            return True
        whose = f"that of {owner}" if owner else "another schema's on the target"
        text = (
            f"version {at.version} has the id {each.id}, which is {whose}; use an empty registry or"
            " another context, or set `schemas.ids: translate`"
        )
        self._found.problem(at.subject, text, Skip.ID)
        return False

    def _renamed(self, each: SeenVersion) -> tuple[SchemaReference, ...]:
        wanted = self._seen.wanted
        return tuple(
            ref._replace(subject=wanted.get(ref.subject, ref.subject)) for ref in each.references
        )


def _some(names: list[SubjectName]) -> str:
    return shortened(sorted(set(names)), _SHOWN)


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
