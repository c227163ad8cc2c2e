"""The status of a restore, from the target's ledger and the archive."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.archive.keys import entry_key
from towpath.archive.log import Archive
from towpath.archive.read.feed.restore_work import RESTORE, archived
from towpath.archive.read.foreign.foreign_state import open_any
from towpath.archive.restore.following import TopicGenerations
from towpath.archive.restore.log_watch import Heard, HeardState, heard_of
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.progress import RestoreRow, rows_of
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.target_logs import look_at_logs
from towpath.archive.restore.task import RestoreTask
from towpath.ledger.link import open_target
from towpath.model.nouns import TopicName
from towpath.plan.lease import last_signs, lease_lines
from towpath.runtime.clock import now_ms
from towpath.schemas.ids_standing import IdsStanding
from towpath.store import Store
from towpath.topics.owned import ours_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreStatus:
    """The status of a restore.

    Attributes:
        task: The restore.
        scope: What it brings back.
        rows: How far each partition is.
        held: Configs that are held back, by topic on the target.
        heard: What is heard of the archive; `None` where the restore does not follow it.
        running: Sentences about the process that restores, or did so last.
        ids: What schema ids in records became, `None` where they stay as they are.
    """

    task: RestoreTask
    scope: RestoreScope
    rows: tuple[RestoreRow, ...]
    held: dict[TopicName, tuple[str, ...]]
    heard: Heard | None
    running: tuple[str, ...] = ()
    ids: IdsStanding | None = None

    @property
    def schemas(self) -> tuple[str, ...]:
        """Sentences about schema ids in restored records."""
        return tuple(self.ids.sentences()) if self.ids is not None else ()

    @property
    def complete(self) -> bool:
        """Whether the restore is complete: nothing is lost, and no config is withheld.

        Of a restore that follows its archive: whether nothing is lost, and nothing holds it up.
        """
        if self.heard is not None:
            is_well = self.heard.state is HeardState.FOLLOWED
            return is_well and not any(row.error or row.gaps for row in self.rows)
        return all(row.done and not row.gaps for row in self.rows) and not self.held


def _heard(archive: Archive, silence: float) -> Heard:
    """Return what is heard of an archive, without having followed it.

    If the clock of its writer is ahead, the store says when the last version came.
    """
    log = archive.log
    since = log.state.time
    if since > now_ms():
        since = log.store.head(entry_key(log.region, log.state.version)).modified
    return heard_of(log.region, log.state, silence, since=since)


def look_at_restore(task: RestoreTask) -> RestoreStatus:
    """Return the status of a restore; nothing is changed.

    Raises:
        ClusterError: The target could not be asked.
        CommitLogError: The commit log of the archive is of no use.
        LedgerError: The ledger is of no use, or the name belongs to another restore.
        StoreError: The store could not be read.
    """
    with Store(task.store) as store, open_target(task.name, task.target) as to:
        archive = open_any(store, task.region, task.as_of, arriving=task.follow)
        silence = float(task.rules.follow.silence)
        heard = _heard(archive, silence) if task.follow else None
        running: tuple[str, ...] = ()
        if to.ledger.usable():
            to.read()
            to.ledger.read_schemas(to.books)
            _, lease = last_signs(to.ledger, task.name, RESTORE)
            running = tuple(lease_lines(lease))
        to.books.check_clusters(archived(task.region), to.target.cluster.id())
        generations = TopicGenerations(to.books) if task.follow else None
        scope = scope_of(archive, task.rules, generations)
        logs = look_at_logs(to.target, scope)
        known = ours_of(to.books, logs.ids).held
        held = {name: tuple(sorted(known[name])) for name in logs.ids if name in known}
        schemas = task.rules.schemas
        is_translated = schemas is not None and schemas.id_change is not None
        return RestoreStatus(
            task=task,
            scope=scope,
            rows=rows_of(scope, to.books, logs),
            held=held,
            heard=heard,
            running=running,
            ids=IdsStanding.known(to.books.ids) if is_translated else None,
        )
