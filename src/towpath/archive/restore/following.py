"""An archive that a restore follows: new versions of its log, and new topics in it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from towpath.archive.config.restore_section import FollowConfig
from towpath.archive.errors import CommitLogError
from towpath.archive.log import Archive, CommitLog, Find
from towpath.archive.model import PartitionId
from towpath.archive.restore.log_watch import Heard, heard_of
from towpath.archive.restore.model import RestorePart, RestoreScope
from towpath.ledger.books import LinkBooks
from towpath.model.errors import StoreError
from towpath.model.nouns import SourceOffset, TopicId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms
from towpath.store import Store
from towpath.store.patience import AGAIN


class FollowedArchive:
    """Looks for new versions of the archive of one region.

    Others may copy its objects here, in any order: an entry of the log that is missing while later
    ones are there is waited for, and read over where a checkpoint behind it has arrived.

    Args:
        store: Where the archive is.
        region: The region.
        rules: How often to look, and when it counts as silent.

    Attributes:
        archive: The archive, as far as it was read.
        heard: What is heard of it.
        reopened: Whether it was read over a missing entry since this was asked last.

    Raises:
        CommitLogError: There is no archive yet, or its log is of no use.
        StoreError: The store cannot be read.
    """

    def __init__(self, store: Store, region: str, rules: FollowConfig) -> None:
        self._store, self._region, self._rules = store, region, rules
        self.archive = Archive(CommitLog.open(store, region, arriving=True))
        self._next = time.monotonic() + rules.look
        self._came, self._has_grown = time.monotonic(), False
        """When a version came last, or the archive was opened; whether any has come since."""
        self._next_list = 0.0
        self._failures = 0
        self._trouble: Reason | None = None
        self._missing: Reason | None = None
        self.reopened = False

    @property
    def heard(self) -> Heard:
        """The state of the archive: up to date, silent or broken."""
        return heard_of(
            self._region,
            self.archive.log.state,
            float(self._rules.silence),
            self._trouble or self._missing,
            since=self._since,
        )

    @property
    def _since(self) -> int:
        """When a version came last, in ms by the clock of this machine.

        The clock of whoever writes it may be wrong by hours.
        """
        seen = now_ms() - round((time.monotonic() - self._came) * 1000)
        return seen if self._has_grown else min(seen, self.archive.log.state.time)

    def look(self, *, at_once: bool = False) -> bool:
        """Look for new versions if a look is due. Returns whether there were any. Never raises.

        Args:
            at_once: Whether it is time to in any case.
        """
        now = time.monotonic()
        if now < self._next and not at_once:
            return False
        before = self.archive.log.state.version
        try:
            grown = bool(self.archive.log.follow()) or self._overtaken(now)
        except (CommitLogError, StoreError) as error:
            self._failures += 1
            self._trouble = error.reason
            self._next = now + max(float(self._rules.look), AGAIN.after(self._failures))
            # Entries before the bad one were taken in.
            return self.archive.log.state.version > before
        self._failures, self._next, self._trouble = 0, now + self._rules.look, None
        if grown:
            self._missing = None
            self._came, self._has_grown = now, True
        return grown

    def _overtaken(self, now: float) -> bool:
        """Find out, now and then, whether the next entry is missing and later ones are there.

        Returns:
            Whether the log was read on behind it.
        """
        if now < self._next_list:
            return False
        self._next_list = now + float(self._rules.silence) / 2
        log = self.archive.log
        before, missing = log.state.version, log.missing()
        self._missing = None
        if missing is None or log.state.version > before:
            return log.state.version > before
        fresh = CommitLog.open(self._store, self._region, arriving=True)
        if fresh.state.version > log.state.version:
            self.archive, self.reopened = Archive(fresh), True
            return True
        self._missing = Reason.of(ReasonCode.ARCHIVE_OVERTAKEN, version=missing)
        return False

    def young(
        self, scope: RestoreScope, books: LinkBooks, delay: float
    ) -> frozenset[TopicPartition]:
        """Return the partitions whose restore must wait because they are too new.

        Args:
            scope: What is restored.
            books: What the ledger knows of the restore.
            delay: How old the first segment of a partition must be, in seconds.
        """
        if not delay:
            return frozenset()
        after = now_ms() - int(delay * 1000)
        return frozenset(
            tp
            for topic in scope.topics.values()
            for tp, part in topic.by_partition.items()
            if books.of(tp).opened is None and self._begun(part) > after
        )

    def _begun(self, part: RestorePart) -> int:
        """Return when the first segment of a partition was written, in ms."""
        found = self.archive.segments(part.id, part.start, part.start + 1)
        return found[0].created if found else now_ms()


class TopicGenerations:
    """Chooses which topic to restore where several archived topics share a name.

    A topic that is deleted and created again is another one. What is left of the first is restored
    before the next one begins.

    Args:
        books: What the ledger knows of the restore.
    """

    def __init__(self, books: LinkBooks) -> None:
        self._books = books

    def choose(
        self, name: TopicName, ids: Sequence[TopicId], parts: Mapping[TopicId, list[RestorePart]]
    ) -> TopicId:
        """Return the id of the topic to restore now.

        Args:
            name: The name.
            ids: The topics of this name, the latest one last.
            parts: The partitions of each.
        """
        numbers = {part.id.partition for each in ids for part in parts[each]}
        opened = (self._books.of(TopicPartition(name, number)).opened for number in numbers)
        begun = {each.source_topic_id for each in opened if each is not None}
        known = [place for place, each in enumerate(ids) if each in begun]
        if not known:
            return ids[-1]
        now = known[-1]
        is_over = now + 1 < len(ids) and all(self._is_done(name, each) for each in parts[ids[now]])
        return ids[now + 1] if is_over else ids[now]

    def goes_on(
        self, name: TopicName, newest: PartitionId, find: Find
    ) -> tuple[PartitionId, SourceOffset] | None:
        """Return the history to continue a restore with, and its start; `None` for a new one.

        A history that has begun is restored up to its end. The next one comes behind it, from where
        the source's log differed.

        Args:
            name: The name of the topic.
            newest: The newest history of the partition.
            find: Returns how far a history is archived by itself.
        """
        known = self._books.of(TopicPartition(name, newest.partition))
        opened = known.opened
        histories = (newest.of_history(number) for number in range(newest.history + 1))
        now = next(
            (each for each in histories if opened and each.topic_id == opened.source_topic_id), None
        )
        place = None if now is None else find(now)
        if opened is None or now is None or place is None:
            return None
        at = known.receipt.source_end if known.receipt is not None else opened.source_start
        later = find(now.later)
        if now != newest and at >= place.archived_to and later and later.fork is not None:
            return now.later, later.fork
        return now, opened.source_start

    def _is_done(self, name: TopicName, part: RestorePart) -> bool:
        known = self._books.of(TopicPartition(name, part.id.partition))
        if known.opened is None or known.opened.source_topic_id != part.id.topic_id:
            return part.start == part.end
        at = known.receipt.source_end if known.receipt is not None else part.start
        return at >= part.end


Shape = frozenset[
    tuple[TopicName, TopicName, TopicId, int, frozenset[tuple[str, str]], frozenset[PartitionId]]
]
"""What makes topics and slices be planned anew where it changes."""


def shape_of(scope: RestoreScope) -> Shape:
    """Return the topics and partitions of a restore, and the configs of the topics."""
    return frozenset(
        (
            name,
            each.target,
            each.topic.id,
            each.topic.partitions,
            frozenset(each.topic.own.items()),
            frozenset(p.id for p in each.parts),
        )
        for name, each in scope.topics.items()
    )
