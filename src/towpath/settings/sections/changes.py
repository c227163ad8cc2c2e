"""The section `changes`: changes of records between source and target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field, StrictBool, StrictInt, field_validator

from towpath.model.changes import (
    AddedHeader,
    Framing,
    HeaderContent,
    IdChange,
    Malformed,
    RecordChange,
    SubjectStrategy,
    Undeliverable,
)
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.model.subjects import KEY, VALUE
from towpath.settings.naming import TOPIC_METADATA, Expression, fits, template_of
from towpath.settings.problems import not_empty
from towpath.settings.sections.conditions import (
    MOST_NAME,
    DropConfig,
    HeaderName,
    Text,
    encodable,
)
from towpath.settings.shape import Placed, Section, contradictions, require_none
from towpath.settings.units import Duration, between

_ID_HEADERS = frozenset({"__key_schema_id", "__value_schema_id"})
_LARGEST_ID = 2**31 - 1


def _template(text: str) -> str:
    """Return a text with expressions unchanged if each is about the topic.

    Raises:
        ValueError: It has no expression, or one that asks for more.
    """
    made = template_of(text)
    if made.is_text:
        raise ValueError("has no expression such as ${! @kafka_topic }; write it as `value`")
    wrong = sorted(made.metadata - {TOPIC_METADATA})
    if wrong or made.reads_content:
        what = f"@{wrong[0]}" if wrong and wrong[0] else "the message"
        raise ValueError(f"asks for {what}; a template is about @{TOPIC_METADATA} alone")
    return text


class SubjectNames(StrEnum):
    """The ways to name subjects of keys or values, or `none` without schemas."""

    TOPIC = "topic"
    RECORD = "record"
    TOPIC_RECORD = "topic-record"
    NONE = "none"


class HeaderOf(StrEnum):
    """The kinds of header content that differ between records."""

    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    CLUSTER = "cluster"
    CHAIN = "chain"


class Codec(StrEnum):
    """The codecs of record batches."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class IdsConfig(Section):
    """The rewriting of schema ids in keys, values and headers."""

    key: SubjectNames = Field(
        SubjectNames.TOPIC,
        description="How subjects of keys are named: after the `topic` (`orders-key`), after the"
        " `record` (the name of the schema), after both (`topic-record`), or `none`: keys have no"
        " schemas, and no byte of them is changed.",
    )
    value: SubjectNames = Field(SubjectNames.TOPIC, description="The same for values.")
    headers: StrictBool = Field(
        True,
        description="Whether the headers `__key_schema_id` and `__value_schema_id` of newer"
        " serializers are rewritten. A key or value whose header names its schema is left alone.",
    )
    framing: Framing = Field(
        Framing.CONFLUENT,
        description="What stands before a payload: `confluent` (5 bytes) on both sides, or AWS"
        " Glue's 18 bytes at the source (`from-glue`) or on the target (`to-glue`).",
    )
    glue: dict[str, StrictInt] = Field(
        default_factory=dict,
        description="For `from-glue` and `to-glue`: Glue's schema version ids (UUIDs), each with"
        " the id of the same schema in the other registry.",
    )
    malformed: Malformed = Field(
        Malformed.PASS,
        description="What becomes of a record with an id that cannot be one (docs/changes.md): it"
        " may `pass` unchanged, go to the `quarantine`, or `stop` its partition.",
    )
    strict: StrictBool | None = Field(
        None,
        description="For these topics instead of `schemas.strict`: whether an id that stays unknown"
        " for `wait` stops its partition, or passes unchanged.",
    )
    wait: Annotated[Duration, between("0s", "1d")] = Field(
        Duration.parse("1m"), description="How long a partition waits for an unknown id."
    )

    @property
    def by_file(self) -> bool:
        """Whether the file itself maps the ids."""
        return self.framing is not Framing.CONFLUENT

    @field_validator("glue")
    @classmethod
    def _ids(cls, glue: dict[str, int]) -> dict[str, int]:
        require_none(_wrong_in(glue))
        return glue

    @contradictions
    def _glue_where_needed(self) -> Iterator[Placed]:
        if self.by_file and not self.glue:
            yield Placed(("glue",), f"is required by `framing: {self.framing}`")
        if self.glue and not self.by_file:
            yield Placed(("glue",), "is used with `framing: from-glue` and `to-glue` only")
        if self.framing is Framing.TO_GLUE and len(set(self.glue.values())) < len(self.glue):
            yield Placed(("glue",), "gives one id several UUIDs; which one is written?")

    def has(self, part: str) -> bool:
        """Return whether a part of the records, `key` or `value`, has schemas."""
        return (self.key if part == KEY else self.value) is not SubjectNames.NONE

    def change(self, *, strict: bool) -> IdChange | None:
        """Return the section as a change of ids, `None` if no id may change.

        Args:
            strict: What holds where the section does not say it.
        """
        if not (self.has(KEY) or self.has(VALUE)):
            return None
        return IdChange(
            key=_strategy(self.key),
            value=_strategy(self.value),
            headers=self.headers,
            framing=self.framing,
            malformed=self.malformed,
            strict=strict if self.strict is None else self.strict,
            wait_ms=round(self.wait * 1000),
        )


