"""`towpath history`: show the history of a link, from the target's topic of events."""

from __future__ import annotations

from collections import deque

from towpath.cli.options import MOST_EVENTS, EventsOption, LinkFile, SinceOption, time_of
from towpath.cli.show.output import Output, OutputOption, show
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.events import Event, EventReader
from towpath.ledger.ledger import Ledger
from towpath.mirror.show.history_picture import History, as_json, picture
from towpath.model.nouns import Side
from towpath.plan.lease import last_lease
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig, load


def history(
    file: LinkFile,
    *,
    since: SinceOption = None,
    limit: EventsOption = MOST_EVENTS,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the history of the link, the newest event last, from the target's topic of events."""
    del output  # `show` reads it from the arguments
    config = load(file, transforms=True)
    found = _read(config, 0 if since is None else time_of(since, now_ms()), limit)
    show(picture(config.link, found), as_json(config.link, found))
    return 0


def _read(config: LinkConfig, since: int, limit: int) -> History:
    last: deque[Event] = deque(maxlen=limit)
    count = 0
    with (
        Admin(config.target, Side.TARGET) as target,
        Client(config.target, Side.TARGET, target) as client,
    ):
        reader, ledger = EventReader(target, client), Ledger(target, client)
        topic = reader.exists()
        for event in reader.read(config.link, since):
            last.append(event)
            count += 1
        lease = last_lease(ledger, config.link) if ledger.usable() else None
    return History(
        events=tuple(last),
        earlier=count - len(last),
        foreign=reader.foreign,
        topic=topic,
        since=since,
        missing=lease.missing_events if lease is not None else None,
    )
