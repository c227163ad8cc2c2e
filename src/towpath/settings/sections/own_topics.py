"""Topics that are not user data: those of the cluster itself, and those of tools. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from towpath.model.nouns import EVENTS, LEDGER, POSITIONS, QUARANTINE


@dataclass(frozen=True, slots=True)
class OwnTopics:
    """Topics that a cluster uses internally, so that a copy would do harm.

    Attributes:
        names: A regular expression for the whole name.
        whose: Who writes them, with the version that began to.
        holds: What they hold.
    """

    names: str
    whose: str
    holds: str


@dataclass(frozen=True, slots=True)
class ToolTopics:
    """Topics that a tool keeps about its own cluster; they are mirrored like all others.

    Attributes:
        names: A regular expression for the whole name.
        tool: Whose they are, in the plural or with "the".
        advice: What a copy of them is good for.
    """

    names: str
    tool: str
    advice: str


NEVER_MIRRORED = (
    OwnTopics("__consumer_offsets", "Kafka 0.8.2 and newer", "offsets of groups"),
    OwnTopics("__transaction_state", "Kafka 0.11 and newer", "transactions"),
    OwnTopics(
        "__cluster_metadata|@metadata", "Kafka 2.8 and newer, KRaft", "the metadata of the cluster"
    ),
    OwnTopics(
        "__remote_log_metadata",
        "Kafka 3.0 and newer, tiered storage (KIP-405)",
        "which segments lie in the remote store",
    ),
    OwnTopics("__share_group_state", "Kafka 3.9 and newer (KIP-932)", "share groups"),
    OwnTopics(
        "__mirror_state", "Kafka with cluster mirroring (KIP-1279)", "how far mirrors have come"
    ),
    OwnTopics("__diskless_metadata", "Kafka with diskless topics (KIP-1164)", "where batches lie"),
    OwnTopics(
        r"_confluent-(tier-state|link-metadata|metadata-auth|command|license|security)"
        r"|_confluent_balancer_.*|_confluent-(metadata-coordinator|transfer)-.*",
        "Confluent Server",
        "tiered storage, cluster linking, roles, licences, balancing",
    ),
    OwnTopics(r"__?redpanda[._].*", "Redpanda", "audit logs, logs of transforms"),
    OwnTopics(
        r"__auto_balancer_metrics|__automq_.*", "AutoMQ", "load of brokers, state of table topics"
    ),
    OwnTopics(
        "|".join((*map(re.escape, (str(LEDGER), EVENTS, QUARANTINE)), rf"{POSITIONS}\..*")),
        "Towpath",
        "its books",
    ),
)
"""Topics that are never mirrored, archived or restored, whatever `include` says.

Brokers call only some of them internal: `__consumer_offsets`, `__transaction_state` and, from 4.0
on, `__share_group_state` (`Topic.isInternal` in Kafka).
"""

_CONNECT = (
    "a Connect cluster of the target keeps its own; a copy of offsets would let its connectors"
    " begin where those of the source stand, and one of configs would start them twice"
)
_MEASURED = "they measure the source; the target's own tool would take the copy for its own"
TOOLS = (
    ToolTopics(
        r"__CruiseControlMetrics|__KafkaCruiseControl.*|strimzi\.cruisecontrol\..*",
        "Cruise Control",
        _MEASURED,
    ),
    ToolTopics(
        r"_confluent-(metrics|telemetry-metrics|monitoring|controlcenter-.*)",
        "Confluent's monitoring",
        _MEASURED,
    ),
    ToolTopics(
        r"__amazon_msk_canary.*|__strimzi_canary|_redpanda_e2e_probe",
        "canaries",
        "they probe the cluster where they are written",
    ),
    ToolTopics(
        r"__strimzi_store_topic|__strimzi-topic-operator.*",
        "the operator Strimzi",
        "it describes the topics of its own cluster",
    ),
    ToolTopics(
        r"(.*[._-])?connect-(configs|offsets|status|config|offset|cluster-(configs|offsets|status))"
        r"|__amazon_msk_connect_.*",
        "Kafka Connect",
        _CONNECT,
    ),
    ToolTopics(
        r"(.+[.-])?heartbeats|.+\.checkpoints[._-]internal"
        r"|mm2-(offset-syncs|configs|offsets|status)[._-].+[._-]internal|mm2-.+\.internal",
        "MirrorMaker 2",
        "they tell where its copies stand, which is not true of copies of copies",
    ),
    ToolTopics(
        r"_schemas",
        "the schema registry",
        "`schemas` in the file brings schemas over by the registry's own interface, ids included",
    ),
)
"""Topics that tools keep. Users can give most of them other names, so no list can be complete."""

_ANY = re.compile("|".join(f"(?:{each.names})" for each in NEVER_MIRRORED))


@cache
def is_own(topic: str) -> bool:
    """Return whether a cluster uses a topic of this name internally (`NEVER_MIRRORED`)."""
    return _ANY.fullmatch(topic) is not None


def of_tools(topics: Iterable[str]) -> Mapping[ToolTopics, list[str]]:
    """Return the topics that seem to belong to tools, by tool."""
    found: defaultdict[ToolTopics, list[str]] = defaultdict(list)
    for name in topics:
        for each in TOOLS:
            if re.fullmatch(each.names, name):
                found[each].append(name)
                break
    return found
