"""Changes of many topics in one request: applied, or only validated by the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    IncrementalAlterConfigsRequest,
)

from towpath.cluster.admin.numbers import TOPIC
from towpath.cluster.codes import (
    INVALID_PARTITIONS,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import TopicName
from towpath.runtime.deadline import Deadline

T = TypeVar("T")
Configs = Mapping[str, str | None]
"""Configs with their new values, `None` for the default."""

_SET, _DELETE = 0, 1
_CHECKING = "checking changes of topics"
_TOPICS_AT_ONCE = 500
_PARTITIONS_AT_ONCE = 5000
"""A KRaft controller refuses requests about more than 10,000 partitions."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; a replication factor of -1 means the cluster's default."""

    name: TopicName
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """A kind of change to topics.

    Attributes:
        what: What is done with one topic, for errors.
        acl: The right that this needs.
        request: What the controller is asked for.
        answers: How its answer tells of each topic.
        partitions: How many a topic has then, where the controller makes them.
        done_already: What it answers where it had done so before.
    """

    what: Callable[[TopicName, T], str]
    acl: Callable[[TopicName], str]
    request: Callable[[Mapping[TopicName, T]], Any]
    answers: Callable[[Any], Iterable[tuple[str, Any]]]
    partitions: Callable[[T], int] = lambda _: 1
    done_already: int | None = None

    def named(self, wanted: Mapping[TopicName, T]) -> str:
        """Return the name of the change, for errors that concern no single topic."""
        texts = [self.what(name, each) for name, each in wanted.items()]
        more = f" and {len(texts) - 1} changes more" if len(texts) > 1 else ""
        return f"{texts[0]}{more}"


class Trial(Generic[T]):
    """Changes that are tried until each is applied or finally refused.

    Attributes:
        left: Changes that may still succeed.
        done: Seconds that each applied change took: its shares of its requests.
        refused: The last error of each other change.
    """

    def __init__(self, change: Change[T], wanted: Mapping[TopicName, T], side: str) -> None:
        self.change, self._wanted, self._side = change, wanted, side
        self.left = dict(wanted)
        self.done: dict[TopicName, float] = {}
        self.refused: dict[TopicName, RefusedError] = {}
        self._spent = dict.fromkeys(wanted, 0.0)
        self._unsure: set[TopicName] = set()

    def unanswered(self) -> None:
        """Record that a request had no answer, so its changes may have been applied."""
        self._unsure |= self.left.keys()

    def take(self, answer: Any, seconds: float) -> None:
        """Process the answer to a request for all remaining changes.

        Raises:
            RefusedError: An error of one change may pass.
        """
        for name in self.left:
            self._spent[name] += seconds / len(self.left)
        for text, said in self.change.answers(answer):
            self._take(TopicName(text), said)
        errors = [self.refused[name] for name in self.left]
        # Brokers may not know a new topic yet, but only for a moment.
        for error in sorted(errors, key=lambda e: e.error == UNKNOWN_TOPIC_OR_PARTITION):
            raise error

    def _take(self, name: TopicName, said: Any) -> None:
        again = name in self._unsure and said.error_code == self.change.done_already
        if not said.error_code or again:
            self.done[name] = self._spent[name]
            self.refused.pop(name, None)
            del self.left[name]
            return
        error = refused(
            self._side,
            self.change.what(name, self._wanted[name]),
            said.error_code,
            said.error_message,
            self.change.acl(name),
        )
        self.refused[name] = error
        if said.error_code == REQUEST_TIMED_OUT:
            self._unsure.add(name)
        if not error.retriable:
            del self.left[name]

    def failed(self, error: ClusterError | None) -> dict[TopicName, ClusterError]:
        """Return the error of each failed change; `error` for those without an answer."""
        unanswered = dict.fromkeys(self.left, error) if error is not None else {}
        return {**unanswered, **self.refused}


def creation(timeout_ms: int, *, validate_only: bool = False) -> Change[NewTopic]:
    """Return the kind of change that creates topics."""
    kind = CreateTopicsRequest.CreatableTopic

    def one(topic: NewTopic) -> Any:
        return kind(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            assignments=[],
            configs=[
                kind.CreatableTopicConfig(name=key, value=value)
                for key, value in topic.configs.items()
            ],
        )

    return Change(
        lambda _, topic: _creating(topic),
        lambda name: f"Create on topic {name} or on the cluster",
        lambda topics: CreateTopicsRequest(
            topics=list(map(one, topics.values())),
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        ),
        lambda answer: ((said.name, said) for said in answer.topics),
        lambda topic: topic.partitions,
        TOPIC_ALREADY_EXISTS,
    )


