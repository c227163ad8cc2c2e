"""Looks at a whole link, once or repeatedly."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.alive import RunLife
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Foretold, Journal, LinkLease, LinkState, Pause, Session
from towpath.ledger.ledger import Ledger
from towpath.ledger.rates import Limits
from towpath.mirror.status.alone import without_source
from towpath.mirror.status.backlog import with_backlog
from towpath.mirror.status.before_start import with_before_start
from towpath.mirror.status.deletions import DeletionWatch
from towpath.mirror.status.foretold import foretold
from towpath.mirror.status.known_groups import GroupsStanding
from towpath.mirror.status.late_members import LateGroup, late_members
from towpath.mirror.status.ledger_lost import LostEntries, lost_entries
from towpath.mirror.status.overtaken import Overtaken, overtaken
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.partitions import status
from towpath.mirror.status.source_cuts import with_cuts
from towpath.mirror.status.transaction_watch import with_open_transactions
from towpath.mirror.status.twin_lag import TwinLag
from towpath.mirror.status.unread import with_unread
from towpath.model.at_risk import AtRisk
from towpath.model.errors import UnreachableError
from towpath.model.nouns import LinkName, Side, TopicName
from towpath.plan.journal import failures
from towpath.plan.lease import last_signs
from towpath.records.source.beginnings import PATIENCE
from towpath.schemas.ids_standing import IdsStanding
from towpath.settings import LinkConfig

_ELECTION = 1.0
"""Seconds to wait for the election of a leader; most elections take less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStatus:
    """The state of a link at one moment.

    Attributes:
        link: Its name.
        run: The last run; `None` if none is known.
        lease: The last sign of life of a holder of the lease; `None` if there was none.
        rows: The partitions.
        failed: The steps whose last attempt failed.
        lost: Entries that the ledger has lost; `None` if there is no sign of that.
        states: The states of the link and of topics that have one of their own.
        pauses: The pauses that hold.
        limits: The limits in bytes per second that hold.
        groups: What the ledger says of groups, `None` if it was not looked at.
        ids: What the ledger says of ids of schemas, `None` for a link that leaves them as they are.
        foretold: What the target would delete, or may, that the source has, as a run foretold it.
        at_risk: What the target deletes of it now, as nothing holds it back; only where it was
            looked at (`topics/at_risk.py`).
        unforeseen: Topics of which that is not known, and why; likewise.
        late: Groups that have moved, and are still read at the source.
        overtaken: What another program has committed for the link's group beyond the link; `None`
            where it is nowhere ahead.
        source_gone: Why the source could not be asked, "" if it was; the rows are then what the
            ledger and the target know.
    """

    link: LinkName
    run: RunLife | None
    lease: LinkLease | None
    rows: tuple[PartitionStatus, ...]
    failed: tuple[Journal, ...]
    lost: LostEntries | None = None
    states: tuple[LinkState, ...] = ()
    pauses: tuple[Pause, ...] = ()
    limits: Limits = field(default_factory=Limits)
    groups: GroupsStanding | None = None
    ids: IdsStanding | None = None
    foretold: tuple[Foretold, ...] = ()
    at_risk: tuple[AtRisk, ...] = ()
    unforeseen: Mapping[TopicName, str] = field(default_factory=dict)
    late: tuple[LateGroup, ...] = ()
    overtaken: Overtaken | None = None
    source_gone: str = ""


@dataclass(slots=True)
class LinkLook:
    """Observes a link; ledger entries already read are not read again."""

    config: LinkConfig
    source: Admin
    target: Admin
    ledger: Ledger
    books: LinkBooks
    _session: Session | None = None
    _lease: LinkLease | None = None
    _twin: TwinLag = field(init=False)

    def __post_init__(self) -> None:
        self._twin = TwinLag(self.config)

    def once(self, topics: re.Pattern[str]) -> LinkStatus:
        """Observe the state of the link, and of the partitions of the named source topics.

        Raises:
            ClusterError: A cluster cannot be reached, or refuses.
            LedgerError: The ledger is of no use, or the link joins other clusters.
        """
        link, gone = self.config.link, self._why_gone()
        if self.ledger.usable():
            self.ledger.read_groups(self.books)
            for entry in self.ledger.read(wanted=self.books.wants):
                self.books.take(entry)
            if self.config.schemas is not None:
                self.ledger.read_schemas(self.books)
            session, lease = last_signs(self.ledger, link)
            self._session, self._lease = session or self._session, lease or self._lease
        if gone:
            rows = without_source(self.config, self.books, self.target, PATIENCE)
        else:
            self.books.check_clusters(self.source.cluster.id(), self.target.cluster.id())
            rows = self._twin.without(self._rows(), self.source)
            rows = with_cuts(rows, self.config, self.books, self.source, PATIENCE)
            rows = with_open_transactions(rows, self.source, PATIENCE)
            rows = with_unread(rows, self.source, PATIENCE)
            start = self.config.records.start
            rows = with_before_start(rows, start, self.books, self.source, PATIENCE)
            rows = self._with_deleted(with_backlog(rows, self.source, PATIENCE))
        fresh = any(row.state is State.NOT_STARTED for row in rows)
        return LinkStatus(
            link=link,
            run=RunLife.of(self._session) if self._session else None,
            lease=self._lease,
            rows=tuple(row for row in rows if topics.fullmatch(row.topic)),
            failed=tuple(failures(self.books)),
            lost=self._lost() if fresh else None,
            states=tuple(each for each in self.books.states.values() if each.tells),
            pauses=tuple(self.books.pauses.values()),
            limits=Limits.of(self.config, self.books),
            groups=GroupsStanding.of(self.config, self.books),
            ids=IdsStanding.of(self.config, self.books.ids),
            foretold=foretold(self.config, self.books),
            late=() if gone else late_members(self.books.moved_groups, self.source),
            overtaken=None if gone else overtaken(self.config, self.source, self.books),
            source_gone=gone,
        )

    def _why_gone(self) -> str:
        """Return why the source cannot be asked, "" if it can."""
        try:
            self.source.cluster.id()
        except UnreachableError as error:
            return str(error)
        return ""

    def _lost(self) -> LostEntries | None:
        return lost_entries(self.config, self.books, self.source, self.target)

    def _rows(self) -> tuple[PartitionStatus, ...]:
        """Look at all partitions, again after an election, and again if records were lost."""
        rows = self._standing()
        if any(row.state is State.NO_LEADER for row in rows):
            time.sleep(_ELECTION)
            rows = self._standing()
        if any(row.lost for row in rows) and not self.books.runs_read:
            self._read_runs()  # they tell which source offsets were lost
            rows = self._standing()
        return rows

    def _with_deleted(self, rows: tuple[PartitionStatus, ...]) -> tuple[PartitionStatus, ...]:
        """Return the rows with what the target deleted and the source still has."""
        sides = self.source, self.target
        return DeletionWatch().told_in(
            rows, self.config, self.books, sides, self._read_runs, PATIENCE
        )

    def _read_runs(self) -> None:
        self.ledger.read_runs(self.books)

    def _standing(self) -> tuple[PartitionStatus, ...]:
        return status(self.config, self.books, self.source, self.target, patience=PATIENCE)


@contextmanager
def looking(config: LinkConfig) -> Iterator[LinkLook]:
    """Open clients of both clusters of a link; no request is sent before the first look."""
    with ExitStack() as stack:
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        target = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, target))
        yield LinkLook(config, source, target, Ledger(target, client), LinkBooks(config.link))
