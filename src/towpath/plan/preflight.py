"""What would stop a run, found before it begins; nothing is touched.

The functions above `Checks` are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kafka.admin import ACLOperation

from towpath.cluster.admin import Admin
from towpath.cluster.exchange import Versions
from towpath.config import LinkConfig
from towpath.ledger import books
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicName
from towpath.plan.model import ClusterFacts
from towpath.plan.rights import missing_rights
from towpath.topics.diff import Difference
from towpath.topics.findings import Cause, Note, Obstacle
from towpath.topics.observe import Observed
from towpath.topics.steps import AddPartitions, CreateTopic, Step

_PRODUCE, _DESCRIBE_PRODUCERS = 0, 61
_PRODUCE_WITH_ZSTD = 7
_ON_LEDGER = (ACLOperation.READ, ACLOperation.WRITE)
_ON_COPY = (*_ON_LEDGER, ACLOperation.DELETE)
"""Each of them implies Describe; Delete is for DeleteRecords, which lets a log start later."""


def one_cluster(
    source: ClusterFacts, target: ClusterFacts, config: LinkConfig, found: Difference
) -> Iterator[Obstacle]:
    """Refuse to copy a topic onto itself, and copies of copies without end."""
    if source.id != target.id:
        return
    same = [name for name, copy in found.topics.items() if name == copy]
    if same:
        text = (
            f"source and target are the same cluster ({source.id}), so {_some(same)} would be"
            " copied onto itself; give the copies another name, such as copy.{topic}, or correct"
            " `target.bootstrap`"
        )
        yield Obstacle("topics.rename", text, Cause.FILE)
    again = [copy for copy in found.topics.values() if config.topics.matches(copy)]
    if again and not same:
        text = (
            f"source and target are the same cluster ({source.id}) and the copies match"
            f" `topics.include` again ({_some(again)}), so copies would be copied without end;"
            " name the copies under `topics.exclude`"
        )
        yield Obstacle("topics.include", text, Cause.FILE)


def unmatched_expressions(observed: Observed, config: LinkConfig) -> Iterator[Note]:
    """Tell which expressions match no topic, with the names that come nearest."""
    matched = [topic.name for topic in observed.source]
    matched += [TopicName(obstacle.about) for obstacle in observed.obstacles]
    for expression in config.topics.include:
        if any(re.fullmatch(expression, name) for name in matched):
            continue
        near = get_close_matches(expression, observed.unmatched, n=3, cutoff=0.4)
        hint = f"; the nearest names are {', '.join(near)}" if near else ""
        text = (
            f"{expression!r} matches no topic that the login may describe{hint};"
            " a run mirrors such a topic as soon as there is one"
        )
        yield Note("topics.include", text)


def old_target(versions: Versions) -> tuple[list[Note], list[Obstacle]]:
    """Tell what the target's brokers are too old for."""
    notes, obstacles = [], []
    newest = versions.get(_PRODUCE, (0, -1))[1]
    if newest < _PRODUCE_WITH_ZSTD:
        text = (
            f"the brokers take Produce requests up to version {newest}, and zstd batches need"
            f" {_PRODUCE_WITH_ZSTD}; upgrade the target to Kafka 2.8 or newer"
        )
        obstacles.append(Obstacle("target", text, Cause.CLUSTER))
    if _DESCRIBE_PRODUCERS not in versions:
        text = (
            "the brokers do not tell the state of producers (DescribeProducers), so after a crash"
            " a run goes on from the ledger alone; Kafka 2.8 and newer tell it"
        )
        notes.append(Note("target", text))
    return notes, obstacles


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


@dataclass(frozen=True, slots=True)
class Checks:
    """What is asked of the clusters about a difference."""

    config: LinkConfig
    target: Admin
    target_facts: ClusterFacts
    found: Difference

    def refused_steps(self) -> dict[TopicName, Obstacle]:
        """Return why the target would refuse to create topics, by source topic."""
        refused = {}
        for step in self.found.steps:
            if isinstance(step, CreateTopic):
                error = self._refusal(
                    step.target, step.partitions, step.replication_factor, step.configs
                )
                if error:
                    refused[step.source] = Obstacle.of(error, step.source)
        return refused

    def ledger(self) -> Iterator[Obstacle]:
        """Tell whether the ledger's topic could neither be used nor created."""
        there = self.target.topics([books.TOPIC]).get(books.TOPIC)
        if there is not None and there.error is None:
            lacking = missing_rights(self.config.target, Side.TARGET, {books.TOPIC: _ON_LEDGER})
            yield from (
                _lacking(Side.TARGET, books.TOPIC, books.TOPIC, lacking[t]) for t in lacking
            )
            return
        error = self._refusal(books.TOPIC, 2, min(3, self.target_facts.brokers), {})
        if error:
            yield Obstacle("target", str(error), Cause.CLUSTER)

    def rights(self) -> Iterator[Obstacle]:
        """Tell which rights the logins lack on topics that are there already."""
        needed: dict[TopicName, Sequence[ACLOperation]] = dict.fromkeys(
            self.found.topics, (ACLOperation.READ,)
        )
        lacking = missing_rights(self.config.source, Side.SOURCE, needed)
        for name, operations in lacking.items():
            yield _lacking(Side.SOURCE, name, name, operations)
        growing = {step.source for step in self.found.steps if isinstance(step, AddPartitions)}
        sources = {copy: name for name, copy in self.found.topics.items()}
        needed = {copy: _on_copy(growing=name in growing) for copy, name in sources.items()}
        lacking = missing_rights(self.config.target, Side.TARGET, needed)
        for copy, operations in lacking.items():
            yield _lacking(Side.TARGET, copy, sources[copy], operations)

    def _refusal(
        self, name: TopicName, partitions: int, replicas: int, configs: Mapping[str, str]
    ) -> ClusterError | None:
        try:
            self.target.create_topic(name, partitions, replicas, configs, validate_only=True)
        except ClusterError as error:
            return error
        return None


def without(steps: Sequence[Step], topics: Mapping[TopicName, Obstacle]) -> tuple[Step, ...]:
    """Return the steps of topics that are not among `topics`."""
    return tuple(step for step in steps if step.source not in topics)


def _on_copy(*, growing: bool) -> tuple[ACLOperation, ...]:
    return (*_ON_COPY, ACLOperation.ALTER) if growing else _ON_COPY


def _lacking(side: Side, topic: str, about: str, operations: Sequence[ACLOperation]) -> Obstacle:
    names = " and ".join(operation.name.title() for operation in operations)
    text = f"{side}: the login lacks the ACL {names} on topic {topic}; add it there"
    return Obstacle(about, text, Cause.CLUSTER)