def growth(timeout_ms: int, *, validate_only: bool = False) -> Change[int]:
    """Return the kind of change that raises the partition counts of topics."""
    kind = CreatePartitionsRequest.CreatePartitionsTopic
    return Change(
        lambda name, count: f"growing topic {name} to {count} partitions",
        lambda name: f"Alter on topic {name}",
        lambda counts: CreatePartitionsRequest(
            topics=[
                kind(name=name, count=count, assignments=None) for name, count in counts.items()
            ],
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        ),
        lambda answer: ((said.name, said) for said in answer.results),
        lambda count: count,
        INVALID_PARTITIONS,
    )


def config_change(*, validate_only: bool = False) -> Change[Configs]:
    """Return the kind of change that sets the given configs of topics (KIP-339)."""
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource

    def one(name: TopicName, configs: Configs) -> Any:
        changes = [
            kind.AlterableConfig(
                name=key, config_operation=_DELETE if value is None else _SET, value=value
            )
            for key, value in configs.items()
        ]
        return kind(resource_type=TOPIC, resource_name=name, configs=changes)

    return Change(
        lambda name, configs: f"changing {', '.join(configs)} of topic {name}",
        lambda name: f"AlterConfigs on topic {name}",
        lambda changes: IncrementalAlterConfigsRequest(
            resources=[one(name, configs) for name, configs in changes.items()],
            validate_only=validate_only,
        ),
        lambda answer: ((said.resource_name, said) for said in answer.responses),
    )


def _creating(topic: NewTopic) -> str:
    factor = topic.replication_factor if topic.replication_factor > 0 else "of the cluster"
    count = f"{topic.partitions} partition{'' if topic.partitions == 1 else 's'}"
    return f"creating topic {topic.name} with {count} and replication factor {factor}"


def check_all(
    control: Control, change: Change[T], wanted: Mapping[TopicName, T]
) -> dict[TopicName, RefusedError]:
    """Let the cluster validate changes; return the refusals by topic.

    Raises:
        ClusterError: Nothing could be checked.
    """
    found: dict[TopicName, RefusedError] = {}
    for part in _parts(wanted, change.partitions):
        trial = Trial(change, part, control.side)
        error = _try(control, trial, _CHECKING)
        if error is not None and not (trial.refused and isinstance(error, RefusedError)):
            raise error
        found |= trial.refused
    return found


def change_all(
    control: Control, change: Change[T], wanted: Mapping[TopicName, T]
) -> Answers[TopicName, float]:
    """Change topics; return the seconds that each took: its share of its request."""
    done: dict[TopicName, float] = {}
    failed: dict[TopicName, ClusterError] = {}
    for part in _parts(wanted, change.partitions):
        trial = Trial(change, part, control.side)
        failed |= trial.failed(_try(control, trial, change.named(part)))
        done |= trial.done
    return Answers(done, failed)


def _try(control: Control, trial: Trial[T], what: str) -> ClusterError | None:
    """Ask the controller until all changes are settled; return the error that ended it earlier.

    The controller limits the rate of changes (KIP-599), so each success restarts the timeout.
    """
    error = None
    while trial.left:
        before = len(trial.left)
        try:
            control.retried(lambda deadline: _once(control, trial, what, deadline))
        except ClusterError as caught:
            error = caught
        if len(trial.left) == before:
            return error
    return None


def _once(control: Control, trial: Trial[T], what: str, deadline: Deadline) -> None:
    controller = control.controller(deadline)
    request = trial.change.request(trial.left)
    began = time.monotonic()
    try:
        answer = control.ask(controller, request, deadline, what)
    except UnreachableError:
        trial.unanswered()
        raise
    trial.take(answer, time.monotonic() - began)


def _parts(
    things: Mapping[TopicName, T], partitions: Callable[[T], int]
) -> Iterator[dict[TopicName, T]]:
    """Cut the changes into requests of at most the allowed size."""
    part: dict[TopicName, T] = {}
    total = 0
    for name, thing in things.items():
        count = partitions(thing)
        if part and (len(part) == _TOPICS_AT_ONCE or total + count > _PARTITIONS_AT_ONCE):
            yield part
            part, total = {}, 0
        part[name] = thing
        total += count
    if part:
        yield part
