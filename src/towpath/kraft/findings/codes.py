"""The codes of findings, which journals and reports hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a finding stops a migration."""

    STOP = "stop"
    WARNING = "warning"
    NOTE = "note"


class FindingCode(StrEnum):
    """Kind of a finding. Journals and reports hold codes, so none ever changes its meaning."""

    # Alarms, named as `Alarm`
    NEVER_MIGRATABLE = "NEVER_MIGRATABLE"
    WIPE_AHEAD = "WIPE_AHEAD"
    LOST_ANCHOR = "LOST_ANCHOR"
    STRANDED = "STRANDED"
    FLAG_MISSING = "FLAG_MISSING"
    UNEQUAL = "UNEQUAL"
    UNWRITABLE = "UNWRITABLE"
    KRAFT_ONLY = "KRAFT_ONLY"
    USERS_DELETED = "USERS_DELETED"
    """Kafka's `ScramDelta.apply` (3.9) brings a log into an empty image user by user, in the order
    of a HashMap. A deletion that comes first makes it forget all users of the mechanism."""

    # Observations that fit no stage
    NOTHING_SEEN = "NOTHING_SEEN"
    TWO_HEADS = "TWO_HEADS"
    BORN_IN_KRAFT = "BORN_IN_KRAFT"
    NOBODY_REGISTERED = "NOBODY_REGISTERED"
    KRAFT_WITHOUT_CONTROLLERS = "KRAFT_WITHOUT_CONTROLLERS"

    # What an observation lacks
    ZOOKEEPER_UNSEEN = "ZOOKEEPER_UNSEEN"
    NODES_UNSEEN = "NODES_UNSEEN"
    QUORUM_UNSEEN = "QUORUM_UNSEEN"
    HEALTH_UNSEEN = "HEALTH_UNSEEN"
    CONTROLLERS_ELSEWHERE = "CONTROLLERS_ELSEWHERE"
    NOT_COMPARED = "NOT_COMPARED"

    # Gates
    FLAG_NOT_TOLD = "FLAG_NOT_TOLD"
    VOTERS_DIFFER = "VOTERS_DIFFER"
    ANCHOR_TAKEN = "ANCHOR_TAKEN"
    CLUSTER_ID = "CLUSTER_ID"
    BROKERS_NOT_SERVING = "BROKERS_NOT_SERVING"
    NOT_IN_SYNC = "NOT_IN_SYNC"
    NOT_PROBED = "NOT_PROBED"
    STILL_MIGRATING = "STILL_MIGRATING"
    SOAKING = "SOAKING"
    TOO_EARLY = "TOO_EARLY"
    TAKEOVER_PENDING = "TAKEOVER_PENDING"
    FLAGLESS_LEADER = "FLAGLESS_LEADER"
    CONTROLLERS_LOST = "CONTROLLERS_LOST"
    BROKERS_NOT_IN_FILE = "BROKERS_NOT_IN_FILE"
    FINAL_FOR_GOOD = "FINAL_FOR_GOOD"

    # What a properties file cannot say
    BROKER_ID_UNSET = "BROKER_ID_UNSET"
    LISTENER_TAKEN = "LISTENER_TAKEN"
    AUTHORIZER_UNKNOWN = "AUTHORIZER_UNKNOWN"
    CONTROLLER_KEYS_TAKEN = "CONTROLLER_KEYS_TAKEN"

    # Preflight
    SOFTWARE_UNKNOWN = "SOFTWARE_UNKNOWN"
    SOFTWARE_OTHER = "SOFTWARE_OTHER"
    SOFTWARE_MIXED = "SOFTWARE_MIXED"
    SOFTWARE_EARLY = "SOFTWARE_EARLY"
    BUILDS_UNKNOWN = "BUILDS_UNKNOWN"
    HEAPS = "HEAPS"
    ANCHOR_NULL = "ANCHOR_NULL"
    ANCHOR_EMPTY = "ANCHOR_EMPTY"
    PROTOCOL_UNSET = "PROTOCOL_UNSET"
    PROTOCOL_MIXED = "PROTOCOL_MIXED"
    PROTOCOL_OLD = "PROTOCOL_OLD"
    LOG_DIRS_SEVERAL = "LOG_DIRS_SEVERAL"
    PROTOCOL_DIFFERS = "PROTOCOL_DIFFERS"
    BROKER_ID_DIFFERS = "BROKER_ID_DIFFERS"
    FOLDER_TAKEN = "FOLDER_TAKEN"
    CONTROLLER_ID_TAKEN = "CONTROLLER_ID_TAKEN"
    BROKERS_DIFFER = "BROKERS_DIFFER"
    CONTROLLERS_DIFFER = "CONTROLLERS_DIFFER"
    POLICY_DIFFERENT = "POLICY_DIFFERENT"
    BROKERS_ANONYMOUS = "BROKERS_ANONYMOUS"
    TOKEN_KEY_MISSING = "TOKEN_KEY_MISSING"  # noqa: S105, a code
    ENCODER_SECRET_MISSING = "ENCODER_SECRET_MISSING"  # noqa: S105, a code
    KRAFT_KEYS_EARLY = "KRAFT_KEYS_EARLY"
    VOTERS_OF_BROKERS = "VOTERS_OF_BROKERS"
    SESSIONS_LONG = "SESSIONS_LONG"
    CONTROL_PLANE = "CONTROL_PLANE"
    PROBE_STAYS = "PROBE_STAYS"
    PROBE_POLICY = "PROBE_POLICY"
    ZNODE_ACLS = "ZNODE_ACLS"
    ZNODES_FORBIDDEN = "ZNODES_FORBIDDEN"
    ZNODES_UNKNOWN = "ZNODES_UNKNOWN"
    TOPIC_IDS_MISSING = "TOPIC_IDS_MISSING"
    STATES_MISSING = "STATES_MISSING"
    CONFIGS_ORPHANED = "CONFIGS_ORPHANED"
    BROKERS_AWAITED = "BROKERS_AWAITED"
    CONTROLLERS_NUMBER = "CONTROLLERS_NUMBER"
    ZOOKEEPER_SMALL = "ZOOKEEPER_SMALL"
    ZOOKEEPER_SERVERS_AWAY = "ZOOKEEPER_SERVERS_AWAY"
    ZOOKEEPER_NO_SPARE = "ZOOKEEPER_NO_SPARE"
    ZOOKEEPER_NO_LEADER = "ZOOKEEPER_NO_LEADER"
    DATA_PASSING = "DATA_PASSING"
    DISK_LOW = "DISK_LOW"
    LOG_DIRS_MISSING = "LOG_DIRS_MISSING"
    LOG_DIRS_OFFLINE = "LOG_DIRS_OFFLINE"
    LOG_DIRS_UNKNOWN = "LOG_DIRS_UNKNOWN"
    PORTS_EPHEMERAL = "PORTS_EPHEMERAL"
    EPOCH_LOW = "EPOCH_LOW"
    ACL_SLASH = "ACL_SLASH"
    DELETING = "DELETING"
    REASSIGNING = "REASSIGNING"
    REPLICAS_AWAY = "REPLICAS_AWAY"
    DYNAMIC_LISTENERS = "DYNAMIC_LISTENERS"
    UNREACHED = "UNREACHED"
    NAMES_DIFFER = "NAMES_DIFFER"
    REACH_UNKNOWN = "REACH_UNKNOWN"
    FOREIGN_CLIENTS = "FOREIGN_CLIENTS"
    CLIENTS_UNKNOWN = "CLIENTS_UNKNOWN"
    FIELDS_KEPT = "FIELDS_KEPT"
    NOT_CHECKED = "NOT_CHECKED"


@dataclass(frozen=True, slots=True)
class FindingText:
    """How a kind of finding is told."""

    severity: Severity
    what: str
    advice: str


def stop(what: str, advice: str) -> FindingText:
    """Return the text of a finding that stops a migration."""
    return FindingText(Severity.STOP, what, advice)


def warn(what: str, advice: str) -> FindingText:
    """Return the text of a finding that may cost something later."""
    return FindingText(Severity.WARNING, what, advice)


def note(what: str, advice: str) -> FindingText:
    """Return the text of a finding about what could not be looked at."""
    return FindingText(Severity.NOTE, what, advice)
