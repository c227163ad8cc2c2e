"""The section `schemas`: the subjects of a schema registry to copy."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    Strict,
    StrictBool,
    field_validator,
)

from towpath.model.errors import ConfigError
from towpath.model.schemas import (
    COMPATIBILITY_GROUPS,
    METADATA,
    RULES,
    TAGS,
    QualifiedName,
    qualified,
)
from towpath.settings.naming import PLACEHOLDER, Expression, Renaming, fits
from towpath.settings.problems import not_empty
from towpath.settings.sections.contexts import SKIP, checked, mapped
from towpath.settings.sections.registries import RegistryConfig
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, between

_SUBJECT = "subject"
_WHOLE = "{subject}"


class SchemaIds(StrEnum):
    """The policies for schema ids on the target."""

    KEEP = "keep"
    TRANSLATE = "translate"


class SchemaVersions(StrEnum):
    """The policies for the versions of a subject to copy."""

    ALL = "all"
    LATEST = "latest"


class DeletedVersions(StrEnum):
    """The policies for versions that are soft-deleted at the source."""

    SKIP = "skip"
    KEEP = "keep"


class Extras(StrEnum):
    """The policies for parts of a schema that not every registry can hold."""

    KEEP = "keep"
    STRIP = "strip"
    FAIL = "fail"


class SchemaRules(Section):
    """The rules for copying subjects to a registry, for links and restores."""

    target: RegistryConfig = Field(description="The schema registry to write to.")
    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Python regular expressions; a subject whose whole name matches one is brought"
        " over, with all schemas that it refers to. The name is that in its context, or that with"
        " its context, such as `:.eu:orders`.",
    )
    exclude: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; a subject whose whole name matches one is left alone,"
        " unless another schema refers to it.",
    )
    rename: str = Field(
        _WHOLE,
        description="Name on the target; `{subject}` stands for the name at the source, `{1}` and"
        " `{name}` for groups of the first expression of `include` that matches it. References"
        " between schemas follow.",
    )
    contexts: Annotated[dict[Expression, str], AfterValidator(checked)] = Field(
        default_factory=dict,
        description="Contexts of the source with their names on the target: each key is a regular"
        " expression for the name without its dot, `.` is the default context, and the first one"
        " that matches counts. The value may have `{context}` and groups of the expression, `skip`"
        " leaves contexts out. Several may become one. Default: each keeps its name.",
    )
    versions: SchemaVersions = Field(
        SchemaVersions.ALL,
        description="Whether `all` versions of a subject are brought over, or only the `latest`,"
        " each with the versions that it refers to.",
    )
    ids: SchemaIds = Field(
        SchemaIds.KEEP,
        description="Whether schemas `keep` their ids and versions, so that records need no change,"
        " or get those that the target gives them (`translate`).",
    )
    deleted: DeletedVersions = Field(
        DeletedVersions.SKIP,
        description="Whether versions that are soft-deleted at the source are left out (`skip`), or"
        " registered and then soft-deleted on the target (`keep`), for records that name them.",
    )
    metadata: Extras = Field(
        Extras.KEEP,
        description="Metadata of schemas, and defaults for it: `keep`, `strip` for a target that"
        " cannot hold them, or `fail` to leave out what has some.",
    )
    tags: Extras = Field(Extras.KEEP, description="Tags of schemas, in the same way.")
    rules: Extras = Field(
        Extras.KEEP, description="Rule sets of schemas, and defaults for them, in the same way."
    )
    compatibility_groups: Extras = Field(
        Extras.KEEP, description="Compatibility groups of subjects, in the same way."
    )
    for_all: StrictBool = Field(
        False,
        alias="global",
        description="Whether the target gets the configs that the source has for all subjects, and"
        " for all of a context: compatibility, normalization. Without it they are left alone.",
    )
    normalize: StrictBool = Field(
        False,
        description="Whether the target normalizes what it gets. Schemas are then equal if the"
        " target says so.",
    )
    strict: StrictBool = Field(
        False,
        description="With `ids: translate`: whether an id in a record that stays unknown for"
        " `changes.ids.wait` stops its partition. Otherwise it passes unchanged from then on, and"
        " is counted.",
    )
    max_requests: Annotated[Count, Strict(), Field(ge=1, le=100)] = Field(
        Count(8), description="The most requests that one registry gets at the same time."
    )

    @field_validator("rename")
    @classmethod
    def _apart(cls, rename: str) -> str:
        if not PLACEHOLDER.search(rename):
            raise ValueError("would give all subjects one name; use {subject}, {1} or {name}")
        return rename

    @contradictions
    def _groups(self) -> Iterator[Placed]:
        yield from _renaming(self.rename, self.include).faults()

    @contradictions
    def _deleted_by_number(self) -> Iterator[Placed]:
        if self.deleted is DeletedVersions.KEEP and self.ids is not SchemaIds.KEEP:
            yield Placed(("deleted",), "`keep` needs `ids: keep`, which keeps numbers")

    @contradictions
    def _strict_about_new_ids(self) -> Iterator[Placed]:
        if self.strict and self.ids is not SchemaIds.TRANSLATE:
            text = "needs `ids: translate`; ids that are kept are not looked at in records"
            yield Placed(("strict",), text)

    @property
    def is_one_registry(self) -> bool:
        """Whether source and target are the same registry."""
        return False

    def matches(self, subject: str) -> bool:
        """Return whether a subject of the source is copied for its own sake."""
        try:
            has_context = self.target_context(qualified(subject).context) is not None
        except ConfigError:
            return False
        return has_context and self.selects(subject)

    def selects(self, subject: str) -> bool:
        """Return whether `include` and `exclude` select a subject, whatever its context."""
        return selected(subject, self.include, self.exclude)

    def leaves_out(self, context: str) -> bool:
        """Return whether the file leaves out a context of the source."""
        return mapped(self.contexts, context) == SKIP

    def target_context(self, context: str) -> str | None:
        """Return the context on the target, `None` if the context is left out.

        Raises:
            ConfigError: The rule for it makes no name that registries accept.
        """
        found = mapped(self.contexts, context)
        return None if found == SKIP else found

    def target_name(self, subject: str) -> str:
        """Return the target name of a source subject.

        A subject that only references reach has no groups; it keeps its name then.

        Raises:
            ConfigError: The subject would have no name, or its context is not brought over.
        """
        parts = qualified(subject)
        context = self.target_context(parts.context)
        if context is None:
            text = f"its context {parts.context} is not brought over; `schemas.contexts` names it"
            renaming = Renaming("context", "schemas.contexts", "", ())
            raise renaming.misnamed(text)
        return QualifiedName(context, self._renamed(parts.name)).subject

    def _renamed(self, name: str) -> str:
        if not fits(name, self.include) and self.rename != _WHOLE:
            named = set(PLACEHOLDER.findall(self.rename))
            if named != {_SUBJECT}:
                return name
        return _renaming(self.rename, self.include).name(name)

    @property
    def policies(self) -> dict[str, Extras]:
        """The policies for schema parts that not every registry can hold."""
        return {
            METADATA: self.metadata,
            TAGS: self.tags,
            RULES: self.rules,
            COMPATIBILITY_GROUPS: self.compatibility_groups,
        }


class _Source(Section):
    source: RegistryConfig = Field(description="The schema registry to read from.")


class SchemasConfig(SchemaRules, _Source):
    """Subjects of a schema registry to copy to the target's, with all their references."""

    interval: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("1m"), description="How often a run looks at both registries."
    )

    @contradictions
    def _not_onto_itself(self) -> Iterator[Placed]:
        if self.is_one_registry and self.rename == _WHOLE and not self.contexts:
            text = f"source and target are one registry ({self.target.url[0]})"
            yield Placed(("rename",), f"{text}; give the subjects other names, or remove it")

    @property
    def is_one_registry(self) -> bool:
        """Whether source and target are the same registry."""
        return bool(self.source.places & self.target.places)


def selected(subject: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> bool:
    """Return whether expressions select a subject, by its short or its full name."""
    parts = qualified(subject)
    forms = (parts.name, f":{parts.context}:{parts.name}")
    return any(fits(each, include) for each in forms) and not any(
        fits(each, exclude) for each in forms
    )


def _renaming(rename: str, include: tuple[str, ...]) -> Renaming:
    return Renaming(_SUBJECT, "schemas.rename", rename, include)
