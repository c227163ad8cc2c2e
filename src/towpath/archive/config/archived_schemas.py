"""The sections `schemas` and `restore.schemas` of the file of an archive."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, Strict, StrictBool, model_validator

from towpath.model.changes import IdChange
from towpath.settings.naming import Expression
from towpath.settings.problems import not_empty
from towpath.settings.sections.changes import IdsConfig, SubjectNames
from towpath.settings.sections.registries import RegistryConfig
from towpath.settings.sections.schemas import DeletedVersions, SchemaIds, SchemaRules, selected
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Section
from towpath.settings.units import Duration, between


class RestoredSchemas(SchemaRules):
    """The archived subjects that a restore registers in a registry before it restores records."""

    deleted: DeletedVersions = Field(
        DeletedVersions.KEEP,
        description="Whether versions that were soft-deleted, or that the registry did not have any"
        " more, are registered and then soft-deleted (`keep`), for records that name them, or left"
        " out (`skip`, the default with `ids: translate`).",
    )

    key: SubjectNames = Field(
        SubjectNames.TOPIC,
        description="With `ids: translate`: how subjects of keys are named at the source: after the"
        " `topic` (`orders-key`), the `record` (the name of the schema), both (`topic-record`), or"
        " `none`: keys have no schemas, and no byte of them is changed. An id means the schema of"
        " such a subject.",
    )
    value: SubjectNames = Field(SubjectNames.TOPIC, description="The same for values.")
    strict: StrictBool = Field(
        False,
        description="With `ids: translate`: whether an id in a record that no schema has which came"
        " back stops its partition. Otherwise it passes unchanged, and is counted.",
    )
    wait: Annotated[Duration, between("0s", "1d")] = Field(
        Duration.parse("2m"),
        description="With `ids: translate` and `restore run --follow`: how long a partition waits"
        " for an id that no archived schema has yet. Without `--follow` the archive does not grow,"
        " so nothing is waited for.",
    )

    @model_validator(mode="before")
    @classmethod
    def _deleted_where_ids_stay(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("ids") == SchemaIds.TRANSLATE:
            return {"deleted": str(DeletedVersions.SKIP), **given}
        return given

    @property
    def id_change(self) -> IdChange | None:
        """How schema ids of records are rewritten, `None` if they stay."""
        if self.ids is not SchemaIds.TRANSLATE:
            return None
        return IdsConfig(key=self.key, value=self.value, wait=self.wait).change(strict=self.strict)


class ArchivedSchemas(Section):
    """The subjects of a schema registry that are archived with the records."""

    source: RegistryConfig = Field(description="The schema registry whose subjects are archived.")
    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Regular expressions; a subject whose whole name matches one is archived, with"
        " all schemas that it refers to. The name is that in its context, or that with its context,"
        " such as `:.eu:orders`.",
    )
    exclude: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; a subject whose whole name matches one is left out,"
        " unless another schema refers to it.",
    )
    interval: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("1m"),
        description="How often a run looks at the registry. A schema is archived so much later than"
        " it was registered.",
    )
    max_requests: Annotated[Count, Strict(), Field(ge=1, le=100)] = Field(
        Count(8), description="The most requests that the registry gets at the same time."
    )

    def selects(self, subject: str) -> bool:
        """Return whether a subject is archived even if no archived record uses it."""
        return selected(subject, self.include, self.exclude)
