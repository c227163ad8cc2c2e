"""The topics to mirror, their names on the target, and their configs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, NewType, Protocol

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    StrictBool,
)

from towpath.model.errors import ConfigError
from towpath.model.nouns import LinkName, TopicName
from towpath.settings.naming import (
    PLACEHOLDER,
    Expression,
    Renaming,
    fits,
    is_template,
    template_of,
)
from towpath.settings.problems import not_empty, not_one_of
from towpath.settings.sections.own_topics import is_own
from towpath.settings.shape import Placed, Section, contradictions

Count = NewType("Count", int)

_TOPIC = "topic"
_WHOLE = "{topic}"
LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""Names of topics (`org.apache.kafka.common.internals.Topic`)."""
MOST_PARTITIONS = 100_000
_MOST_REPLICAS = 2**15 - 1
"""Upper bound of a replication factor: the protocol has two bytes for it."""


class Replicas(StrEnum):
    """The replication factor of a mirror topic; the file may also give a number."""

    SOURCE = "source"
    BROKER_DEFAULT = "broker_default"


def template(text: str) -> str:
    """Return a template for target names unchanged if it is valid.

    Raises:
        ValueError: What stands beside its placeholders is no part of a topic name.
    """
    if not text:
        raise ValueError("must not be empty")
    if is_template(text):
        template_of(text)
        return text
    around = PLACEHOLDER.sub("", text)
    if around and not LEGAL.fullmatch(around):
        raise ValueError(
            f"{text!r}: beside placeholders such as {_WHOLE} a topic name has letters, digits, '.',"
            " '_' and '-' only"
        )
    return text


def _replicas(value: object) -> Replicas | Count:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= _MOST_REPLICAS:
            raise ValueError(f"{value} is not between 1 and {_MOST_REPLICAS}")
        return Count(value)
    if not isinstance(value, str) or value not in set(Replicas):
        raise ValueError(not_one_of(value, [*Replicas, "a whole number"]))
    return Replicas(value)


def _as_text(value: object) -> object:
    """Return numbers, true and false as the texts that Kafka expects."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Whole = Annotated[int, Field(ge=1, le=_MOST_REPLICAS)]
ReplicationFactor = Annotated[
    Replicas | Count,
    PlainValidator(_replicas, json_schema_input_type=Replicas | Whole),
    PlainSerializer(lambda wish: wish),
]
ConfigValue = Annotated[
    str, BeforeValidator(_as_text, json_schema_input_type=str | int | float | bool)
]


class ConfigRules(Section):
    """The rules for topic configs: which are copied, and which are overridden."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Regular expressions; a config whose whole name matches one is kept equal to"
        " the source.",
    )
    exclude: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; a config whose whole name matches one is not changed on"
        " the target.",
    )
    override: dict[str, ConfigValue] = Field(
        default_factory=dict,
        description="Configs that every mirror topic gets, with their values, whatever the source"
        " has.",
    )

    def selects(self, config: str) -> bool:
        """Return whether a config is kept equal to the source."""
        return fits(config, self.include) and not fits(config, self.exclude)


class Listed(Protocol):
    """Protocol of a topic as a broker lists it."""

    @property
    def name(self) -> str:
        """The topic's name."""

    @property
    def internal(self) -> bool:
        """Whether the broker marks the topic as internal."""


