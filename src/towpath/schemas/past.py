"""The schemas that this link has registered before, from its journal. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.ledger.entries import Journal, Phase
from towpath.model.schemas import SchemaVersion, SubjectName, qualified
from towpath.schemas.steps import (
    KINDS,
    SCHEMAS,
    RegisterSchemas,
    RestoreSubject,
    SetSubjectConfig,
    WantedVersion,
)

_Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """The schema steps that this link has done before.

    The journal can have tens of thousands of entries, so each is read once.

    Attributes:
        begun: Registrations whose last attempt did not end well, by the target's subject.
        opened: Steps that set configs, and whose last attempt did not end well, in the same way.
        marks: Versions on the target that the link has registered and that were deleted at the
            source then.
        brought: Versions of the source as they were when they were registered.
    """

    begun: dict[str, RegisterSchemas] = field(default_factory=dict)
    opened: dict[str, SetSubjectConfig] = field(default_factory=dict)
    marks: set[SchemaVersion] = field(default_factory=set)
    brought: dict[SchemaVersion, WantedVersion] = field(default_factory=dict)
    _read: dict[_Key, Journal] = field(default_factory=dict)

    def read(self, journal: Mapping[_Key, Journal]) -> None:
        """Update the state of the steps from the link's journal of steps."""
        fresh = {
            key: entry
            for key, entry in journal.items()
            if entry.subject == SCHEMAS and entry.do in KINDS and self._read.get(key) is not entry
        }
        self._read.update(fresh)
        # The journal has one entry for each kind of step; it keeps its place when it is replaced.
        for entry in sorted(fresh.values(), key=lambda entry: entry.at):
            step, is_done = KINDS.from_data(entry.step, "ledger"), entry.phase is Phase.DONE
            if isinstance(step, RegisterSchemas):
                self._take(step, is_done=is_done)
            elif isinstance(step, SetSubjectConfig) and not is_done:
                if qualified(step.name).name:  # the mode of a whole registry is never changed
                    self.opened[step.name] = step
            elif isinstance(step, RestoreSubject | SetSubjectConfig) and is_done:
                self.opened.pop(step.name, None)
                if isinstance(step, RestoreSubject):
                    self.begun.pop(step.name, None)

    @property
    def touched(self) -> frozenset[SubjectName]:
        """Target subjects whose mode or configs an interrupted step may have changed."""
        return frozenset(map(SubjectName, self.begun.keys() | self.opened.keys()))

    def _take(self, step: RegisterSchemas, *, is_done: bool) -> None:
        if is_done:
            self.begun.pop(step.name, None)
        else:
            self.begun[step.name] = step
        for each in step.versions:
            if each.deleted:
                self.marks.add(SchemaVersion(SubjectName(step.name), each.version))
            if is_done:
                self.brought[SchemaVersion(SubjectName(step.source), each.version)] = each
