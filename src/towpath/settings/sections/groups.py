"""The section `groups`: the groups to copy, and how they are kept in sync."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool

from towpath.model.nouns import TopicName
from towpath.settings.naming import PLACEHOLDER, Expression, Renaming, fits
from towpath.settings.problems import not_empty
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, between

_GROUP = "group"
_WHOLE = "{group}"
_ALIAS = re.compile(r"[A-Za-z0-9._-]{1,100}")


class GroupStates(StrEnum):
    """The source states of groups that are copied."""

    ANY = "any"
    EMPTY = "empty"


class Following(StrEnum):
    """Whether a removal at the source is repeated on the target."""

    KEEP = "keep"
    FOLLOW = "follow"


class Mm2Topic(StrEnum):
    """The topics in MirrorMaker 2's formats."""

    CHECKPOINTS = "checkpoints"
    OFFSET_SYNCS = "offset_syncs"
    HEARTBEATS = "heartbeats"


def _alias(text: str) -> str:
    if not _ALIAS.fullmatch(text):
        raise ValueError("must be 1 to 100 letters, digits, '.', '_' or '-'")
    return text


def _separator(text: str) -> str:
    if not _ALIAS.fullmatch(text):
        raise ValueError("must be made of letters, digits, '.', '_' or '-', as topic names are")
    return text


Alias = Annotated[str, AfterValidator(_alias)]


class Mm2Config(Section):
    """The topics in MirrorMaker 2's formats that are written to the target."""

    alias: Alias = Field(description="MirrorMaker 2's alias of the target cluster.")
    source_alias: Alias = Field(
        description="Its alias of the source cluster, which is part of the topics' names:"
        " `<source_alias>.checkpoints.internal`."
    )
    topics: Annotated[tuple[Mm2Topic, ...], AfterValidator(not_empty)] = Field(
        tuple(Mm2Topic), description="Which of its topics are written, all on the target."
    )
    separator: Annotated[str, AfterValidator(_separator)] = Field(
        ".",
        description="MirrorMaker 2's `replication.policy.separator`, as its clients have it.",
    )
    internal_separator: StrictBool = Field(
        True,
        description="Whether the names of these topics have the separator, too; false for clients"
        " with `replication.policy.internal.topic.separator.enabled=false`.",
    )

    @contradictions
    def _another(self) -> Iterator[Placed]:
        if self.source_alias == self.alias:
            text = "is the alias of the target, too; each cluster has its own"
            yield Placed(("source_alias",), text)


_TOPIC = "topic"


def _template(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


class ForeignConfig(Section):
    """Topics that another tool mirrors, whose offsets the ledger does not know."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        description="Python regular expressions; a source topic whose whole name matches one is"
        " mirrored by another tool. What `topics` asks for is not among them."
    )
    rename: Annotated[str, AfterValidator(_template)] = Field(
        "{topic}",
        description="Name that the other tool gives a topic on the target, as in `topics.rename`.",
    )

    @contradictions
    def _groups(self) -> Iterator[Placed]:
        yield from Renaming(_TOPIC, "groups.foreign.rename", self.rename, self.include).faults()

    def matches(self, topic: str) -> bool:
        """Return whether another tool mirrors a source topic."""
        return fits(topic, self.include)

    def target_name(self, topic: str) -> TopicName:
        """Return the name of the topic's copy.

        Raises:
            ConfigError: The topic would have no name.
        """
        renaming = Renaming(_TOPIC, "groups.foreign.rename", self.rename, self.include)
        return TopicName(renaming.name(topic))


class GroupConfigRules(Section):
    """The group configs to copy, and whether client metrics subscriptions are copied."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Regular expressions; a config of a group, such as"
        " `consumer.session.timeout.ms`, whose whole name matches one is kept equal to the source.",
    )
    exclude: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; a config whose whole name matches one is not changed on"
        " the target.",
    )
    absent: StrictBool = Field(
        False,
        description="Whether configs are also copied for groups that do not exist at the source."
        " Kafka keeps the configs of a deleted group, and they rule the next group of that name.",
    )
    client_metrics: StrictBool = Field(
        True,
        description="Whether subscriptions to metrics of clients (KIP-714) are copied, too.",
    )

    def selects(self, config: str) -> bool:
        """Return whether a config is kept equal to the source."""
        return fits(config, self.include) and not fits(config, self.exclude)


class GroupsConfig(Section):
    """The groups whose committed offsets are copied to the target."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Python regular expressions; a group whose whole name matches one is brought"
        " over, as far as it reads topics that are mirrored.",
    )
    exclude: tuple[Expression, ...] = Field(
        (), description="Regular expressions; a group whose whole name matches one is left alone."
    )
    rename: Annotated[str, AfterValidator(_template)] = Field(
        _WHOLE,
        description="Name on the target; `{group}` stands for the name on the source, `{1}` and"
        " `{name}` for groups of the first expression of `include` that matches it.",
    )
    states: GroupStates = Field(
        GroupStates.ANY,
        description="State of the groups at the source: `any`, or only those that are `empty`."
        " Nothing is ever written under members on the target.",
    )
    interval: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("10s"), description="How often a run brings the offsets over."
    )
    deletions: Following = Field(
        Following.KEEP,
        description="Whether a group or commit that was deleted at the source is deleted on the"
        " target (`follow`), if nobody has changed it there.",
    )
    rewinds: Following = Field(
        Following.KEEP,
        description="Whether a group that was set back at the source is set back on the target"
        " (`follow`), if nobody has changed it there.",
    )
    configs: GroupConfigRules = Field(
        GroupConfigRules.model_construct(),
        description="The configs of groups that are copied (Kafka 4.0 and newer).",
    )
    foreign: ForeignConfig | None = Field(
        None,
        description="Topics that another tool mirrors: where groups stand there is found by the"
        " header `redpanda-migrator-offset`, or else by time (docs/howto/move-groups.md).",
    )
    mm2: Mm2Config | None = Field(
        None,
        description="Topics in MirrorMaker 2's formats for clients that translate offsets by them.",
    )

    @contradictions
    def _groups(self) -> Iterator[Placed]:
        yield from _renaming(self.rename, self.include).faults()

    def matches(self, group: str) -> bool:
        """Return whether a group of the source is copied."""
        return fits(group, self.include) and not fits(group, self.exclude)

    @property
    def names_alike(self) -> bool:
        """Whether all groups would get the same name."""
        return not PLACEHOLDER.search(self.rename)

    def target_name(self, group: str) -> str:
        """Return the target name of a source group.

        Raises:
            ConfigError: The group would have no name.
        """
        return _renaming(self.rename, self.include).name(group)


def _renaming(rename: str, include: tuple[str, ...]) -> Renaming:
    return Renaming(_GROUP, "groups.rename", rename, include)