class TopicSelection(Section):
    """The selection of topics by regular expressions."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        description="Python regular expressions; a topic whose whole name matches one is taken.",
    )
    exclude: tuple[Expression, ...] = Field(
        (), description="Regular expressions; a topic whose whole name matches one is not taken."
    )

    def matches(self, topic: str, *, internal: bool = False) -> bool:
        """Return whether a source topic is selected.

        Args:
            topic: Its name.
            internal: Whether the broker calls it internal.
        """
        return not (internal or is_own(topic)) and self.asks_for(topic)

    def asks_for(self, topic: str) -> bool:
        """Return whether the expressions match a name, even one that is never selected."""
        return fits(topic, self.include) and not fits(topic, self.exclude)

    def takes(self, topic: Listed) -> bool:
        """Return whether a topic that the source lists is selected."""
        return self.matches(topic.name, internal=topic.internal)


class TopicsConfig(TopicSelection):
    """The topics to mirror, their names on the target, and their configs."""

    rename: Annotated[str, AfterValidator(template)] = Field(
        _WHOLE,
        description="Name on the target; `{topic}` stands for the name on the source, `{1}` and"
        " `{name}` for groups of the first expression of `include` that matches it; or with"
        " expressions, such as `${! @kafka_topic.uppercase() }` (docs/redpanda-connect.md).",
    )
    replication_factor: ReplicationFactor = Field(
        Replicas.SOURCE,
        description="Replication factor of new mirror topics: that of the `source`, the target's"
        " `broker_default`, or a number; never more than the target has brokers.",
    )
    configs: ConfigRules = Field(
        ConfigRules.model_construct(), description="The topic configs that are copied."
    )
    shared: StrictBool = Field(
        False,
        description="Whether others may write to the mirror topics, too: other links, or producers"
        " before the cutover. Without it, a topic that another link writes is refused, and `verify`"
        " and `cutover` fail where a mirror topic holds records of others; with it, these are"
        " counted.",
    )

    may_delete: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; if the whole name of a source topic matches one, its"
        " mirror topic is meant to keep less than the source, say by a shorter retention. What the"
        " target deletes while the source still has it is then counted and no difference; without"
        " it, `status`, `verify` and `cutover` end with 3. Its retention and compaction are not"
        " held back beyond the first copy, even where the target then deletes what the source keeps"
        " (docs/plan.md).",
    )

    @contradictions
    def _groups(self) -> Iterator[Placed]:
        yield from _renaming(self.rename, self.include).faults()

    def lets_delete(self, topic: str) -> bool:
        """Return whether a mirror topic may delete records that the source still has."""
        return fits(topic, self.may_delete)

    @property
    def keeps_names(self) -> bool:
        """Whether mirror topics have the same names as their source topics."""
        return self.rename == _WHOLE

    @property
    def names_alike(self) -> bool:
        """Whether all mirror topics would get the same name."""
        return not PLACEHOLDER.search(self.rename)

    def target_prefix(self, prefix: str) -> str | None:
        """Return the prefix of mirror topics for a source prefix, `None` if there is no such."""
        before = self.rename.removesuffix(_WHOLE)
        alike = before != self.rename and not PLACEHOLDER.search(before)
        return before + prefix if alike else None

    def target_name(self, topic: str) -> TopicName:
        """Return the name of the mirror topic of a source topic.

        Raises:
            ConfigError: Kafka does not allow the name, or it belongs to an internal topic.
        """
        renaming = _renaming(self.rename, self.include)
        name = renaming.name(topic)
        why = ""
        if not LEGAL.fullmatch(name):
            why = "is longer than 249 characters" if len(name) > 249 else "has illegal characters"
        elif name in {".", ".."}:
            why = "is not allowed by Kafka"
        elif is_own(name):
            why = "belongs to an internal topic"
        if why:
            raise renaming.misnamed(
                f"topic {topic} would be named {name} on the target, a name that {why}"
            )
        return TopicName(name)

    def target_names(
        self, topics: Iterable[TopicName]
    ) -> tuple[dict[TopicName, TopicName], dict[TopicName, str]]:
        """Return the mirror topic of each topic, and why some topics cannot have one."""
        names: dict[TopicName, TopicName] = {}
        misnamed: dict[TopicName, str] = {}
        for topic in topics:
            try:
                names[topic] = self.target_name(topic)
            except ConfigError as error:
                misnamed[topic] = str(error)
        return names, misnamed


class LinkTopics(TopicsConfig):
    """The topics that a link mirrors, with their names and configs on the target."""

    twin: LinkName | None = Field(
        None,
        description="Name of the link that copies the same topics in the other direction, if both"
        " sides are written (docs/howto/two-directions.md). Its file names this link likewise. Each"
        " link leaves out what the other one wrote, by the producer ids of batches, and offsets are"
        " mapped.",
    )
    partitions: Annotated[Count, Strict(), Field(ge=1, le=MOST_PARTITIONS)] | None = Field(
        None,
        description="Number of partitions of each mirror topic, if it is to be another one than at"
        " the source. Records then go through Spark (docs/howto/transform.md): those with a key to"
        " the partition that Java clients would choose, those without one to that of their source"
        " partition.",
    )


def _renaming(rename: str, include: tuple[str, ...]) -> Renaming:
    return Renaming(_TOPIC, "topics.rename", rename, include)
