"""The status of a source partition."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.ledger.entries import Cut, Gap, Pause, Restarted, Tally
from towpath.mirror.status.losses import LostRecords
from towpath.mirror.status.open_transaction import OpenTransaction
from towpath.mirror.status.set_aside import NOTHING, SetAside
from towpath.model.deleted import DeletedRecords
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition


class State(StrEnum):
    """The states of a partition."""

    NOT_STARTED = "not started"
    BEHIND = "behind"
    CAUGHT_UP = "caught up"
    NO_LEADER = "no leader now"
    """The partition has no leader at the source or target, or the leader does not answer."""
    STOPPED = "stopped"
    PAUSED = "paused"
    """Somebody paused the topic or the link."""
    FAILED_OVER = "failed over"
    """Clients write to the mirror topic, or are about to: nothing more is copied."""
    PROMOTED = "promoted"
    """A gateway moved the topic: clients write to the mirror topic, and nothing more is copied."""
    STOPPED_BY_HAND = "stopped by hand"
    """Somebody stopped the topic for good: nothing more is copied until it is taken up again."""
    EXCLUDED = "excluded"
    """The file no longer asks for its topic."""


OVER = frozenset({State.FAILED_OVER, State.PROMOTED, State.STOPPED_BY_HAND})
"""States in which nothing more is copied, whatever the source has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """The status of a source partition.

    Attributes:
        producer_id: Our private producer id, which names the incarnation; -1 before the opening.
        source_end: The source offset up to which records are copied; `target_end` is the offset
            on the target behind the last of them.
        source_log_end: Where the source log ends for consumers with
            isolation.level=read_committed; -1 if unknown.
        target_log_end: Where the target log ends; -1 if unknown, or if nothing is copied yet.
        lag_records: Lag in source offsets; -1 if the end of the source is unknown.
        lag_seconds: Lag in seconds; -1 if unknown.
        lag_log_bytes: Bytes of the lag by the size of the source log, asked for where no record was
            copied yet (`mirror/status/backlog.py`); -1 otherwise, or if the source does not tell.
        lost: Acknowledged records that the target lost; `error` then says so.
        holes: Number of offsets left empty by compaction and filled with markers.
        transacted: Number of offsets filled in transactions, as the target takes no markers.
        change: The digest of the change under which records are copied, "" if they stay as they
            are.
        tally: What changes did to records, and how often (`ledger/entries/partition.py`).
        pause: The pause that holds for the topic, `None` if it is not paused.
        restart: Who accepted that the source topic was made again, `None` if it was not. It is no
            gap then.
        cut: The last cutover of the partition, `None` if there was none.
        set_aside: Records that were left out because they could not be changed or delivered.
        deleted: Records that the target deleted and the source still has; `None` if there are none,
            or if that was not looked at.
        unread_end: The offset behind what the source has deleted before it was copied
            (`mirror/status/unread.py`); -1 if it has deleted nothing so, or if that was not looked
            at.
        unstable: Number of offsets from `source_log_end` on that an open transaction holds back;
            -1 if unknown.
        open: That transaction; `None` if there is none, or if it was not looked for
            (`mirror/status/transaction_watch.py`).
        before: Source offsets [first, end) from before `records.start`, which are not copied;
            `None` if there are none, or if that was not looked at
            (`mirror/status/before_start.py`).
        kept: Number of source offsets behind what was copied whose records are in a salvage topic.
        keepable: Whether what comes to the source can be kept so: clients use the target.
        strays: Number of records that are in a salvage topic so.
        codes: Codes of `error`, `gaps` and `reason`, each of which `towpath explain` explains.
    """

    topic: TopicName
    partition: int
    target_topic: TopicName
    state: State
    mode: str
    reason: str
    producer_id: int
    source_end: int
    target_end: int
    lag_records: int
    lag_seconds: float
    records: int
    bytes: int
    gaps: tuple[Gap, ...]
    error: str
    lost: LostRecords | None = None
    holes: int = 0
    transacted: int = 0
    codes: tuple[str, ...] = ()
    source_log_end: int = -1
    target_log_end: int = -1
    pause: Pause | None = None
    cut: Cut | None = None
    restart: Restarted | None = None
    change: str = ""
    tally: Tally = ()
    set_aside: SetAside = NOTHING
    deleted: DeletedRecords | None = None
    lag_log_bytes: int = -1
    unread_end: int = -1
    unstable: int = -1
    open: OpenTransaction | None = None
    before: tuple[SourceOffset, SourceOffset] | None = None
    kept: int = 0
    keepable: bool = False
    strays: int = 0

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def to_copy(self) -> int:
        """Number of source offsets that are still to be copied; 0 if unknown, and behind the end.

        Of a partition that failed over or was stopped, nothing more is copied.
        """
        return 0 if self.state in OVER else max(0, self.lag_records)

    @property
    def unkept(self) -> int:
        """Number of source offsets that came after a promotion and are not kept aside."""
        is_meant = self.state is State.PROMOTED and self.keepable
        return max(0, self.lag_records - self.kept) if is_meant else 0

    @property
    def clients_own(self) -> int:
        """Number of target offsets after the cutover that the link did not copy; 0 if unknown."""
        if self.cut is None or self.target_log_end < 0:
            return 0
        copied = max(0, self.records - self.cut.records)
        return max(0, self.target_log_end - self.cut.target_end - self.cut.fences - copied)

    @property
    def left_out(self) -> bool:
        """Whether records of this partition are left uncopied, for a reason other than lag."""
        return bool(self.error or self.losses or self.unread)

    @property
    def unread(self) -> int:
        """Number of offsets that the source deleted before they were copied, as far as known."""
        return max(0, self.unread_end - self.source_end) if self.unread_end >= 0 else 0

    @property
    def losses(self) -> tuple[Gap, ...]:
        """The gaps with missing records that somebody could still want to read."""
        return tuple(gap for gap in self.gaps if gap.is_loss)

    @property
    def lacks(self) -> bool:
        """Whether the target deleted records that it should have kept."""
        return self.deleted is not None and self.deleted.unwanted

    @property
    def why(self) -> str:
        """A sentence about the records that are not copied."""
        if self.error:
            return self.named(self.error)
        if self.losses:
            gap = self.losses[0]
            copied = f"offsets {gap.first} to {gap.end - 1} were not copied: "
            return self.named((copied if gap.end > gap.first else "") + gap.cause)
        if self.pause is not None:
            return self.named(str(self.pause))
        if self.lag_records < 0:
            return self.named("the source did not tell where it ends")
        return self.named(self.behind)

    @property
    def stands_still(self) -> bool:
        """Whether copying has stopped, at least for now; `error` has the reason."""
        return self.state in {State.STOPPED, State.NO_LEADER}

    def named(self, text: str) -> str:
        """Return a sentence about the partition that names it exactly once."""
        name = f"{self.topic}-{self.partition}: "
        return text if text.startswith(name) else name + text

    @property
    def behind(self) -> str:
        """A sentence about the offsets that are not yet copied."""
        if self.lag_records == 0:
            return "all that the source has now is copied"
        first, last = self.source_end, self.source_end + self.lag_records - 1
        words = {
            State.FAILED_OVER: "not copied when it failed over",
            State.PROMOTED: "not copied when it was promoted",
            State.STOPPED_BY_HAND: "not copied, as the topic is stopped",
        }
        left = words.get(self.state, "not yet copied")
        text = f"offsets {first} to {last} {left}"
        if not self.unread:
            return text
        return f"{text}, of which the source has deleted {first} to {self.unread_end - 1}"