def _wrong_in(glue: dict[str, int]) -> Iterator[Placed]:
    """Yield what is wrong with ids of Glue and their numbers."""
    seen: set[UUID] = set()
    for name, number in glue.items():
        try:
            known = UUID(name)
        except ValueError:
            yield Placed((name,), "is not a UUID, as Glue's schema versions have")
            continue
        if known in seen:
            yield Placed((name,), "is there already, written in another way")
        seen.add(known)
        if not 0 < number <= _LARGEST_ID:
            yield Placed((name,), f"{number} is not between 1 and {_LARGEST_ID}")


def _strategy(subjects: SubjectNames) -> SubjectStrategy | None:
    return None if subjects is SubjectNames.NONE else SubjectStrategy(subjects.value)


class HeaderConfig(Section):
    """A header that is added to each record."""

    name: HeaderName = Field(
        description="Name of the header. It takes the place of the last header of that name; where"
        " there is none, it comes behind all others."
    )
    value: Text | None = Field(None, description="The same text for each record.")
    of: HeaderOf | None = Field(
        None,
        description="Instead of `value`: the `topic`, `partition`, `offset`, `timestamp`"
        " (milliseconds since 1970) or `cluster` id at the source, as text; or the `chain` of all"
        " clusters that the record went through, with commas.",
    )

    template: Annotated[Text, AfterValidator(_template)] | None = Field(
        None,
        description="Instead of both: a text with expressions of Bloblang about the topic, such as"
        " `${! @kafka_topic.uppercase() }-eu`.",
    )

    @contradictions
    def _one_content(self) -> Iterator[Placed]:
        names = ("value", "template", "of")
        given = [name for name in names if getattr(self, name, None) is not None]
        if len(given) > 1 or all(getattr(self, name) is None for name in names):
            yield Placed((*given, "of")[:1], "give one of `value`, `of` and `template`")

    def header(self, topic: str) -> AddedHeader:
        """Return the header that the section describes, for the records of a topic.

        Raises:
            ConfigError: The template has no value for this topic.
        """
        if self.of is not None:
            return AddedHeader(name=self.name, content=HeaderContent(self.of.value))
        return AddedHeader(name=self.name, text=self.value or self._filled(topic))

    def _filled(self, topic: str) -> str:
        if self.template is None:
            return ""
        try:
            return encodable(template_of(self.template).text_of({TOPIC_METADATA: topic}))
        except ValueError as error:
            why = f"the header {self.name} of topic {topic} has no value: {foreign(error)}"
            raise ConfigError((ConfigProblem("changes", why),)) from None


