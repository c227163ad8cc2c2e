"""The control plane of one cluster: its id, its brokers, what they can and their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.broker_version_data import BrokerVersionData

from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.connect.exchange import Versions
from towpath.cluster.metadata import Broker, Metadata, read_configs
from towpath.config import ClusterConfig
from towpath.model.deadline import Deadline
from towpath.model.errors import UnreachableError
from towpath.model.nouns import ClusterId, Side, TopicName

TOPIC, BROKER = 2, 4


class BrokerAdmin:
    """Asks about the cluster as a whole; see `towpath.cluster.admin.Admin`."""

    def __init__(self, config: ClusterConfig, side: Side) -> None:
        self._side = side
        self._timeout_ms = int(config.request_timeout * 1000)
        self._control = Control(config, side)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._control.close()

    @property
    def throttled(self) -> float:
        """Seconds for which brokers asked us to wait so far, because of quotas."""
        return self._control.throttled

    def cluster_id(self) -> ClusterId:
        """Return the id that the cluster got when it was made."""
        return self._metadata().cluster_id

    def brokers(self) -> tuple[Broker, ...]:
        """Return the brokers that are there now, by id."""
        return tuple(sorted(self._metadata().brokers.values(), key=lambda broker: broker.id))

    def broker_config(self, name: str) -> str | None:
        """Return one setting of one broker, or `None` if it has none of this name."""
        return self._control.retried(lambda deadline: self._broker_config(name, deadline))

    def api_versions(self) -> Versions:
        """Return which requests, in which versions, one broker takes."""
        return self._control.retried(self._control.versions)

    @property
    def broker_version(self) -> tuple[int, ...]:
        """The Kafka version that one broker's requests show; the newest known one, if newer."""
        version: tuple[int, ...] = BrokerVersionData(
            api_versions=dict(self.api_versions())
        ).broker_version
        return version

    def _metadata(self, topics: Sequence[TopicName] | None = ()) -> Metadata:
        return self._control.retried(lambda deadline: self._control.metadata(deadline, topics))

    def _broker_config(self, name: str, deadline: Deadline) -> str | None:
        what = f"asking for the broker setting {name}"
        said = self._any_broker(name, deadline, what).results[0]
        if said.error_code:
            acl = "DescribeConfigs on the cluster"
            raise refused(self._side, what, said.error_code, said.error_message, acl)
        entry = read_configs(said).get(name)
        return entry.value if entry else None

    def _any_broker(self, name: str, deadline: Deadline, what: str) -> Any:
        """Ask the first broker that can be reached for its own setting."""
        errors: list[UnreachableError] = []
        brokers = self._control.metadata(deadline).brokers.values()
        for broker in brokers:
            share = deadline.share(len(brokers) - len(errors))
            request = describe_configs(BROKER, [str(broker.id)], [name])
            try:
                return self._control.ask(broker, request, share, what)
            except UnreachableError as error:
                errors.append(error)
        raise errors[0] if errors else UnreachableError(self._side, what, "no broker is known")


def describe_configs(kind: int, names: Sequence[str], keys: Sequence[str] | None = None) -> Any:
    """Return the request for settings of these resources, by default for all settings."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for name in names
        ]
    )
