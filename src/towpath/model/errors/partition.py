"""Errors that stop a partition."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError
from towpath.model.errors.cluster import ClusterError
from towpath.model.reasons import Reason, ReasonCode


class CorruptBatchError(TowpathError):
    """Bytes are not valid record batches; those before `at` may be valid."""

    code = "CORRUPT_BATCH"

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why, at)
        self.why, self.at = why, at

    def __str__(self) -> str:
        return f"corrupt record batch: {self.why}"


class TargetLostError(TowpathError):
    """The target holds less of a partition than it acknowledged.

    Args:
        partition: The target partition.
        acknowledged: The end of what was acknowledged: an offset, or a sequence.
        found: The end of what the target holds.
        unit: `offset` or `sequence`; sequences count the records since the partition was opened.
    """

    code = "TARGET_LOST"
    exit_code = 3

    def __init__(
        self, partition: str, acknowledged: int, found: int, unit: str = "sequence"
    ) -> None:
        super().__init__(partition, acknowledged, found, unit)
        self.partition, self.acknowledged, self.found = partition, acknowledged, found
        self.unit = unit

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(
            ReasonCode.TARGET_LOST,
            partition=self.partition,
            acknowledged=self.acknowledged,
            found=self.found,
            unit=self.unit,
        )

    def __str__(self) -> str:
        return str(self.reason)


class DoubledError(TowpathError):
    """The target holds records of a partition twice.

    Args:
        partition: The target partition.
        first: The first target offset of the second copy.
        end: The target offset behind its last record.
        records: How many records were written twice.
    """

    code = "DOUBLED"
    exit_code = 3

    def __init__(self, partition: str, first: int, end: int, records: int) -> None:
        super().__init__(partition, first, end, records)
        self.partition, self.first, self.end, self.records = partition, first, end, records

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        partition, first, end, records = self.partition, self.first, self.end, self.records
        return Reason.of(
            ReasonCode.DOUBLED, partition=partition, first=first, end=end, records=records
        )

    def __str__(self) -> str:
        return str(self.reason)


class TargetReplacedError(TowpathError):
    """The mirror topic was deleted and created again while it was written."""

    code = "TARGET_REPLACED"
    exit_code = 3

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(ReasonCode.TARGET_REPLACED, topic=self.topic)

    def __str__(self) -> str:
        return str(self.reason)


class NotIdenticalError(TowpathError):
    """`records.offsets: identical` is required, and `why` makes it impossible."""

    code = "NOT_IDENTICAL"
    exit_code = 3

    def __init__(self, partition: str, why: Reason) -> None:
        super().__init__(partition, why)
        self.partition, self.why = partition, why

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(ReasonCode.NOT_IDENTICAL, why=self.why)

    def __str__(self) -> str:
        return f"{self.partition}: {self.reason}"


class TwinIdsError(TowpathError):
    """A link with a twin would have to write `partition` in transactions, because of `why`."""

    code = "TWIN_IDS_REFUSED"
    exit_code = 3

    def __init__(self, partition: str, why: Reason) -> None:
        super().__init__(partition, why)
        self.partition, self.why = partition, why

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(ReasonCode.TWIN_IDS_REFUSED, partition=self.partition, why=self.why)

    def __str__(self) -> str:
        return str(self.reason)


class UnknownIdsError(TowpathError):
    """Records have schema ids without a known id on the target, and none may pass.

    Args:
        ids: The ids, for people.
        why: Why they are unknown.
    """

    code = "SCHEMA_ID_REFUSED"
    exit_code = 3

    def __init__(self, ids: str, why: Reason) -> None:
        super().__init__(ids, why)
        self.ids, self.why = ids, why

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(ReasonCode.SCHEMA_ID_REFUSED, ids=self.ids, why=self.why)

    def __str__(self) -> str:
        return str(self.reason)


class NotSetAsideError(ClusterError):
    """A record that cannot be delivered could not be put into the quarantine either.

    Args:
        offset: The source offset of the record.
        cause: What the target answered, or that it did not.
    """

    code = "NOT_SET_ASIDE"

    def __init__(self, offset: int, cause: ClusterError) -> None:
        super().__init__(offset, cause)
        self.offset, self.cause = offset, cause

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(ReasonCode.NOT_SET_ASIDE, offset=self.offset, why=self.cause.reason)

    def __str__(self) -> str:
        return str(self.reason)
