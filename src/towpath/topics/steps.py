"""Changes to topics of the target, as data; `about` is the topic that a step changes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.plan.kinds import FULL_BATCH, StepKind, StepKinds

CLEANING = frozenset({"cleanup.policy", "retention.ms", "retention.bytes"})
"""Configs by which a broker deletes or compacts records by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """Create `target`; requires that no topic of this name exists.

    Attributes:
        source: The source topic.
        target: The name of the mirror topic.
        partitions: The number of partitions.
        replication_factor: The replication factor; -1 for the target's default.
        configs: The configs to create it with.
        held: Configs that are held back until the mirror topic is filled, with their final values;
            `None` for the target's default.
    """

    subject: ClassVar[str] = "topics"
    creates: ClassVar[bool] = True

    source: TopicName
    target: TopicName
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    held: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """The mirror topic that the step changes."""
        return self.target


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Add partitions to `target`; requires that it still has `from_count` partitions."""

    subject: ClassVar[str] = "topics"
    creates: ClassVar[bool] = False

    source: TopicName
    target: TopicName
    from_count: int
    to_count: int

    @property
    def about(self) -> str:
        """The mirror topic that the step changes."""
        return self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class SetConfigs:
    """Change configs of `target`; requires that each still has its value in `before`.

    It also requires that the topic still has this `id`, if brokers tell ids.

    Attributes:
        source: The source topic.
        target: The name of the mirror topic.
        set: Configs with their new values.
        remove: Configs that are reset to the target's default.
        before: The values of all these configs on `target`, `None` for those that were not set.
        owned: Those of these configs that the link had set earlier.
        id: The id of `target`.
        held: Those that are held back by this step, with the values that they get once the topic
            is filled; `None` for the target's default.
    """

    subject: ClassVar[str] = "topics"
    creates: ClassVar[bool] = False

    source: TopicName
    target: TopicName
    set: Mapping[str, str]
    remove: tuple[str, ...]
    before: Mapping[str, str | None]
    owned: tuple[str, ...] = ()
    id: TopicId = NO_TOPIC_ID
    held: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """The mirror topic that the step changes."""
        return self.target

    def only(self, keys: Container[str]) -> SetConfigs:
        """Return the step with only the given configs."""
        return replace(
            self,
            set={key: value for key, value in self.set.items() if key in keys},
            remove=tuple(key for key in self.remove if key in keys),
            before={key: value for key, value in self.before.items() if key in keys},
            owned=tuple(key for key in self.owned if key in keys),
            held={key: value for key, value in self.held.items() if key in keys},
        )

    @property
    def cleans(self) -> bool:
        """Whether the step lets the target delete or compact more records of the topic."""
        return not CLEANING.isdisjoint(self.before)

    @property
    def changes(self) -> dict[str, str | None]:
        """All configs with their new values, `None` for the default."""
        return {**self.set, **dict.fromkeys(self.remove)}


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """Delete `target`, whose source topic is no longer mirrored.

    Requires that it still has this id and this number of partitions.
    """

    subject: ClassVar[str] = "topics"
    creates: ClassVar[bool] = False

    source: TopicName
    target: TopicName
    id: TopicId
    partitions: int

    @property
    def about(self) -> str:
        """The mirror topic that the step changes."""
        return self.target


TopicStep = CreateTopic | AddPartitions | SetConfigs | DeleteTopic

KINDS = StepKinds(
    (
        StepKind(
            step=CreateTopic,
            verb="create",
            reviewed=lambda _step: True,
            once=True,
            identified=True,
            weight=lambda step: step.partitions,
            blamed=lambda step: step.source,
            topic=lambda step: step.source,
        ),
        StepKind(
            step=AddPartitions,
            verb="grow",
            reviewed=lambda _step: True,
            identified=True,
            weight=lambda step: step.to_count - step.from_count,
            blamed=lambda step: step.source,
            topic=lambda step: step.source,
        ),
        StepKind(
            step=SetConfigs,
            verb="set",
            identified=True,
            reviewed=lambda _step: True,
            part=lambda step: ",".join(sorted(step.before)),
            blamed=lambda step: step.source,
            topic=lambda step: step.source,
        ),
        StepKind(
            step=DeleteTopic,
            verb="delete",
            removes=True,
            identified=True,
            weight=lambda _: FULL_BATCH,
            blamed=lambda step: step.source,
            topic=lambda step: step.source,
        ),
    )
)
"""A partition weighs 1: a small broker needs a second or two for the partitions of a full batch.
Each deletion has its own request, which takes a while."""
