"""The error codes of the Kafka protocol as one table.

Numbers, names and flags come from kafka-python. Where it differs from Kafka 4.3 (seen by comparing
both tables) Kafka is right. The advice is ours, for the codes a user can meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kafka.errors import kafka_errors

from towpath.model.errors import RefusedError
from towpath.model.secret import masked

OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
NETWORK_EXCEPTION = 13
MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE = 10, 18
TOO_LARGE = {MESSAGE_TOO_LARGE: "max.message.bytes", RECORD_LIST_TOO_LARGE: "segment.bytes"}
"""Codes about a batch that is too large, each with the config of the topic that it exceeds."""
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
UNSUPPORTED_SASL_MECHANISM = 33
UNSUPPORTED_VERSION = 35
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
NOT_CONTROLLER = 41
INVALID_REQUEST = 42
SECURITY_DISABLED = 54
SASL_AUTHENTICATION_FAILED = 58
INVALID_RECORD = 87
UNSTABLE_OFFSET_COMMIT = 88
RESOURCE_NOT_FOUND = 91


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code of the Kafka protocol: number, name, flags and advice."""

    number: int
    name: str
    retriable: bool = False
    advice: str = ""


_KAFKA_IS_RIGHT = (
    ErrorCode(-1, "UNKNOWN_SERVER_ERROR"),
    ErrorCode(0, "NONE"),
    ErrorCode(2, "CORRUPT_MESSAGE", retriable=True),
    ErrorCode(6, "NOT_LEADER_OR_FOLLOWER", retriable=True),
    ErrorCode(10, "MESSAGE_TOO_LARGE"),
    ErrorCode(17, "INVALID_TOPIC_EXCEPTION"),
    ErrorCode(39, "INVALID_REPLICA_ASSIGNMENT"),
    ErrorCode(75, "UNKNOWN_LEADER_EPOCH", retriable=True),
    ErrorCode(128, "INVALID_REGULAR_EXPRESSION"),
    ErrorCode(129, "REBOOTSTRAP_REQUIRED"),
    ErrorCode(130, "STREAMS_INVALID_TOPOLOGY"),
    ErrorCode(131, "STREAMS_INVALID_TOPOLOGY_EPOCH"),
    ErrorCode(132, "STREAMS_TOPOLOGY_FENCED"),
    ErrorCode(133, "SHARE_SESSION_LIMIT_REACHED", retriable=True),
)

_ADVICE: Mapping[int, str] = {
    -1: "look into the broker's log for the cause",
    1: "retention may have deleted these records; see `records.on_gap`",
    2: "look into the broker's log; its disk or the network may damage data",
    3: "look whether the topic exists under this name and was not deleted just now",
    5: "wait for the election of a leader; look whether enough brokers run",
    6: "the leader moved; it is looked up again",
    7: "the brokers are slow or too few replicas are in sync; look at their load",
    10: "raise `max.message.bytes` of the target topic to that of the source",
    15: "the coordinator moves, or its internal topic is missing; look whether enough brokers run",
    17: "use letters, digits, dot, _ and - in topic names, at most 249, and no internal topic",
    18: "raise `segment.bytes` of the target topic to that of the source",
    19: "too few replicas are in sync for `min.insync.replicas`; look whether all brokers run. For"
    " a transactional producer it may be no question of replicas: a cluster that never had a"
    " transaction, and so no topic __transaction_state, answers the same",
    29: "the login needs ACLs: Describe, DescribeConfigs and Read on topics of the source; Create,"
    " Describe, DescribeConfigs, Read, Write, Alter, AlterConfigs and Delete on the target's",
    30: "the login needs the ACL Describe on the group",
    31: "the login needs an ACL on the cluster: Create on the target to create topics, or the"
    " operation named here",
    32: "raise `message.timestamp.before.max.ms` and `message.timestamp.after.max.ms` of the target"
    " topic: they are checked when a record arrives, not when it was made",
    33: "set `sasl.mechanism` to one that the broker offers",
    34: "the port asks for no login: remove `sasl`, or use the port that does",
    35: "the brokers are too old for this request, or a feature that it needs is off; Towpath needs"
    " Kafka 2.8 or newer",
    36: "a topic with this name already exists",
    37: "a topic can only grow, and has at least one partition",
    38: "set a replication factor no larger than the number of brokers",
    40: "set the named topic config to a value that this cluster accepts",
    41: "the controller moved; it is looked up again",
    42: "this is a fault in Towpath or a broker that differs from Kafka",
    43: "the topic's message format is too old; set its `message.format.version` to 0.11 or newer",
    44: "a topic policy of the cluster refuses this; change the topic's configs or the policy",
    45: "another writer of the same link was there; the position is read again",
    47: "another run of the same link took over, or clients use the mirror topic by now",
    53: "the login needs the ACL Write and Describe on the transactional id",
    54: "the cluster keeps no ACLs; set `authorizer.class.name` on its brokers if it should",
    56: "a disk of the broker failed; look into its log",
    58: "check name and password (or token) under `sasl`, and that the broker knows this user",
    72: "the broker's listener names differ; look at its `advertised.listeners`",
    87: "the target's configs refuse a record, for example one without key in a compacted topic",
    88: "a transaction of the group is open, which may commit other offsets; let its client end"
    " it, or wait until `transaction.timeout.ms` of its producer is over",
    89: "the cluster limits how fast topics are changed (controller_mutation_rate); wait",
    93: "Kafka takes no such SCRAM credential; it needs 4096 to 16384 iterations",
}


def _table() -> Mapping[int, ErrorCode]:
    known = {
        number: ErrorCode(number, error.message, error.retriable)
        for number, error in kafka_errors.items()
        if error.message
    }
    known |= {code.number: code for code in _KAFKA_IS_RIGHT}
    return MappingProxyType(
        {
            number: ErrorCode(number, c.name, c.retriable, _ADVICE.get(number, ""))
            for number, c in sorted(known.items())
        }
    )


CODES: Mapping[int, ErrorCode] = _table()


def code(number: int) -> ErrorCode:
    """Return the table entry of an error code, a generic one for unknown codes."""
    return CODES.get(number) or ErrorCode(
        number, "UNKNOWN_CODE", advice="the broker is newer than this program; look it up there"
    )


def refused(
    side: str,
    what: str,
    number: int,
    text: str | None = "",
    acl: str = "",
    records: tuple[int, ...] = (),
) -> RefusedError:
    """Return the Towpath error for an error code in a broker's answer.

    Args:
        side: `source` or `target`.
        what: What was asked, with its values.
        number: The error code.
        text: The broker's own explanation.
        acl: The permission that is missing if the code says that one is.
        records: The places in a batch of the records that the broker refuses.
    """
    said = code(number)
    missing = acl and "AUTHORIZATION" in said.name
    advice = f"the login needs the ACL {acl}" if missing else said.advice
    text = masked(text or "").strip().rstrip(".")
    return RefusedError(
        side,
        what,
        number,
        said.name,
        "; ".join(filter(None, (text, advice))),
        retriable=said.retriable,
        records=records,
    )
