"""The plan of a link: the steps of its subjects, and findings about its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from towpath.access.topic_writers import told_writers
from towpath.groups.sync import GroupSync
from towpath.groups.sync_summaries import preview_of
from towpath.ledger.entries import WHOLE_LINK
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.rates import Limits
from towpath.mirror.plan.adopted_clients import not_adopted
from towpath.mirror.plan.backing import backing
from towpath.mirror.plan.forecast import forecast
from towpath.mirror.plan.purged import purged
from towpath.mirror.plan.reopenings import reopenings
from towpath.mirror.plan.starts import Offsets
from towpath.mirror.plan.subject_names import unnamed_subjects
from towpath.mirror.plan.volume import estimated
from towpath.mirror.quarantine import rights as quarantine
from towpath.mirror.status.before_start import note as not_copied
from towpath.mirror.status.before_start import with_before_start
from towpath.mirror.status.cutovers import still_running
from towpath.mirror.status.deleted import Stretch
from towpath.mirror.status.ledger_lost import lost_entries
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.status.partitions import caught_up, status
from towpath.mirror.status.source_cuts import findings as cuts
from towpath.mirror.status.source_cuts import with_cuts
from towpath.mirror.status.unread import findings as unread
from towpath.mirror.status.unread import with_unread
from towpath.mirror.staying.source_clients import look_at_clients
from towpath.mirror.subjects import SUBJECTS
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicName, TopicPartition
from towpath.plan.build import LinkContext, Planned
from towpath.plan.build import build as build_plan
from towpath.plan.differences import Differences
from towpath.plan.model import Plan
from towpath.plan.old_target import old_target
from towpath.plan.subjects import SubjectClients
from towpath.records.source.beginnings import PATIENCE
from towpath.schemas.subject import SUBJECT as SCHEMAS
from towpath.settings import LinkConfig
from towpath.topics.disk_space import DiskLook, check_disk_space, look_at_disks
from towpath.topics.markers import markers
from towpath.topics.observed import ObservedTopics
from towpath.topics.subject import TOPICS

TRANSFORMED = (
    "go through a query of Spark, each exactly once; no offset on the target belongs to one at the"
    " source. `towpath verify` sends them through the query again, and compares what it makes"
    " (docs/howto/transform.md)"
)

AT_THE_END = (
    "`towpath cutover` lets those that have read everything go on where the mirror topics end; a"
    " run brings none over, as records go through a query"
)


def build(config: LinkConfig) -> Plan:
    """Return the plan that a run would begin with, including the problems found."""
    with open_link(config) as link, SUBJECTS.open(link) as clients:
        return planned(link, clients).plan


def detailed(config: LinkConfig, rate: float | None = None) -> Plan:
    """Return the plan with the cost of copying, the paused topics, and what stays behind.

    Args:
        config: The link.
        rate: The bytes per second that copying may reach; by default the rate of the link so far.
    """
    with open_link(config) as link, SUBJECTS.open(link) as clients:
        records = _Records()
        made = planned(link, clients, records)
        plan = made.plan
        if plan.source is None or not plan.topics:
            return plan
        notes = (
            *plan.notes,
            *_over(link, plan),
            *_paused(link, plan),
            *_groups(link),
            *_staying(link, plan),
            *_other_writers(link, made),
            *_not_adopted(link, plan),
        )
        plan = replace(plan, notes=notes)
        if made.found is None or plan.refusals:
            return plan
        return records.estimated(link, made.found, plan, rate)


def _over(link: OpenLink, plan: Plan) -> Iterator[Note]:
    """Yield the states because of which records of the plan's topics are not copied any more."""
    for topic, state in sorted(link.books.states.items()):
        if state.is_closed and (topic == WHOLE_LINK or topic in plan.topics):
            yield Note(topic or "link", str(state))


def _paused(link: OpenLink, plan: Plan) -> Iterator[Note]:
    """Yield the pauses that keep records of the plan's topics from being copied."""
    for topic, pause in sorted(link.books.pauses.items()):
        if topic == WHOLE_LINK or topic in plan.topics:
            yield Note(topic or "link", str(pause))


def _groups(link: OpenLink) -> Iterator[Note]:
    """Yield what the first sync of groups would write; it is no step of the plan."""
    if link.config.groups is None:
        return
    if link.config.transforms is not None:
        yield Note("groups", AT_THE_END)
        return
    try:
        report = GroupSync(link).once(write=False)
    except (ClusterError, LedgerError) as error:
        yield Note("groups", f"it is not known what a sync would write: {error}")
        return
    yield from (Note("groups", text) for text in preview_of(report))


def _staying(link: OpenLink, plan: Plan) -> Iterator[Note]:
    try:
        found = look_at_clients(link.config, link.source, plan.topics)
    except ClusterError as error:
        yield Note("source", f"could not look for what stays there: {error}")
        return
    yield from (Note("groups", text) for text in found.of_groups)
    yield from found.notes


def _other_writers(link: OpenLink, made: Planned) -> Iterator[Note]:
    """Yield who else may write topics on the target whose clients shall move there."""
    if link.config.gateway is None or made.found is None:
        return
    mirrors = {*made.found.of(TOPICS).found.topics.values()}
    told = told_writers(link.target, link.config.target.login, mirrors)
    yield from (Note("gateway", text) for text in told)


