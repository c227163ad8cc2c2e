"""Both clusters' topics in tests: observed, compared, changed; and short ways to write steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.kafka import create_topic
from tests.support.links import link
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import non_default
from towpath.dev.broker import LocalCluster
from towpath.model.errors import TowpathError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName
from towpath.model.outcome import Outcome
from towpath.plan.subject import Difference
from towpath.settings import LinkConfig
from towpath.topics.apply import apply
from towpath.topics.diff import diff
from towpath.topics.observe import observe
from towpath.topics.observed import ObservedTopics
from towpath.topics.owned import NOTHING, OwnedTopics
from towpath.topics.steps import CreateTopic, SetConfigs, TopicStep


class Sides:
    """Both clusters' control planes, and what is done with them."""

    def __init__(self, source: LocalCluster, target: LocalCluster) -> None:
        self._addresses = source.bootstrap, target.bootstrap
        config = self.link(".*")
        self.source = Admin(config.source, Side.SOURCE)
        self.target = Admin(config.target, Side.TARGET)

    def link(self, *include: str, **options: Any) -> LinkConfig:
        return link(*self._addresses, *include, **options)

    def observe(self, *include: str, ours: OwnedTopics = NOTHING, **options: Any) -> ObservedTopics:
        return observe(self.source, self.target, self.link(*include, **options), ours)

    def diff(
        self, *include: str, ours: OwnedTopics = NOTHING, **options: Any
    ) -> Difference[TopicStep]:
        seen = self.observe(*include, ours=ours, **options)
        return diff(seen, self.link(*include, **options), ours)

    def create(self, name: str, partitions: int = 1, **configs: str) -> TopicName:
        configs = {key.replace("_", "."): value for key, value in configs.items()}
        return TopicName(create_topic(self._addresses[0], name, partitions, configs))

    def id(self, topic: TopicName) -> TopicId:
        return self.target.topics.describe([topic])[topic].id

    def own(self, topic: TopicName) -> dict[str, str]:
        return non_default(self.target.configs.describe([topic])[topic])


def apply_all(steps: Iterable[TopicStep], target: Admin) -> Outcome[TopicStep]:
    """Do each step, whatever becomes of the others."""
    done: list[TopicStep] = []
    failed: dict[str, TowpathError] = {}
    for step in steps:
        try:
            apply(step, target)
            done.append(step)
        except TowpathError as error:
            failed[step.source] = error
    return Outcome(tuple(done), failed)


def texts(found: Difference[TopicStep], topic: str) -> str:
    return "\n".join(note.text for note in found.notes if note.about == topic)


def creates(
    name: TopicName,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    *,
    replicas: int = 1,
    held: Mapping[str, str | None] | None = None,
) -> CreateTopic:
    """Return the step that creates a mirror topic under the name of its topic."""
    return CreateTopic(
        source=name,
        target=name,
        partitions=partitions,
        replication_factor=replicas,
        configs=configs or {},
        held=held or {},
    )


def changes(
    name: TopicName,
    values: Mapping[str, str],
    *,
    before: Mapping[str, str | None],
    remove: tuple[str, ...] = (),
    owned: tuple[str, ...] = (),
    id: TopicId = NO_TOPIC_ID,
) -> SetConfigs:
    """Return the step that changes configs of a mirror topic under the name of its topic."""
    return SetConfigs(
        source=name, target=name, set=values, remove=remove, before=before, owned=owned, id=id
    )
