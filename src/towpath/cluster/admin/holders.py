"""The configs of groups (KIP-848) and of subscriptions to client metrics (KIP-714)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kafka.protocol.admin import IncrementalAlterConfigsRequest, ListConfigResourcesRequest

from towpath.cluster.admin.changes import check, refusal, tell_controller
from towpath.cluster.admin.numbers import describe_configs
from towpath.cluster.admin.topic_changes import Configs
from towpath.cluster.codes import INVALID_REQUEST, UNSUPPORTED_VERSION
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers, ConfigEntry, ConfigSource, read_configs
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.holders import ConfigHolder
from towpath.runtime.deadline import Deadline

_NUMBERS = {ConfigHolder.GROUP: 32, ConfigHolder.CLIENT_METRICS: 16}
"""Kafka's numbers for these kinds of resources (`ConfigResource.Type`)."""
_OWN = {ConfigHolder.GROUP: ConfigSource.GROUP, ConfigHolder.CLIENT_METRICS: ConfigSource.CLIENT}
_LIST = 74
"""ListConfigResources; version 0 lists client metrics alone (Kafka 3.7), version 1 any kind
(KIP-1142, Kafka 4.1)."""
_ON_CLUSTER = "DescribeConfigs on the cluster"
_SET, _DELETE = 0, 1
_AT_ONCE = 500


class HolderAdmin:
    """Describes and changes configs of groups and of client metrics."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def names(self, holder: ConfigHolder) -> frozenset[str] | None:
        """Return the groups or subscriptions with own configs; `None` if not listed.

        Raises:
            ClusterError: The cluster cannot be asked, or the login lacks DescribeConfigs on it.
        """
        what = f"listing {holder} with configs of their own"
        number = _NUMBERS[holder]

        def once(deadline: Deadline) -> frozenset[str] | None:
            _, newest = self._control.versions(deadline).get(_LIST, (0, -1))
            if newest < (1 if holder is ConfigHolder.GROUP else 0):
                return None
            request = ListConfigResourcesRequest(resource_types=[number])
            answer = self._control.ask_any(request, deadline, what)
            check(self._control.side, answer, what, _ON_CLUSTER)
            kind = ConfigHolder.CLIENT_METRICS
            return frozenset(
                each.resource_name
                for each in answer.config_resources
                if (newest and each.resource_type == number) or (not newest and holder is kind)
            )

        return self._control.retried(once)

    def describe(
        self, holder: ConfigHolder, names: Iterable[str]
    ) -> Answers[str, dict[str, ConfigEntry]]:
        """Return all configs of each group or subscription, defaults included.

        Each name has an answer, whether or not there is such a group or subscription.
        """
        found: dict[str, dict[str, ConfigEntry]] = {}
        failed: dict[str, ClusterError] = {}
        for part in _parts(sorted(set(names))):
            for said in self._control.retried(partial(self._describe, holder, part)):
                name = said.resource_name
                if said.error_code:
                    what = f"asking for the configs of {holder} {name}"
                    acl = _acl("DescribeConfigs", holder, name)
                    failed[name] = refusal(self._control.side, said, what, acl)
                else:
                    found[name] = read_configs(said)
        return Answers(found, failed)

    def change_all(
        self, holder: ConfigHolder, changes: Mapping[str, Configs]
    ) -> Answers[str, None]:
        """Change the given configs by name, all or none of each name; `None` resets one."""
        failed = dict(self._changed(holder, changes, validate_only=False))
        return Answers({name: None for name in changes if name not in failed}, failed)

    def check(
        self, holder: ConfigHolder, changes: Mapping[str, Configs]
    ) -> Mapping[str, RefusedError]:
        """Return why the cluster would refuse changes, by name; nothing is changed."""
        return dict(self._changed(holder, changes, validate_only=True))

    def _describe(
        self, holder: ConfigHolder, names: Sequence[str], deadline: Deadline
    ) -> Sequence[Any]:
        what = f"asking for the configs of {holder}"
        request = describe_configs(_NUMBERS[holder], names)
        results: Sequence[Any] = self._control.ask_any(request, deadline, what).results
        return results

    def _changed(
        self, holder: ConfigHolder, changes: Mapping[str, Configs], *, validate_only: bool
    ) -> Iterator[tuple[str, RefusedError]]:
        """Yield what was refused."""
        for part in _parts(sorted(changes)):
            request = IncrementalAlterConfigsRequest(
                resources=[_change(holder, name, changes[name]) for name in part],
                validate_only=validate_only,
            )
            what = f"changing configs of {holder} {', '.join(part[:3])}"
            for said in tell_controller(self._control, what, request, _RESPONSES):
                name = said.resource_name
                if said.error_code:
                    one = f"changing {', '.join(changes[name])} of {holder} {name}"
                    acl = _acl("AlterConfigs", holder, name)
                    yield name, refusal(self._control.side, said, one, acl)


_RESPONSES: Callable[[Any], Sequence[Any]] = lambda answer: answer.responses  # noqa: E731


def own(holder: ConfigHolder, entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    """Return the configs that were set on a group or a subscription itself."""
    return {
        key: entry.value
        for key, entry in entries.items()
        if entry.source is _OWN[holder] and entry.value is not None
    }


def _change(holder: ConfigHolder, name: str, configs: Configs) -> Any:
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    changes = [
        kind.AlterableConfig(
            name=key, config_operation=_DELETE if value is None else _SET, value=value
        )
        for key, value in configs.items()
    ]
    return kind(resource_type=_NUMBERS[holder], resource_name=name, configs=changes)


def _acl(operation: str, holder: ConfigHolder, name: str) -> str:
    where = f"group {name}" if holder is ConfigHolder.GROUP else "the cluster"
    return f"{operation} on {where}"


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), _AT_ONCE):
        yield names[start : start + _AT_ONCE]


def unknown_kind(error: ClusterError) -> bool:
    """Return whether an error means that brokers do not know this kind of config resource.

    Brokers before Kafka 4.0 answer INVALID_REQUEST where they are asked for configs of a group.
    """
    return isinstance(error, RefusedError) and error.error in {UNSUPPORTED_VERSION, INVALID_REQUEST}
