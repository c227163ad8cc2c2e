"""Settings of subjects (mode, compatibility): copied from the source, or restored. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from towpath.model.findings import Cause
from towpath.model.schemas import (
    ALIAS,
    IMPORT,
    NONE,
    NORMALIZE,
    READONLY,
    READWRITE,
    SubjectConfig,
    SubjectName,
    qualified,
)
from towpath.schemas.difference import SchemaDifference, Skip
from towpath.schemas.observed_schemas import ObservedSchemas
from towpath.schemas.parts import names_of_parts, refused, stripped, why_left_out
from towpath.schemas.past import Past
from towpath.schemas.steps import RestoreSubject, SetSubjectConfig
from towpath.settings import SchemaRules
from towpath.settings.naming import collisions

_COPIED = frozenset({READONLY, READWRITE})
"""Modes that a subject of the target gets from its source."""


class Configs:
    """Compares the settings of subjects on both sides.

    Args:
        seen: Both registries.
        config: What the file asks for.
        past: What this link did before.
        found: The difference to fill in.
    """

    def __init__(
        self,
        seen: ObservedSchemas,
        config: SchemaRules,
        past: Past,
        found: SchemaDifference,
    ) -> None:
        self._seen, self._config, self._past, self._found = seen, config, past, found
        self._stripped = stripped(config, seen.traits)

    def before(self, mirror: SubjectName) -> SubjectConfig:
        """Return a target subject's settings from before the link changed any."""
        now = self._seen.target_configs.get(mirror, SubjectConfig())
        opened, begun = self._past.opened.get(mirror), self._past.begun.get(mirror)
        if opened is not None and now.mode == READWRITE != opened.mode:
            now = replace(now, mode=opened.was)
        if begun is None:
            return now
        if now.mode == (IMPORT if begun.keep else READWRITE):
            now = replace(now, mode=begun.mode)
        if not begun.keep and now.compatibility == NONE:
            now = replace(now, compatibility=begun.compatibility)
        elif not begun.keep and now == SubjectConfig(now.mode):
            # What was set beside the compatibility had to go for a moment.
            now = replace(now, normalize=begun.normalize, more=begun.more)
        return now

    def restored(self, later: AbstractSet[str]) -> Iterator[RestoreSubject]:
        """Yield steps that restore settings which an interrupted step left changed.

        Args:
            later: Subjects that are registered anyway, which restores them as well.
        """
        for name in sorted(self._past.touched - later):
            now, begun = self._seen.target_configs.get(name), self._past.begun.get(name)
            before = self.before(name)
            if now is not None and now != before:
                yield RestoreSubject(
                    name,
                    before.mode,
                    before.compatibility,
                    begun is None or begun.keep,
                    before.normalize,
                    before.more,
                )

    def set(self) -> Iterator[SetSubjectConfig]:
        """Yield steps that copy the source's settings of subjects."""
        seen = self._seen
        for name, mirror in sorted(seen.wanted.items()):
            if name not in self._found.stuck:
                yield from self._set(name, mirror, self._wanted(name))
        lost = {name for names in collisions(seen.alls.items()).values() for name in names}
        for name, mirror in sorted(seen.alls.items()):
            if name in lost:
                text = f"what is set for all its subjects stays at the source: {mirror} is shared"
                self._found.problem(name, f"{text} with another context", Skip.NAME, Cause.FILE)
            else:
                asked = self._wanted(name)
                yield from self._set(name, mirror, replace(asked, mode=None))

    def _set(
        self, name: SubjectName, mirror: SubjectName, wanted: SubjectConfig
    ) -> Iterator[SetSubjectConfig]:
        now = self.before(mirror)
        if wanted == SubjectConfig() or wanted.over(now) == now:
            return
        if forbidden := wanted.extras & refused(self._config):
            text = f"{names_of_parts(forbidden)} is set for it, and the file says `fail`"
            self._found.problem(name, f"what is set for it stays at the source: {text}", Skip.PARTS)
            return
        yield SetSubjectConfig(
            mirror,
            wanted.mode,
            wanted.compatibility,
            wanted.normalize,
            settings_text(now),
            wanted.more,
            now.mode if qualified(mirror).name else None,
        )

    def _wanted(self, name: SubjectName) -> SubjectConfig:
        """Return what the source has set and the target gets; name what stays behind."""
        asked = self._seen.source_configs.get(name, SubjectConfig())
        mode = asked.mode if asked.mode in _COPIED and self._seen.traits.has_modes else None
        left = asked.extras & self._stripped
        wanted = replace(asked, mode=mode).without(self._stripped)
        if asked.normalize is not None and NORMALIZE in self._seen.traits.lacks:
            left, wanted = left | {NORMALIZE}, replace(wanted, normalize=None)
        if left:
            reason = why_left_out(left, self._config, self._seen.traits)
            self._found.note(
                name, f"{names_of_parts(left)} of the subject stay at the source, {reason}"
            )
        rest = wanted.rest
        if alias := rest.pop(ALIAS, None):
            text = f"its alias {alias} stays at the source; set it on the target after the cutover"
            self._found.note(name, text)
        return wanted.having(rest)


def settings_text(config: SubjectConfig) -> str:
    """Return a subject's settings as text for people."""
    normalize = "" if config.normalize is None else f"normalize {str(config.normalize).lower()}"
    more = ", ".join(
        f"{key} {value}" if isinstance(value, str | int) else key
        for key, value in config.rest.items()
    )
    return ", ".join(filter(None, (config.mode, config.compatibility, normalize, more)))
