"""From what is there to what has to be done. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from towpath.config import RecordsConfig, StartAt
from towpath.model.nouns import TopicName
from towpath.topics.findings import Cause, Note, Obstacle
from towpath.topics.observe import Observed, Topic, alike
from towpath.topics.settings import settings_for, stamps_itself
from towpath.topics.steps import AddPartitions, CreateTopic, Step

_RETENTIONS = ("retention.ms", "retention.bytes")


@dataclass(frozen=True, slots=True)
class Difference:
    """What is between the target and what the file asks for.

    Attributes:
        topics: The topics that can be mirrored, with their names on the target.
        steps: What to do, at most one step per topic.
        notes: What a person should know.
        obstacles: Why other topics cannot be mirrored.
    """

    topics: Mapping[TopicName, TopicName]
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    obstacles: tuple[Obstacle, ...]


def diff(observed: Observed, records: RecordsConfig) -> Difference:
    """Return what is to be done on the target.

    Args:
        observed: Both clusters as they are.
        records: Where copying begins decides what retention may delete on arrival.
    """
    obstacles = [*observed.obstacles, *_shared_names(observed), *_circles(observed)]
    left_out = {obstacle.about for obstacle in obstacles} | observed.circular
    topics = [topic for topic in observed.source if topic.name not in left_out]
    steps: list[Step] = []
    notes = [*observed.notes, *_colliding(observed)]
    for topic in topics:
        name = observed.names[topic.name]
        there = observed.target.get(name)
        if there is None:
            step, said = _create(topic, name, observed, records)
            steps.append(step)
            notes += said
        else:
            steps += _grow(topic, there)
            notes += [*_beside(topic, there), *_deletes_more(topic, there)]
    return Difference(
        {topic.name: observed.names[topic.name] for topic in topics},
        tuple(steps),
        tuple(dict.fromkeys(notes)),
        tuple(obstacles),
    )


def _create(
    topic: Topic, name: TopicName, observed: Observed, records: RecordsConfig
) -> tuple[CreateTopic, list[Note]]:
    replicas = min(topic.replication_factor, observed.brokers)
    configs, said = settings_for(topic, observed, replicas)
    notes = [Note(topic.name, text) for text in said]
    if replicas < topic.replication_factor:
        text = (
            f"replication factor {replicas} instead of the source's {topic.replication_factor}:"
            f" the target has no more brokers"
        )
        notes.append(Note(topic.name, text))
    if records.start is StartAt.EARLIEST:
        notes += _deleted_on_arrival(topic, {**observed.defaults, **configs})
    return CreateTopic(topic.name, name, topic.partitions, replicas, configs), notes


def _deleted_on_arrival(topic: Topic, settings: Mapping[str, str]) -> Iterator[Note]:
    retention = settings.get("retention.ms", "-1")
    if "delete" in settings.get("cleanup.policy", "delete") and not retention.startswith("-"):
        text = (
            f"the target deletes records older than retention.ms ({retention}) soon after they"
            f" arrive; to keep them, set retention.ms there to -1 until the cutover"
        )
        yield Note(topic.name, text)


def _grow(topic: Topic, there: Topic) -> Iterator[AddPartitions]:
    if there.partitions < topic.partitions:
        yield AddPartitions(topic.name, there.name, there.partitions, topic.partitions)


def _beside(topic: Topic, there: Topic) -> Iterator[Note]:
    """Say in what a topic that is there already differs so much that records may suffer."""
    if there.partitions > topic.partitions:
        text = (
            f"has {there.partitions} partitions on the target and {topic.partitions} on the source;"
            " the others stay without mirrored records, and producers there spread keys otherwise"
        )
        yield Note(topic.name, text)
    if stamps_itself(there.settings):
        text = (
            "the target stamps records with its own time; set message.timestamp.type=CreateTime"
            " there to keep the source's times"
        )
        yield Note(topic.name, text)
    ours = int(topic.settings.get("max.message.bytes", 0))
    theirs = int(there.settings.get("max.message.bytes", ours))
    if theirs < ours:
        text = (
            f"the target takes batches of at most {theirs} bytes, the source has up to {ours};"
            f" larger ones are split, but a larger record stops its partition: raise"
            f" max.message.bytes there to {ours}"
        )
        yield Note(topic.name, text)


def _deletes_more(topic: Topic, there: Topic) -> Iterator[Note]:
    """Say where a topic that is there already keeps less than the source does."""
    ours, theirs = (
        set(each.settings.get("cleanup.policy", "delete").split(",")) for each in (topic, there)
    )
    if "compact" in theirs - ours:
        text = (
            "the target compacts the topic and the source does not: of records with the same key"
            " only the last stays, and records without a key are refused; set"
            " cleanup.policy=delete there"
        )
        yield Note(topic.name, text)
    for key in _RETENTIONS if "delete" in theirs else ():
        if key not in topic.settings or key not in there.settings:
            continue
        kept = int(topic.settings[key]) if "delete" in ours else -1
        kept_there = int(there.settings[key])
        if kept_there >= 0 and not 0 <= kept <= kept_there:
            text = (
                f"the target keeps less than the source: {key} is {kept_there} there and {kept} on"
                " the source; records may be deleted soon after they arrive"
            )
            yield Note(topic.name, text)


def _shared_names(observed: Observed) -> Iterator[Obstacle]:
    claimed: dict[TopicName, list[TopicName]] = defaultdict(list)
    for topic in observed.source:
        claimed[observed.names[topic.name]].append(topic.name)
    for name, claimants in claimed.items():
        for claimant in claimants if len(claimants) > 1 else ():
            others = ", ".join(other for other in claimants if other != claimant)
            text = (
                f"would be named {name} on the target, as {others} would;"
                " change `topics.rename`, or exclude all but one"
            )
            yield Obstacle(claimant, text, Cause.FILE)


def _circles(observed: Observed) -> Iterator[Obstacle]:
    """Refuse to copy a topic onto itself, and copies of copies without end."""
    same = [name for name in observed.circular if observed.names[name] == name]
    again = [observed.names[name] for name in observed.circular - set(same)]
    if same:
        text = (
            f"source and target are the same cluster ({observed.one_cluster}), so {_some(same)}"
            " would be copied onto itself; give the copies another name, such as copy.{topic}, or"
            " correct `target.bootstrap`"
        )
        yield Obstacle("topics.rename", text, Cause.FILE)
    if again:
        text = (
            f"source and target are the same cluster ({observed.one_cluster}) and the copies match"
            f" `topics.include` again ({_some(again)}), so copies would be copied without end;"
            " name the copies under `topics.exclude`"
        )
        yield Obstacle("topics.include", text, Cause.FILE)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _colliding(observed: Observed) -> Iterator[Note]:
    """Kafka's metrics cannot tell `.` from `_`, so it refuses to create the second such topic."""
    families: dict[str, set[TopicName]] = defaultdict(set)
    for name in (*observed.target, *observed.names.values()):
        families[alike(name)].add(name)
    for source, name in observed.names.items():
        others = sorted(families[alike(name)] - {name})
        if others and name not in observed.target:
            text = (
                f"{name} differs from {', '.join(others)} only by '.' and '_', which Kafka's"
                " metrics cannot tell apart; brokers refuse to create the second one"
            )
            yield Note(source, text)
