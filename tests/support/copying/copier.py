"""One copier in this process, which a test watches while it runs in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Thread
from typing import Any

from tests.support.kafka import create_topic
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import Ledger
from towpath.model.nouns import Side
from towpath.records.copy import Copier, fetching, finding
from towpath.records.target.opening import Opener
from towpath.records.watch import SliceEnd
from towpath.records.work import CopySlice
from towpath.settings import ClusterConfig


class BackDoor(Mirror):
    """A mirror that plans through the back doors; its slices come in elsewhere."""

    def address(self, cluster: LocalCluster) -> str:
        return cluster.back_door

    def create(self, partitions: int = 1, config: Any = None) -> None:
        for cluster in (self.source, self.target):
            create_topic(cluster.back_door, self.topic, partitions, config)


@contextmanager
def copier(work: CopySlice, source: ClusterConfig, target: ClusterConfig) -> Iterator[Copier]:
    """Return a copier of `work` whose control plane comes in by `source` and `target`."""
    with ExitStack() as stack:
        asked = stack.enter_context(Admin(source, Side.SOURCE))
        changed = stack.enter_context(Admin(target, Side.TARGET))
        client = stack.enter_context(Client(target, Side.TARGET, changed))
        opener = Opener(work, changed, client, Ledger(changed, client), LinkBooks(work.link))
        made = Copier(work, changed, opener, fetching(work, asked), finding(work, asked))
        stack.callback(made.close)
        yield made


@contextmanager
def going(made: Copier) -> Iterator[None]:
    """Let a copier run in a thread of its own."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made.run()
        except BaseException as error:  # noqa: BLE001  # raised below
            failed.append(error)

    thread = Thread(target=run, name="copier")
    thread.start()
    try:
        yield
    finally:
        made.end(SliceEnd.ROUND)
        thread.join(60)
    assert not thread.is_alive()
    if failed:
        raise failed[0]


def endless(work: CopySlice) -> CopySlice:
    return replace(work, assignments=tuple(replace(each, end=None) for each in work.assignments))
