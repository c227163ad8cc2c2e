"""The cluster as a whole: its id, its brokers, their configs, and the login's rights on it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest
from kafka.protocol.metadata import ApiVersionsRequest

from towpath import __version__
from towpath.cluster.admin.changes import check
from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.numbers import BROKER, OPERATIONS, describe_configs
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.connect.exchange import Versions
from towpath.cluster.metadata import Broker, ConfigEntry, read_configs
from towpath.cluster.release import Release
from towpath.model.acl import Operation
from towpath.model.errors import UnreachableError
from towpath.model.nouns import ClusterId
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline

_EVERY_BROKER = ""


class ClusterAdmin:
    """Queries about a cluster as a whole."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def id(self) -> ClusterId:
        """Return the cluster id."""
        return self._control.found().cluster_id

    def brokers(self) -> tuple[Broker, ...]:
        """Return the live brokers, sorted by id."""
        found = self._control.found().brokers.values()
        return tuple(sorted(found, key=lambda broker: broker.id))

    def pulse(self, patience: float) -> tuple[Broker, ...]:
        """Return the live brokers, by one request without retries.

        Args:
            patience: Seconds to wait for the answer.

        Raises:
            ClusterError: No broker answered in time.
        """
        found = self._control.metadata(Deadline.after(patience)).brokers.values()
        return tuple(sorted(found, key=lambda broker: broker.id))

    def broker_config(self, name: str) -> str | None:
        """Return one config of one broker, `None` if the broker has no config of this name."""
        return self.broker_configs([name]).get(name)

    def broker_configs(self, names: Collection[str]) -> dict[str, str]:
        """Return the values of these configs on one broker, without unknown ones."""
        return self._control.retried(lambda deadline: self._broker_configs(names, deadline))

    def each_broker(self, names: Collection[str]) -> tuple[dict[str, str], ...]:
        """Return the values of these configs on each live broker, without unknown ones.

        Raises:
            ClusterError: A broker refuses to tell them, or none answers.
        """
        return self._control.retried(lambda deadline: self._each_broker(names, deadline))

    def api_versions(self) -> Versions:
        """Return the request versions that one broker supports."""
        return self._control.retried(self._control.versions)

    def features(self) -> dict[str, int] | None:
        """Return the finalized feature levels (KIP-584), `None` if not reported."""
        what = "asking for the features of the cluster"
        request = ApiVersionsRequest(
            client_software_name="towpath", client_software_version=__version__
        )
        answer = self._control.retried(lambda d: self._control.ask_any(request, d, what))
        if answer.finalized_features is None or answer.finalized_features_epoch < 0:
            return None
        return {each.name: each.max_version_level for each in answer.finalized_features}

    @property
    def release(self) -> Release:
        """The release of Kafka that the first broker to answer runs."""
        return self._control.retried(self._control.release)

    def ahead(self) -> int | None:
        """Return by how many ms the active controller's clock is ahead of this machine's.

        The leader of the metadata quorum tells its own time as the time at which it was caught up
        (KIP-836, Kafka 3.3; `LeaderState.describeQuorum`). The answer is off by at most the time
        that the request takes. `None` if nobody tells: older brokers, ZooKeeper, other software.

        Raises:
            ClusterError: The request failed, or the login lacks Describe on the cluster.
        """
        what = "asking for the time of the controller"
        topic = DescribeQuorumRequest.TopicData
        request = DescribeQuorumRequest(
            topics=[
                topic(
                    topic_name="__cluster_metadata",
                    partitions=[topic.PartitionData(partition_index=0)],
                )
            ]
        )
        began = now_ms()
        said = self._control.retried(
            lambda deadline: self._control.ask_any(request, deadline, what)
        )
        check(self._control.side, said, what, "Describe on the cluster")
        here = (began + now_ms()) // 2
        for partition in (each for topic_said in said.topics for each in topic_said.partitions):
            for voter in partition.current_voters:
                told = getattr(voter, "last_caught_up_timestamp", None) or -1
                if voter.replica_id == partition.leader_id and told > 0:
                    return int(told) - here
        return None

    def configs(self) -> dict[str, ConfigEntry]:
        """Return the dynamic configs that hold for all brokers (KIP-226)."""
        what = "asking for the configs of all brokers"
        request = describe_configs(BROKER, [_EVERY_BROKER])

        def once(deadline: Deadline) -> dict[str, ConfigEntry]:
            said = self._control.ask_any(request, deadline, what).results[0]
            check(self._control.side, said, what, "DescribeConfigs on the cluster")
            return read_configs(said)

        return self._control.retried(once)

    def rights(self) -> frozenset[Operation] | None:
        """Return the login's operations on the cluster (KIP-430, KIP-700), if reported.

        Brokers answer only logins that have Describe on the cluster.

        Raises:
            RefusedError: The request failed, or the brokers do not support it.
        """
        what = "asking for the rights on the cluster"
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)

        def once(deadline: Deadline) -> Collection[int] | None:
            said = self._control.ask_any(request, deadline, what)
            check(self._control.side, said, what)
            allowed: Collection[int] | None = said.authorized_operations
            return allowed

        allowed = self._control.retried(once)
        if allowed is None:
            return None
        return frozenset(right for right in Operation if OPERATIONS[right] in allowed)

    def _broker_configs(self, names: Collection[str], deadline: Deadline) -> dict[str, str]:
        what = _asking_for(names)
        return self._values(self._any_broker(names, deadline, what), what)

    def _each_broker(
        self, names: Collection[str], deadline: Deadline
    ) -> tuple[dict[str, str], ...]:
        what, found = _asking_for(names), dict[int, dict[str, str]]()

        def ask(broker: Broker) -> None:
            request = describe_configs(BROKER, [str(broker.id)], list(names))
            said = self._control.ask(broker, request, deadline, what)
            found[broker.id] = self._values(said, what)

        failed = ask_each(self._control.metadata(deadline).brokers.values(), ask).values()
        for error in failed:
            if not (found and isinstance(error, UnreachableError)):
                raise error
        return tuple(found.values())

    def _values(self, answer: Any, what: str) -> dict[str, str]:
        said = answer.results[0]
        if said.error_code:
            acl = "DescribeConfigs on the cluster"
            raise refused(self._control.side, what, said.error_code, said.error_message, acl)
        entries = read_configs(said).items()
        return {name: entry.value for name, entry in entries if entry.value is not None}

    def _any_broker(self, names: Collection[str], deadline: Deadline, what: str) -> Any:
        """Ask the first reachable broker for its own config."""
        errors: list[UnreachableError] = []
        brokers = self._control.metadata(deadline).brokers.values()
        for broker in brokers:
            share = deadline.share(len(brokers) - len(errors))
            request = describe_configs(BROKER, [str(broker.id)], list(names))
            try:
                return self._control.ask(broker, request, share, what)
            except UnreachableError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        raise UnreachableError(self._control.side, what, "no broker is known")


def _asking_for(names: Collection[str]) -> str:
    return f"asking for the broker config{'s' * (len(names) > 1)} {', '.join(names)}"