def _not_adopted(link: OpenLink, plan: Plan) -> Iterator[Note]:
    """Yield which clients a gateway cannot take over that listens under the source's addresses."""
    section = link.config.gateway
    if section is not None and section.adopt:
        yield from (Note("gateway", text) for text in not_adopted(link.source, [*plan.topics]))


def planned(link: OpenLink, clients: SubjectClients, records: _Records | None = None) -> Planned:
    """Return the plan of an open link, with the differences it was made from."""
    records = records or _Records()
    return build_plan(link, clients, LinkContext(records.caught_up, records.findings))


@dataclass
class _Records:
    """The part of a plan about records, and the observations behind it."""

    disks: DiskLook = field(default_factory=DiskLook)
    begins: Offsets = field(default_factory=dict)
    rows: tuple[PartitionStatus, ...] | None = None
    """Where the partitions stand; `None` before anybody asks."""

    def caught_up(self, link: OpenLink) -> frozenset[TopicName]:
        """Return the source topics whose mirror topics have caught up."""
        self.rows = status(link.config, link.books, link.source, link.target)
        return caught_up(self.rows)

    def findings(self, link: OpenLink, found: Differences, known: bool) -> Iterator[Note | Problem]:
        """Return findings about records, disks, and a target that is too old."""
        yield from old_target(link.target.cluster.api_versions())
        topics = found.of(TOPICS)
        self.disks = look_at_disks(link.source, link.target, topics.seen.topics, topics.found)
        yield from self.disks.notes
        yield from check_disk_space(link.config, self.disks, topics.found.topics)
        fill = 0
        if link.config.transforms is None:
            fill, notes = markers(
                link.config.records.offsets, link.config.records.fill, link.target
            )
            yield from notes
        yield from quarantine.findings(link.config, link.target)
        yield from _backing(link, topics.seen.topics, topics.found.topics)
        if (schemas := found.seen(SCHEMAS)) is not None:
            yield from unnamed_subjects(link.config, topics.found.topics, schemas)
        yield from purged(topics.found.topics)
        if not known:
            return
        yield from _lost_entries(link)
        if warning := still_running(link.books):
            yield Note("link", warning)
        seen, steps = topics.seen.topics, topics.found
        if link.config.transforms is not None:
            yield Note("records", TRANSFORMED)
            return
        try:
            told = forecast(link.config, link.source, link.target, link.books, seen, steps, fill)
        except ClusterError as error:
            # A partition without a leader, for example, is no reason to refuse the others.
            text = f"{error}; so it is not known yet where new partitions begin"
            yield Note("partitions", text)
            return
        self.begins = told.begins
        yield from told.findings
        yield from self._of_rows(link, told.before, seen.begins)
        yield from reopenings(link.config, link.books, steps.topics)

    def _of_rows(
        self, link: OpenLink, before: Mapping[TopicPartition, Stretch], cut_over: Offsets
    ) -> Iterator[Note | Problem]:
        """Yield what the source deleted before it was copied, and what is not to be copied.

        Args:
            link: The link.
            before: What the source has before `records.start` of new partitions.
            cut_over: Partitions of a way back, which begin at a cut whatever the file says.
        """
        rows = self.rows
        try:
            if rows is None:
                rows = status(link.config, link.books, link.source, link.target, patience=PATIENCE)
        except ClusterError as error:
            text = f"{error}; so it is not known what it deleted before it was copied"
            yield Note("source", text)
            return
        yield from unread(with_unread(rows, link.source, PATIENCE), link.config)
        told = with_cuts(rows, link.config, link.books, link.source, PATIENCE)
        yield from cuts(rows, told, link.config)
        start = link.config.records.start
        rows = with_before_start(rows, start, link.books, link.source, PATIENCE)
        known = {row.tp: row.before for row in rows if row.before and row.tp not in cut_over}
        if (left := not_copied({**before, **known})) is not None:
            yield left

    def estimated(self, link: OpenLink, found: Differences, plan: Plan, said: float | None) -> Plan:
        """Return the plan with the cost of copying, or with a note why it is unknown."""
        seen, books = found.of(TOPICS).seen, link.books
        limit = Limits.of(link.config, books).link
        names = {here: there for here, there in plan.topics.items() if not books.closed(here)}
        try:
            told = estimated(link.source, books, seen, names, self.begins, self.disks, said, limit)
        except ClusterError as error:
            note = Note("source", f"{error}; so it is not known how many bytes there are to copy")
            return replace(plan, notes=(*plan.notes, note))
        return replace(plan, to_copy=told)


def _backing(
    link: OpenLink, seen: ObservedTopics, names: Mapping[TopicName, TopicName]
) -> Iterator[Note | Problem]:
    if link.config.records.archive is not None:
        ids = {topic.name: topic.id for topic in seen.source if topic.name in names}
        yield from backing(link.config, link.source.cluster.id(), ids)


def _lost_entries(link: OpenLink) -> Iterator[Note | Problem]:
    try:
        lost = lost_entries(link.config, link.books, link.source, link.target)
    except ClusterError as error:
        yield Note("link", f"{error}; so it is not known whether the ledger lost entries")
        return
    if lost is not None:
        yield Problem("link", str(lost), Cause.CLUSTER)
