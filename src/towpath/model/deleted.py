"""Records that only the target has deleted, and the possible causes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from towpath.model.cleaner import left_alone
from towpath.model.nouns import SourceOffset
from towpath.model.reasons import Reason, ReasonCode

FOR_EVER = -1
"""A retention that deletes nothing."""


class Deleter(StrEnum):
    """The causes of deleted records on a broker, named like the config or request."""

    TIME = "retention.ms"
    SIZE = "retention.bytes"
    REQUEST = "DeleteRecords"
    CLEANER = "cleanup.policy=compact, which removes nothing at the source"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The retention of a topic: what its configs let the broker delete.

    Attributes:
        ms: Age in milliseconds from which on records may go, -1 if none does.
        bytes: Size in bytes of a partition beyond which its oldest segments go, -1 without one.
        deletes: Whether `cleanup.policy` names `delete`, and it has effect. If not, both are -1.
        requests: Whether brokers take DeleteRecords: not where the policy is `compact` alone
            (`Partition.deleteRecordsOnLeader`).
        segment_ms: Age at which a segment ends; records go by whole segments.
        segment_bytes: Size at which a segment ends.
        codec: `compression.type`, without which the same bytes are other records.
        tiered: Whether brokers keep a part of a log alone, so that its size there does not tell.
        known: Whether the login may see the configs.
    """

    ms: int = FOR_EVER
    bytes: int = FOR_EVER
    deletes: bool = True
    requests: bool = True
    segment_ms: int = 0
    segment_bytes: int = 0
    codec: str = ""
    tiered: bool = False
    known: bool = True

    @property
    def ages(self) -> bool:
        """Whether records go by their age."""
        return self.ms != FOR_EVER

    @property
    def gone_ms(self) -> int:
        """Age in milliseconds at which records have gone, where times of records ascend.

        A segment has at most `segment_ms` of them, and goes once its last record may go.
        """
        return self.ms + self.segment_ms

    @classmethod
    def of(cls, configs: Mapping[str, str] | None) -> Retention:
        """Return the retention that a topic's configs define, including defaults.

        Where no cleaner runs (`left_alone`), nothing goes of a topic that is compacted, too.
        """
        if configs is None or configs.get("cleanup.policy") is None:
            return cls(known=False)
        policy = str(configs["cleanup.policy"]).split(",")
        if "delete" not in policy or left_alone(configs):
            return cls(deletes=False, requests="delete" in policy or "compact" not in policy)
        return cls(
            ms=int(configs.get("retention.ms") or FOR_EVER),
            bytes=int(configs.get("retention.bytes") or FOR_EVER),
            segment_ms=int(configs.get("segment.ms") or 0),
            segment_bytes=int(configs.get("segment.bytes") or 0),
            codec=configs.get("compression.type") or "",
            tiered=configs.get("remote.storage.enable") == "true",
        )

    def by(self, *, old: bool | None, size: int | None = None) -> tuple[Deleter, ...]:
        """Return the possible causes for a deletion at the start of a log.

        A retention that somebody has changed since is not known, and so not told.

        Args:
            old: Whether all of them are older than `ms`, `None` if unknown.
            size: Bytes of the log now, `None` if unknown. By size, a broker deletes nothing that
                leaves less than `bytes` (`UnifiedLog.deleteRetentionSizeBreachedSegments`).
        """
        if not (self.known and self.requests):
            return (Deleter.UNKNOWN,)
        found = [Deleter.TIME] if old and self.ms != FOR_EVER else []
        if self.bytes != FOR_EVER and (size is None or size >= self.bytes):
            found.append(Deleter.SIZE)
        if old is None and self.ms != FOR_EVER:
            found.append(Deleter.UNKNOWN)
        return tuple(found) or (Deleter.REQUEST,)

    def cuts_finer(self, other: Retention) -> bool:
        """Return whether segments of this topic end sooner than those of the other topic.

        Old records are then in segments of their own, and go, where the other topic still has them
        in one segment with younger ones.
        """
        shorter = self.segment_ms < other.segment_ms or self.segment_bytes < other.segment_bytes
        return shorter or not (self.known and other.known)

    def keeps_like(self, other: Retention, why: tuple[Deleter, ...]) -> bool:
        """Return whether the other topic would delete for these reasons at least as early."""
        alike = {
            Deleter.TIME: FOR_EVER < other.ms <= self.ms,
            Deleter.SIZE: FOR_EVER < other.bytes <= self.bytes and self.codec == other.codec,
        }
        return all(alike.get(each, False) for each in why) and not self.cuts_finer(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecords:
    """Copied records that the target has deleted and the source still has.

    They lie before the target's log start offset. What the target's cleaner took out behind it is
    counted by `verify` alone.

    Attributes:
        first: The source offset of the first of them.
        end: The source offset behind the last of them.
        records: Their number.
        exact: Whether they were read and counted. If not, `records` is an upper bound, made from
            offsets.
        due: How many of them the source's own retention deletes as soon as its broker looks.
        why: What deleted them, as far as the target's configs tell.
        foretold: Whether it was said that the target would delete them, before it did.
        meant: Whether the file or an option says that the target may delete them.
    """

    first: SourceOffset
    end: SourceOffset
    records: int
    exact: bool = False
    due: int = 0
    why: tuple[Deleter, ...] = (Deleter.UNKNOWN,)
    foretold: bool = False
    meant: bool = False

    @property
    def missed(self) -> int:
        """Number of records that are neither expired at the source nor meant to be deleted."""
        return 0 if self.meant else self.records - self.due

    @property
    def unwanted(self) -> bool:
        """Whether a person must look at the deletion."""
        return self.missed > 0

    @property
    def reason(self) -> Reason:
        """The code and values of the deletion, as a `Reason` for messages."""
        return Reason.of(
            ReasonCode.TARGET_DELETED,
            first=self.first,
            last=self.end - 1,
            records=self.records,
            exact=int(self.exact),
            due=self.due,
            by=" or ".join(self.why),
        )

    def __str__(self) -> str:
        said = "; it was foretold" if self.foretold else ""
        return f"{self.reason}{said}{'; that is meant' if self.meant else ''}"