class RedpandaConfig(Section):
    """Headers as Redpanda's migrator writes them."""

    offset: Annotated[str, Field(max_length=MOST_NAME)] = Field(
        "redpanda-migrator-offset",
        description="Header with the offset at the source in 8 bytes (big endian), always written"
        ' anew; `""` for none.',
    )
    provenance: Annotated[str, Field(max_length=MOST_NAME)] = Field(
        "redpanda-migrator-provenance",
        description="Header with the id of the source's cluster; where a record has it already, it"
        ' stays, unless it is empty; `""` for none.',
    )

    def headers(self) -> Iterator[AddedHeader]:
        """Yield the headers that the section describes, in the order of Redpanda's migrator."""
        if self.provenance:
            yield AddedHeader(name=self.provenance, content=HeaderContent.REDPANDA_PROVENANCE)
        if self.offset:
            yield AddedHeader(name=self.offset, content=HeaderContent.REDPANDA_OFFSET)


class ChangesConfig(Section):
    """The changes of the records of some topics."""

    topics: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        description="Python regular expressions; a source topic whose whole name matches one is"
        " meant, unless an earlier entry of `changes` names it."
    )
    drop: tuple[DropConfig, ...] = Field(
        (),
        description="Rules of records that are not copied. Offsets of these topics are mapped.",
    )
    ids: IdsConfig | None = Field(
        None,
        description="How schema ids are rewritten; `{}` for the defaults, which hold without it,"
        " too, where `schemas.ids` is `translate`.",
    )
    redact: tuple[HeaderName, ...] = Field(
        (), description="Names of headers whose values are replaced by the text `REDACTED`."
    )
    headers: tuple[HeaderConfig, ...] = Field((), description="Headers that each record gets.")
    redpanda: RedpandaConfig | None = Field(
        None,
        description="Headers as Redpanda's migrator writes them, for tools that read them; `{}`"
        " for both.",
    )
    codec: Codec | None = Field(
        None, description="Codec of the batches on the target. Default: as at the source."
    )
    undeliverable: Undeliverable = Field(
        Undeliverable.STOP,
        description="What becomes of a record that the target refuses, such as one that is too"
        " large: `stop` its partition, `quarantine`, or `skip`.",
    )

    @contradictions
    def _misnamed(self) -> Iterator[Placed]:
        seen: set[str] = set()
        for place, name in self._named():
            if name in _ID_HEADERS:
                yield Placed(place, f"{name} names a schema; it is changed by `ids` only")
            elif name and name in seen:
                yield Placed(place, f"{name} is already added or redacted here")
            seen.add(name)

    def _named(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield where a name of a header stands, and the name, "" for none."""
        for index, header in enumerate(getattr(self, "headers", ())):
            yield ("headers", index, "name"), getattr(header, "name", "")
        for key in ("provenance", "offset"):
            yield ("redpanda", key), getattr(getattr(self, "redpanda", None), key, "")
        for index, name in enumerate(getattr(self, "redact", ())):
            yield ("redact", index), name

    def change(self, topic: str, ids: IdChange | None, *, strict: bool) -> RecordChange:
        """Return the section as a change of records.

        Args:
            topic: The source topic of the records.
            ids: What happens to schema ids unless the section says it.
            strict: Whether unknown ids stop their partitions unless the section says it.

        Raises:
            ConfigError: A header has no value for this topic.
        """
        return RecordChange(
            drop=tuple(rule.rule() for rule in self.drop),
            ids=self.ids.change(strict=strict) if self.ids else ids,
            redact=self.redact,
            headers=(
                *(header.header(topic) for header in self.headers),
                *(self.redpanda.headers() if self.redpanda else ()),
            ),
            codec=None if self.codec is None else self.codec.value,
            undeliverable=self.undeliverable,
        )


def section_of(sections: Iterable[ChangesConfig], topic: str) -> ChangesConfig | None:
    """Return the first section that names a source topic."""
    return next((each for each in sections if fits(topic, each.topics)), None)


def change_of(
    sections: Iterable[ChangesConfig], topic: str, *, translated: bool, strict: bool
) -> RecordChange:
    """Return the change of the records of a source topic.

    Args:
        sections: The section `changes`.
        topic: The topic.
        translated: Whether schemas get new ids on the target.
        strict: Whether ids that stay unknown stop their partitions, unless a section says it.

    Raises:
        ConfigError: A header has no value for this topic.
    """
    ids = IdChange(strict=strict) if translated else None
    found = section_of(sections, topic)
    return RecordChange(ids=ids) if found is None else found.change(topic, ids, strict=strict)
