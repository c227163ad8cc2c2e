"""Changes to the target's topics, as data. Each tells in `about` which topic it changes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.plan.kinds import FULL_BATCH, StepKind, StepKinds


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """Create `target`; requires that there is no topic of this name.

    Attributes:
        source: The topic that it is a mirror topic of.
        target: Its name.
        partitions: How many it gets.
        replication_factor: -1 stands for the target's default.
        configs: Configs that it begins with.
        held: Those of them that are other ones while the mirror topic is filled, with what each
            shall be
            in the end; `None` where the target's default shall hold then.
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
        """The topic of the target."""
        return self.target


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Let `target` grow to `to_count` partitions; requires that it still has `from_count`."""

    subject: ClassVar[str] = "topics"
    creates: ClassVar[bool] = False

    source: TopicName
    target: TopicName
    from_count: int
    to_count: int

    @property
    def about(self) -> str:
        """The topic of the target."""
        return self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class SetConfigs:
    """Change configs of `target`; requires that each still is as in `before`.

    Requires, too, that the topic still has this `id`, where brokers tell such.

    Attributes:
        source: The topic that it is a mirror topic of.
        target: Its name.
        set: Configs with their new values.
        remove: Configs that take the target's default again.
        before: What `target` itself had of all these, `None` where nothing.
        owned: Those of all these that the link had set earlier.
        id: That of `target`.
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

    @property
    def about(self) -> str:
        """The topic of the target."""
        return self.target

    def only(self, keys: Container[str]) -> SetConfigs:
        """Return the step with these of its configs alone."""
        return replace(
            self,
            set={key: value for key, value in self.set.items() if key in keys},
            remove=tuple(key for key in self.remove if key in keys),
            before={key: value for key, value in self.before.items() if key in keys},
            owned=tuple(key for key in self.owned if key in keys),
        )

    @property
    def changes(self) -> dict[str, str | None]:
        """All configs with their new values, `None` for the default."""
        return {**self.set, **dict.fromkeys(self.remove)}


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """Delete `target`, the mirror topic of a topic that is no longer mirrored.

    Requires that it still has this id and as many partitions.
    """

    subject: ClassVar[str] = "topics"
    creates: ClassVar[bool] = False

    source: TopicName
    target: TopicName
    id: TopicId
    partitions: int

    @property
    def about(self) -> str:
        """The topic of the target."""
        return self.target


TopicStep = CreateTopic | AddPartitions | SetConfigs | DeleteTopic

KINDS = StepKinds(
    (
        StepKind(
            step=CreateTopic,
            verb="create",
            once=True,
            identified=True,
            weight=lambda step: step.partitions,
            blamed=lambda step: step.source,
        ),
        StepKind(
            step=AddPartitions,
            verb="grow",
            identified=True,
            weight=lambda step: step.to_count - step.from_count,
            blamed=lambda step: step.source,
        ),
        StepKind(
            step=SetConfigs,
            verb="set",
            identified=True,
            part=lambda step: ",".join(sorted(step.before)),
            blamed=lambda step: step.source,
        ),
        StepKind(
            step=DeleteTopic,
            verb="delete",
            removes=True,
            identified=True,
            weight=lambda _: FULL_BATCH,
            blamed=lambda step: step.source,
        ),
    )
)
"""A partition weighs 1; a small broker takes a second or two to make as many as fill a batch.
A deletion has a request of its own, and takes a while."""
