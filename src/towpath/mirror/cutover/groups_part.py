"""The groups of a link in its cutover: who still reads at the source, and where they go on."""

from __future__ import annotations

import threading

from towpath.cluster.admin import Admin
from towpath.engine.starting import Starting
from towpath.groups.cut_sync import CutSync
from towpath.groups.model import SyncReport
from towpath.groups.observe_groups import SourceView, source_now
from towpath.groups.settle import settle
from towpath.groups.sync import GroupSync
from towpath.groups.unread import PassedOver, look_at_unread
from towpath.ledger.link import OpenLink, open_link
from towpath.mirror.cutover.groups_left import (
    among_others,
    left_reading,
    open_transactions,
    skipped,
    to_read,
    unmoved,
    unread,
)
from towpath.mirror.cutover.readers import (
    ReadingGroup,
    readers_to_stop,
    still_reading,
    wait_for_members,
)
from towpath.mirror.cutover.records import LinkRecords
from towpath.mirror.cutover.report import CutoverReport, CutoverRequest
from towpath.mirror.mm2.publish import publishing
from towpath.settings import GroupsConfig, LinkConfig


class CutoverGroups:
    """The groups of one link in its cutover.

    Args:
        config: The link.
        cut: How to cut over.
        report: What the findings are added to.
        records: How its records are cut over.
        spark: Spark.
        stop: Set to end early.
    """

    def __init__(
        self,
        config: LinkConfig,
        cut: CutoverRequest,
        report: CutoverReport,
        records: LinkRecords,
        spark: Starting,
        stop: threading.Event,
    ) -> None:
        self._config, self._cut, self._report = config, cut, report
        self._records, self._spark, self._stop = records, spark, stop
        self._seen = SourceView()

    @property
    def are_brought(self) -> bool:
        """Whether groups are part of the cutover, by the file and the options."""
        return self._config.groups is not None and not self._cut.without_groups

    @property
    def _wanted(self) -> GroupsConfig | None:
        """The groups that are looked at: those left behind, too, as nobody else would say it."""
        if self._through_query and self._cut.without_groups:
            return self._config.groups or GroupsConfig()
        return self._config.groups if self.are_brought else None

    @property
    def _through_query(self) -> bool:
        return self._config.transforms is not None

    def now(self, source: Admin) -> SourceView:
        """Return the groups as they are at the source; none where none is looked at."""
        wanted = self._wanted
        return SourceView() if wanted is None else source_now(wanted, source)

    def look(self, source: Admin, first: SourceView) -> None:
        """Find groups that clients still read, and those that have records left to read.

        Args:
            source: The source.
            first: The groups at the first look.
        """
        report, rehearsed = self._report, self._cut.dry_run
        reading = self._still_reading(source, first)
        left = self._unread() if self._through_query and report.plan.topics else ()
        if not self.are_brought:
            report.left_reading = left_reading(reading, left)
            return
        trouble, report.skipped = unread(left, self._cut.may_skip)
        if rehearsed:
            report.to_stop += [*readers_to_stop(reading), *to_read(left, self._cut.may_skip)]
        else:
            report.trouble += [*map(str, reading), *trouble]

    def _still_reading(self, source: Admin, first: SourceView) -> tuple[ReadingGroup, ...]:
        """Find groups that clients still read; where all else is well, wait for members to go."""

        def look() -> tuple[ReadingGroup, ...]:
            self._seen = self.now(source)
            return still_reading(first, self._seen, self._report.plan.topics)

        wait = self.are_brought and not self._cut.dry_run and self._report.complete
        return wait_for_members(look, self._stop) if wait else look()

    def _unread(self) -> tuple[PassedOver, ...]:
        if self._wanted is None:
            return ()
        with open_link(self._config) as link:
            return CutSync(link, self._wanted).unread()

    def bring(self) -> None:
        """Sync the groups, read them back, and update MirrorMaker 2's topics."""
        report = self._report
        with open_link(self._config) as link, publishing(link) as publish:
            sync = self._sync(link)
            report.groups = settle(sync, self._stop)
            report.trouble += unmoved(report.groups, link.books)
            self._look_at_unread(link, sync, report.groups)
            now, topics = self.now(link.source), report.plan.topics
            report.trouble += map(str, still_reading(self._seen, now, topics))
            report.trouble += publish(report.groups)

    def rehearse(self) -> None:
        """See where each group would stand; what is still to be copied is no trouble."""
        report = self._report
        with open_link(self._config) as link:
            sync = self._sync(link)
            report.groups = sync.once(write=False)
            report.trouble += unmoved(report.groups, link.books, rehearsed=True)
            report.to_stop += open_transactions(report.groups)
            self._look_at_unread(link, sync, report.groups)

    def _sync(self, link: OpenLink) -> GroupSync:
        return self._records.groups(link, self._cut.may_skip, self._report.verdicts, self._spark)

    def _look_at_unread(self, link: OpenLink, sync: GroupSync, seen: SyncReport) -> None:
        """Find what groups have not read, the source still has, and they pass over."""
        report, may_skip = self._report, self._cut.may_skip
        if isinstance(sync, CutSync):
            _, report.skipped = unread(sync.passed_over, may_skip)
            report.skipped += among_others(sync.among_others)
            return
        trouble, report.skipped = skipped(look_at_unread(link, seen.positions), may_skip)
        report.trouble += trouble
