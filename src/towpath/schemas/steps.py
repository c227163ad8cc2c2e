"""Changes to the schema registry of the target, as data.

`about` is the name of the subject on the target. Nothing of a registry is ever deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from towpath.model.schemas import SchemaId
from towpath.plan.kinds import FULL_BATCH, StepKind, StepKinds

SCHEMAS = "schemas"
MOST_VERSIONS = 200
"""Upper bound on the versions in one step, which the journal keeps as a whole."""


class WantedVersion(NamedTuple):
    """A version of a source subject, as it was when the step was planned.

    Attributes:
        version: Its number at the source.
        id: Its id at the source.
        body: The digest of its type and text.
        deleted: Whether it is soft-deleted.
    """

    version: int
    id: SchemaId
    body: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class RegisterSchemas:
    """Register versions of a subject, the oldest first; the source must still have them.

    The mode and the compatibility of the subject are changed for that and restored afterwards, so
    the journal has to know them.

    Attributes:
        name: The subject on the target.
        source: The subject at the source.
        versions: The versions.
        wave: Steps of a wave refer only to what earlier waves register.
        needs: The other subjects on the target that these versions refer to.
        had: How many versions the subject has on the target.
        mode: The mode of the subject on the target, `None` if it has none of its own.
        compatibility: Its compatibility, `None` if it has none of its own.
        keep: Whether ids and version numbers are those of the source.
        normalize: Whether the subject on the target normalizes, `None` if that is not set for it.
        more: Its other configs; see `SubjectConfig.more`.
        registry: The first URL of the registry, "" in steps of older programs.
    """

    subject: ClassVar[str] = SCHEMAS
    creates: ClassVar[bool] = False
    """Nobody owns schemas, so nobody asks, for each batch, which subjects are there already."""

    name: str
    source: str
    versions: tuple[WantedVersion, ...]
    wave: int
    needs: tuple[str, ...]
    had: int
    mode: str | None
    compatibility: str | None
    keep: bool
    normalize: bool | None = None
    more: str = ""
    registry: str = ""

    @property
    def about(self) -> str:
        """The subject on the target that the step changes."""
        return self.name


@dataclass(frozen=True, slots=True)
class MarkDeleted:
    """Soft-delete versions that are soft-deleted at the source and registered by the link.

    Attributes:
        name: The subject on the target.
        versions: The versions on the target.
        wave: The wave in which they were registered; what refers to others goes first.
    """

    subject: ClassVar[str] = SCHEMAS
    creates: ClassVar[bool] = False

    name: str
    versions: tuple[int, ...]
    wave: int

    @property
    def about(self) -> str:
        """The subject on the target that the step changes."""
        return self.name


@dataclass(frozen=True, slots=True)
class SetSubjectConfig:
    """Copy the source's settings of a subject; a `None` keeps the target's value.

    Attributes:
        name: The subject on the target.
        mode: Its mode.
        compatibility: How new versions must agree with older ones.
        normalize: Whether new schemas are normalized.
        had: What the target has for all of them, in words.
        more: Its other configs; see `SubjectConfig.more`. What has no value there stays.
        was: Its own mode before, `None` for none. Where it is READONLY, or all of its registry is,
            it is READWRITE for a moment, so the journal has to know.
    """

    subject: ClassVar[str] = SCHEMAS
    creates: ClassVar[bool] = False

    name: str
    mode: str | None
    compatibility: str | None
    normalize: bool | None
    had: str
    more: str = ""
    was: str | None = None

    @property
    def about(self) -> str:
        """The subject on the target that the step changes."""
        return self.name


@dataclass(frozen=True, slots=True)
class RestoreSubject:
    """Restore the mode and the compatibility that an interrupted registration has changed.

    Attributes:
        name: The subject on the target.
        mode: Its own mode before, `None` for none.
        compatibility: Its own compatibility before, `None` for none.
        keep: Whether ids were to be kept, so that only the mode was changed.
        normalize: Whether it normalized before, `None` if that was not set for it.
        more: Its other configs before; see `SubjectConfig.more`.
    """

    subject: ClassVar[str] = SCHEMAS
    creates: ClassVar[bool] = False

    name: str
    mode: str | None
    compatibility: str | None
    keep: bool
    normalize: bool | None = None
    more: str = ""

    @property
    def about(self) -> str:
        """The subject on the target that the step changes."""
        return self.name


SchemaStep = RegisterSchemas | MarkDeleted | SetSubjectConfig | RestoreSubject

KINDS = StepKinds(
    (
        StepKind(step=RestoreSubject, verb="restore"),
        StepKind(
            step=RegisterSchemas,
            verb="register",
            apart=lambda step: step.wave,
            weight=lambda step: min(FULL_BATCH, 4 + len(step.versions)),
            part=lambda step: str(step.wave),
        ),
        StepKind(
            step=MarkDeleted,
            verb="mark as deleted",
            apart=lambda step: step.wave,
            part=lambda step: str(step.wave),
        ),
        StepKind(step=SetSubjectConfig, verb="set"),
    )
)
"""What is set for a subject comes last, so that a history that breaks today's rules migrates."""
