"""Control plane requests: choice of broker and connection, and retries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, MetadataRequest

from towpath.cluster.codes import (
    NETWORK_EXCEPTION,
    NOT_CONTROLLER,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.connect.answering import Answering
from towpath.cluster.connect.border import broker_errors
from towpath.cluster.connect.connection import Connected, UnresolvedError, connect, connect_to
from towpath.cluster.connect.exchange import (
    Address,
    Versions,
    address_text,
    decoded,
    exchange,
    pick_version,
)
from towpath.cluster.connect.identity import ClusterIdentity
from towpath.cluster.connect.login import SecurityError
from towpath.cluster.connect.metadata_cache import RememberedMetadata
from towpath.cluster.connect.pool import ConnectionPool
from towpath.cluster.connect.retrying import retried
from towpath.cluster.connect.throttling import ThrottledError, Throttling
from towpath.cluster.metadata import Broker, Metadata, read_metadata
from towpath.cluster.release import Release, release_of
from towpath.model.errors import (
    ClusterError,
    ClusterReplacedError,
    RefusedError,
    UnreachableError,
)
from towpath.model.nouns import LEDGER, TopicName
from towpath.runtime.backoff import BackOff
from towpath.runtime.chance import CHANCE
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

T = TypeVar("T")
Read = Callable[[Any, bytes], Any]
"""Makes something of a request and the bytes of its answer."""

_FIRST_CONTACT = 5.0
"""Seconds to try a cluster that was never reached; a typing error is more likely than a restart."""
UNKNOWN_PATIENCE = 2.0
"""Seconds during which a broker may not know a new topic yet."""
AGAIN = BackOff(first=0.05, longest=1.0, jitter=0.2)
"""Pauses before a broker is asked again."""
_KEYS = {CoordinatorType.GROUP: "group", CoordinatorType.TRANSACTION: "transactional id"}
_TOPIC_ID_VERSION = 12
_BATCHED_COORDINATORS = 4


class AbandonedError(UnreachableError):
    """Nothing is asked of the cluster any more."""


class Control:
    """Sends control plane requests to one cluster; thread-safe.

    A broker that throttles us is asked again only after its throttle time (KIP-219), during which
    it reads nothing. The throttle time does not count towards deadlines.

    Attributes:
        side: `source` or `target`.
        identity: The ids that the cluster must keep.
        answering: Knows how long no broker has answered.
        throttling: Knows for how long brokers asked to wait, because of quotas.
    """

    def __init__(
        self, config: ClusterConfig, side: str, identity: ClusterIdentity | None = None
    ) -> None:
        self._config, self.side = config, side
        self.identity = identity or ClusterIdentity(side)
        self.answering, self.throttling = Answering(side), Throttling(side)
        self._brokers: Mapping[int, Broker] = {}
        self._rank: defaultdict[Address, float] = defaultdict(CHANCE.random)
        """Spreads many tasks over the brokers. Each task keeps to one broker, which repeats large
        metadata byte by byte."""
        self._pool = ConnectionPool(self._connect, self.throttling)
        self._metadata = RememberedMetadata(lambda *said: read_metadata(side, decoded(*said)))

    def close(self) -> None:
        """Close all connections; one in use closes when its request ends."""
        self._pool.close()

    def abandon(self) -> None:
        """Break off what is being asked, and ask nothing more; other threads may call this.

        Whoever is connecting notices when that has ended: a third of the request timeout at most.
        """
        self._pool.abandon()

    @property
    def throttled(self) -> float:
        """Seconds of throttling by brokers so far."""
        return self._pool.throttled

    def metadata(self, deadline: Deadline, topics: Iterable[TopicName] | None = ()) -> Metadata:
        """Return metadata of brokers and `topics` from any broker; `None` means all topics.

        Raises:
            ClusterError: No broker answered, or the answer is that of another cluster.
            LedgerGoneError: The ledger is another topic than the one that is used.
        """
        found: Metadata = self.ask_any(
            _for_metadata(topics),
            deadline,
            "asking for metadata",
            newest=_TOPIC_ID_VERSION,
            read=self._metadata.read,
        )
        if not found.brokers:
            # A broker that has just started may know neither other brokers nor topics.
            raise refused(self.side, "asking for metadata", NETWORK_EXCEPTION)
        self.identity.require(found.cluster_id)
        ledger = found.topics.get(LEDGER)
        if ledger is not None:
            self.identity.require_ledger(ledger)
        self._brokers = found.brokers
        return found

    def found(self, topics: Iterable[TopicName] | None = ()) -> Metadata:
        """Return metadata, retrying temporary errors."""
        return self.retried(lambda deadline: self.metadata(deadline, topics))

    def metadata_of_all(
        self, deadline: Deadline, topics: Sequence[TopicName]
    ) -> Iterator[Metadata]:
        """Return the metadata of each reachable broker, which may differ after a change."""
        brokers = self.metadata(deadline).brokers.values()
        what, newest = "asking for metadata", _TOPIC_ID_VERSION
        for position, broker in enumerate(brokers):
            share = deadline.share(len(brokers) - position)
            with suppress(UnreachableError):
                answer = self.ask(broker, _for_metadata(topics), share, what, newest)
                yield read_metadata(self.side, answer)

    def ask_any(
        self,
        request: Any,
        deadline: Deadline,
        what: str,
        newest: int | None = None,
        read: Read = decoded,
    ) -> Any:
        """Send a request to the first broker that answers, and return `read(answer)`.

        Raises:
            ClusterError: No broker answered; an error that will not pass takes precedence.
        """
        errors: list[ClusterError] = []
        addresses = self._addresses()
        for position, address in enumerate(addresses):
            share = deadline.share(len(addresses) - position)
            try:
                name = address_text(address)
                return self._ask_at(address, name, request, share, what, newest, read)
            except ClusterError as error:
                errors.append(error)
        raise self._nobody(errors, addresses)

    def ask(
        self, broker: Broker, request: Any, deadline: Deadline, what: str, newest: int | None = None
    ) -> Any:
        """Send a request to one broker, and return the answer."""
        address = (broker.host, broker.port)
        return self._ask_at(address, str(broker), request, deadline, what, newest)

    def controller(self, deadline: Deadline) -> Broker:
        """Return the active controller."""
        found = self.metadata(deadline)
        broker = found.brokers.get(found.controller)
        if broker is None:
            raise refused(self.side, "looking for the controller", NOT_CONTROLLER)
        return broker

    def coordinator(
        self, key: str, deadline: Deadline, kind: CoordinatorType = CoordinatorType.GROUP
    ) -> Broker:
        """Return the coordinator of a consumer group or a transactional id."""
        whose = f"{_KEYS[kind]} {key}"
        what = f"looking for the coordinator of {whose}"
        request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
        answer = self.ask_any(request, deadline, what, newest=_BATCHED_COORDINATORS)
        said = answer.coordinators[0] if answer.coordinators else answer
        if said.error_code:
            acl = f"Describe on {whose}"
            raise refused(self.side, what, said.error_code, said.error_message, acl)
        return Broker(said.node_id, said.host, said.port)

    def versions(self, deadline: Deadline) -> Versions:
        """Return the request versions that the first broker to answer supports."""
        return self._connected(deadline).api_versions

    def release(self, deadline: Deadline) -> Release:
        """Return the release of Kafka that the first broker to answer runs."""
        connected = self._connected(deadline)
        return release_of(connected.supported, connected.api_versions)

    @property
    def timeout_ms(self) -> int:
        """The request timeout, in ms, for requests that carry one."""
        return int(self._config.request_timeout * 1000)

    def deadline(self) -> Deadline:
        """Return the deadline of a call that begins now."""
        return Deadline.after(self._config.request_timeout)

    def retried(self, once: Callable[[Deadline], T], deadline: Deadline | None = None) -> T:
        """Return the result of `once`, repeated after temporary errors.

        Raises:
            ClusterError: The error will not pass, or the request timeout is over.
        """
        budget = deadline or self.deadline()
        unknown_until = Deadline.after(UNKNOWN_PATIENCE)
        first_contact = Deadline.after(_FIRST_CONTACT)

        def passes(error: BaseException) -> bool:
            passing = isinstance(error, ClusterError) and healable(error, unknown_until)
            return passing and (self._pool.reached or not first_contact.over)

        return retried(lambda: once(budget), budget, AGAIN, passes)

    def _connected(self, deadline: Deadline) -> Connected:
        self.metadata(deadline)
        connected = self._pool.idle()
        if connected is None:
            raise UnreachableError(self.side, "asking for versions", "the connection was lost")
        return connected

    def _addresses(self) -> list[Address]:
        """Known brokers, connected ones first, then bootstrap brokers; throttling ones last."""
        known = [(broker.host, broker.port) for broker in self._brokers.values()]
        known.sort(key=lambda address: (not self._pool.has_idle(address), self._rank[address]))
        found = list(dict.fromkeys([*known, *self._config.addresses]))
        return sorted(found, key=lambda address: self._pool.mute_left(address) > 0)

    def _nobody(self, errors: Sequence[ClusterError], addresses: Sequence[Address]) -> ClusterError:
        hopeless = [error for error in errors if not healable(error)]
        if hopeless or len(errors) == 1:
            return (hopeless or errors)[0]
        whys = "; ".join(
            f"{address_text(address)}: {getattr(error, 'why', error)}"
            for address, error in zip(addresses, errors, strict=True)
        )
        unresolved = all(isinstance(error, UnresolvedError) for error in errors)
        return (UnresolvedError if unresolved else UnreachableError)(
            self.side,
            "asking " + ", ".join(map(address_text, addresses)),
            f"no broker answered ({whys})",
            "check `bootstrap`, and whether the brokers run and the network to them is open",
        )

    def _ask_at(
        self,
        address: Address,
        name: str,
        request: Any,
        deadline: Deadline,
        what: str,
        newest: int | None,
        read: Read = decoded,
    ) -> Any:
        self._pool.wait_unmuted(address, deadline)
        if self._pool.abandoned:
            raise AbandonedError(self.side, f"{what}, {name}", "its answer is of no use any more")
        with (
            self.answering.asking(name),
            self._pool.lend(address, deadline) as connected,
            broker_errors(self.side, f"{what}, {name}"),
        ):
            version = pick_version(self.side, request, connected.api_versions, newest)
            answer = read(request, exchange(connected.socket, request, version, deadline))
        self._pool.mute(address, (getattr(answer, "throttle_time_ms", 0) or 0) / 1000)
        return answer

    def _connect(self, address: Address, deadline: Deadline) -> Connected:
        for broker in self._brokers.values():
            if address == (broker.host, broker.port):
                return connect_to(self._config, self.identity, broker, deadline)
        return connect(self._config, self.side, *address, deadline, self.identity)


def _for_metadata(topics: Iterable[TopicName] | None) -> Any:
    kind = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=None if topics is None else [kind(name=name) for name in topics],
        allow_auto_topic_creation=False,
    )


def may_pass(error: BaseException) -> bool:
    """Return whether an error comes from a cluster, and a retry may succeed."""
    return isinstance(error, ClusterError) and healable(error)


def healable(error: ClusterError, unknown_until: Deadline | None = None) -> bool:
    """Return whether a request may succeed later; for unknown topics until a deadline."""
    if isinstance(error, RefusedError):
        unknown = error.error == UNKNOWN_TOPIC_OR_PARTITION
        return error.retriable and not (unknown and unknown_until and unknown_until.over)
    hopeless = (SecurityError, ClusterReplacedError, AbandonedError, ThrottledError)
    return not isinstance(error, hopeless)
