"""The cause of deleted source records: retention, or DeleteRecords.

Programs that clean up behind themselves use DeleteRecords: Kafka Streams deletes from its
repartition topics what it has read (KIP-204). What all readers of a partition had read before it
was deleted is no loss for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.source.readers import Unread, may_pass, read_by
from towpath.records.source.trouble import SourceLoss
from towpath.runtime.clock import now_ms


def why_deleted(
    source: Admin, tp: TopicPartition, lost: SourceLoss, newest: int = -1
) -> SourceLoss:
    """Return a loss with the deletion's cause; unchanged if retention may be the cause.

    Args:
        source: The source cluster.
        tp: The partition.
        lost: What it has deleted.
        newest: Timestamp in ms of the newest record that was copied before, -1 if unknown.

    Raises:
        ClusterError: The source cannot be asked now, so that asking again may help.
    """
    configs = source.configs.describe([tp.topic])
    proof = no_retention(configs.get(tp.topic, {}), newest, now_ms())
    if not proof:
        return lost
    try:
        found = read_by(source, tp, lost.end)
    except ClusterError as error:
        if may_pass(error):
            raise
        found = Unread("HIDDEN")
    if not isinstance(found, Unread):
        return replace(lost, why=Reason.of(ReasonCode.READ_AND_DELETED, proof=proof, groups=found))
    why = Reason.of(
        ReasonCode.RECORDS_DELETED,
        proof=proof,
        readers=found.why,
        group=found.group,
        committed=found.committed,
    )
    return replace(lost, why=why)


def no_retention(configs: Mapping[str, ConfigEntry], newest: int, now: int) -> str:
    """Return why retention cannot have deleted records, "" if it may have.

    Args:
        configs: All configs of the topic; none if they are not known.
        newest: Timestamp in ms of a record before them, -1 if unknown.
        now: The present time, likewise.
    """
    values = {name: entry.value or "" for name, entry in configs.items()}
    policy = values.get("cleanup.policy")
    if policy is None:
        return ""
    if "delete" not in policy.split(","):
        return "POLICY"  # an empty one retains all (KIP-1161)
    time, size = (int(values.get(f"retention.{each}") or 0) for each in ("ms", "bytes"))
    if size >= 0:
        return ""
    if time < 0:
        return "UNLIMITED"
    return "YOUNG" if newest >= 0 and now - newest < time else ""
