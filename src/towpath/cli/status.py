"""`towpath status`: show where a link stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from rich.console import Group

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.cli.show.status import as_json, picture
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.config import load
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import Ledger
from towpath.model.clock import readable
from towpath.model.nouns import Side
from towpath.plan.journal import failures
from towpath.plan.lease import last_lease, lease_lines
from towpath.records.source.beginnings import PATIENCE
from towpath.status import status as standing
from towpath.status.status import PartitionStatus, State

_ELECTION = 1.0
"""Seconds to wait for the election of a leader; most elections take less."""


def status(
    file: LinkFile,
    *,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show where each partition stands, from the target's ledger and both clusters."""
    del output  # `show` reads it from the arguments
    config = load(file)
    with (
        Admin(config.source, Side.SOURCE) as source,
        Admin(config.target, Side.TARGET) as target,
        Client(config.target, Side.TARGET, target) as client,
    ):
        clusters = source.cluster.id(), target.cluster.id()
        ledger = Ledger(target, client)
        books = ledger.books(config.link, runs=False)
        books.check_clusters(*clusters)
        rows = _look(ledger, books, partial(standing.status, config, books, source, target))
        lease = last_lease(ledger, config.link) if ledger.usable() else None
    failed = failures(books)
    lines = [f"step {e.do} {e.name} failed at {readable(e.at)}: {e.error}" for e in failed]
    lines += lease_lines(lease)
    data = {
        "link": config.link,
        "lease": asdict(lease) if lease else None,
        "partitions": [as_json(row) for row in rows],
        "failed_steps": [asdict(entry) for entry in failed],
    }
    show(Group(picture(rows), *map(line, lines)), data)
    return 3 if any(row.left_out for row in rows) else 0


def _look(
    ledger: Ledger, books: LinkBooks, look: Callable[..., tuple[PartitionStatus, ...]]
) -> tuple[PartitionStatus, ...]:
    """Look where partitions stand, again after an election, and again if records were lost."""
    rows = look(patience=PATIENCE)
    if any(row.state is State.NO_LEADER for row in rows):
        time.sleep(_ELECTION)
        rows = look(patience=PATIENCE)
    if any(row.lost for row in rows):
        ledger.read_runs(books)  # they tell which source offsets were lost
        rows = look(patience=PATIENCE)
    return rows
