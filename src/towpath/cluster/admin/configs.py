"""Configs of topics: description, change and validation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from towpath.cluster.admin.numbers import TOPIC, describe_configs
from towpath.cluster.admin.topic_changes import Configs, change_all, check_all, config_change
from towpath.cluster.admin.values import meaning
from towpath.cluster.codes import REQUEST_TIMED_OUT, refused
from towpath.cluster.connect.control import UNKNOWN_PATIENCE, Control
from towpath.cluster.metadata import Answers, ConfigEntry, non_default, read_configs
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import TopicName
from towpath.runtime.deadline import Deadline

_TOPICS_AT_ONCE = 500


class ConfigAdmin:
    """Describes and changes the configs of topics."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def describe(self, topics: Iterable[TopicName]) -> Answers[TopicName, dict[str, ConfigEntry]]:
        """Return all configs of each topic, inherited ones included.

        If no topic may be described, all of them are in `failed`; that does not raise.
        """
        found: dict[TopicName, dict[str, ConfigEntry]] = {}
        failed: dict[TopicName, ClusterError] = {}
        names = sorted(set(topics))
        for start in range(0, len(names), _TOPICS_AT_ONCE):
            part = names[start : start + _TOPICS_AT_ONCE]
            for said in self._control.retried(partial(self._describe, part)):
                name = TopicName(said.resource_name)
                if said.error_code:
                    what = f"asking for the configs of topic {name}"
                    acl = f"DescribeConfigs on topic {name}"
                    failed[name] = refused(
                        self._control.side, what, said.error_code, said.error_message, acl
                    )
                else:
                    found[name] = read_configs(said)
        return Answers(found, failed)

    def change(self, topic: TopicName, configs: Configs) -> None:
        """Change these configs of a topic and no others, and wait until all brokers show them.

        The value `None` resets a config to its default.
        """
        self.change_all({topic: configs}).sure(topic)

    def change_all(self, changes: Mapping[TopicName, Configs]) -> Answers[TopicName, float]:
        """Change configs of many topics.

        Returns:
            The seconds that each change took: its share of the time of its request.
        """
        changed = change_all(self._control, config_change(), changes)
        if changed:
            self._wait({name: changes[name] for name in changed})
        return changed

    def check(self, changes: Mapping[TopicName, Configs]) -> dict[TopicName, RefusedError]:
        """Return why configs of topics could not be changed, by topic."""
        return check_all(self._control, config_change(validate_only=True), changes)

    def _describe(self, names: Sequence[TopicName], deadline: Deadline) -> Sequence[Any]:
        what = "asking for the configs of topics"
        results: Sequence[Any] = self._control.ask_any(
            describe_configs(TOPIC, names), deadline, what
        ).results
        return results

    def _wait(self, changes: Mapping[TopicName, Configs]) -> None:
        """Wait until all brokers show the configs; a late broker is no error."""
        what = "waiting for the configs of topics"
        keys = sorted({key for configs in changes.values() for key in configs})
        request = describe_configs(TOPIC, sorted(changes), keys)

        def once(deadline: Deadline) -> None:
            brokers = self._control.metadata(deadline).brokers.values()
            for broker in brokers:
                share = deadline.share(len(brokers))
                with suppress(UnreachableError):
                    for said in self._control.ask(broker, request, share, what).results:
                        own = non_default(read_configs(said))
                        wanted = changes[TopicName(said.resource_name)]
                        if not said.error_code and not _holds(own, wanted):
                            raise refused(self._control.side, what, REQUEST_TIMED_OUT)

        with suppress(ClusterError):
            self._control.retried(once, Deadline.after(UNKNOWN_PATIENCE))


def _holds(own: Mapping[str, str], configs: Configs) -> bool:
    return all(meaning(own.get(key)) == meaning(value) for key, value in configs.items())
