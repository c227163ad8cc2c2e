"""Commits of the positions of a link to a group at the source, in a thread of its own.

Tools that show the lag of that group then show the link, and another program that reads with the
group goes on where the link stands.
"""

from __future__ import annotations

import threading

from towpath.cluster.admin import Admin
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.status.overtaken import Overtaken, ahead, overtaken
from towpath.model.errors import TowpathError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import Side, TopicPartition
from towpath.runtime import log

_GOODBYE = 2.0
"""Longest time in seconds that a run which ends waits for a commit that is under way."""


class Committing:
    """Commits positions once every `records.commit`.

    Nothing of the run waits for it; what fails is tried again at the next turn. A commit of the
    group that is ahead of the link is another program's: it stays, and is told.

    Args:
        link: The link.
        progress: Where each partition stands; gets what another program has committed.

    Attributes:
        trouble: Why the last turn failed, "" if it did not, or if nothing is asked for.
    """

    def __init__(self, link: OpenLink, progress: RunProgress) -> None:
        self._link, self._config, self._progress = link, link.config, progress
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="towpath-commits", daemon=True)
        self._most = 0
        self.trouble = ""

    def start(self) -> None:
        """Start the thread, if the file asks for commits; nothing may be copied before.

        Raises:
            ClusterError: The source could not be asked for the group.
        """
        if self._config.records.commit is not None:
            self._tell(overtaken(self._config, self._link.source, self._link.books))
            self._thread.start()

    def close(self) -> None:
        """Commit once more, and stop."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(_GOODBYE)

    def _run(self) -> None:
        interval = self._config.records.commit
        with Admin(self._config.source, Side.SOURCE) as source:
            while not self._over.wait(interval):
                self._turn(source)
            self._turn(source)

    def _turn(self, source: Admin) -> None:
        try:
            self._commit(source)
        except TowpathError as error:
            self._failed(str(error))

    def _commit(self, source: Admin) -> None:
        name = self._config.records.group or ""
        stand = {row.tp: row.source_end for row in self._progress.rows if row.source_end > 0}
        there = source.groups.committed(name, stand) if stand else {}
        self._tell(ahead(name, stand, there))
        due = {tp: Commit(end) for tp, end in stand.items() if end > there.get(tp, -1)}
        if due:
            self._write(source, ClientGroup(name), due)
        else:
            self.trouble = ""

    def _write(self, source: Admin, group: ClientGroup, due: dict[TopicPartition, Commit]) -> None:
        done = source.groups.write({group: due})[group]
        if done.failed:
            tp, error = next(iter(done.failed.items()))
            self._failed(f"group {group.name} at the source: {tp}: {error}")
        else:
            self.trouble = ""

    def _tell(self, found: Overtaken | None) -> None:
        """Show what another program has committed at most, with an event the first time."""
        if found is None or found.offsets <= self._most:
            return
        if not self._most:
            self._link.events.tell(
                What.GROUP_OVERTAKEN,
                found.group,
                partition=str(found.tp),
                committed=found.committed,
                copied=found.copied,
                offsets=found.offsets,
                partitions=found.partitions,
            )
        self._most, self._progress.overtaken = found.offsets, str(found)

    def _failed(self, why: str) -> None:
        if why != self.trouble:
            log.event("commits.failed", self._config.link, "", {"why": why}, trouble=True)
        self.trouble = why
