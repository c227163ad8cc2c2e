"""Changes of topics, many in one request: made, or only checked by the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from towpath.cluster.admin.brokers import BrokerAdmin
from towpath.cluster.admin.topic_requests import (
    Change,
    NewTopic,
    Settings,
    Trial,
    creation,
    growth,
    setting,
)
from towpath.cluster.metadata import Answers
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import TopicName

T = TypeVar("T")

_CHECKING = "checking changes of topics"
_TOPICS_AT_ONCE = 500
_PARTITIONS_AT_ONCE = 5000
"""A KRaft controller refuses requests about more than 10,000 partitions, each of their topics."""


class TopicChangeAdmin(BrokerAdmin):
    """Lets the cluster change topics, or check changes without making them.

    Each check returns the refusals alone, by topic, and raises where nothing could be checked.
    """

    def refused_topics(self, topics: Iterable[NewTopic]) -> dict[TopicName, RefusedError]:
        """Return why topics could not be created."""
        change = creation(self._timeout_ms, validate_only=True)
        return self._refusals(change, {topic.name: topic for topic in topics})

    def refused_growth(self, counts: Mapping[TopicName, int]) -> dict[TopicName, RefusedError]:
        """Return why topics could not grow to these numbers of partitions."""
        return self._refusals(growth(self._timeout_ms, validate_only=True), counts)

    def refused_configs(
        self, changes: Mapping[TopicName, Settings]
    ) -> dict[TopicName, RefusedError]:
        """Return why settings of topics could not be changed."""
        return self._refusals(setting(validate_only=True), changes)

    def _refusals(
        self, change: Change[T], wanted: Mapping[TopicName, T]
    ) -> dict[TopicName, RefusedError]:
        found: dict[TopicName, RefusedError] = {}
        for part in _parts(wanted, change.partitions):
            trial = Trial(change, part, self._side)
            error = self._try(trial, _CHECKING)
            if error is not None and not (trial.refused and isinstance(error, RefusedError)):
                raise error
            found |= trial.refused
        return found

    def _change_all(
        self, change: Change[T], wanted: Mapping[TopicName, T]
    ) -> Answers[TopicName, float]:
        """Change topics; each answer is the seconds that it took, its share of its request's."""
        done: dict[TopicName, float] = {}
        failed: dict[TopicName, ClusterError] = {}
        for part in _parts(wanted, change.partitions):
            trial = Trial(change, part, self._side)
            failed |= trial.failed(self._try(trial, change.named(part)))
            done |= trial.done
        return Answers(done, failed)

    def _try(self, trial: Trial[T], what: str) -> ClusterError | None:
        """Ask the controller, again about what time may heal; return why it ended before all is.

        It limits how much is changed at once (KIP-599): as long as something is, patience is new.
        """
        error = None
        while trial.left:
            before = len(trial.left)
            try:
                self._control.retried(lambda deadline: self._once(trial, what, deadline))
            except ClusterError as caught:
                error = caught
            if len(trial.left) == before:
                return error
        return None

    def _once(self, trial: Trial[T], what: str, deadline: Deadline) -> None:
        controller = self._control.controller(deadline)
        request = trial.change.request(trial.left)
        began = time.monotonic()
        try:
            answer = self._control.ask(controller, request, deadline, what)
        except UnreachableError:
            trial.unanswered()
            raise
        trial.take(answer, time.monotonic() - began)


def _parts(
    things: Mapping[TopicName, T], partitions: Callable[[T], int]
) -> Iterator[dict[TopicName, T]]:
    """Cut into as many as one request may be about."""
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
