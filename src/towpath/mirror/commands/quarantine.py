"""`towpath quarantine`: records that were set aside, and their replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from towpath.cli.confirming import confirmed
from towpath.cli.options import LinkFile, YesOption, topics_of
from towpath.cli.show.output import Output, OutputOption, console, show
from towpath.mirror.quarantine import quarantined as look
from towpath.mirror.quarantine import replay as replaying
from towpath.mirror.quarantine.quarantined import RecordFilter, RecordId
from towpath.mirror.show.quarantine_picture import (
    as_json,
    list_picture,
    plan_picture,
    record_as_json,
    record_picture,
    replay_as_json,
    replay_picture,
)
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import load

quarantine = typer.Typer(
    help="Show and replay records that could not be changed or delivered.",
    no_args_is_help=True,
)

NOT_ALL = 3
"""Exit code where a record is in quarantine that was not replayed, or could not be."""
_ROWS = 100

TopicsOption = Annotated[
    str | None, typer.Option(metavar="TOPIC,..", help="Only records of these source topics.")
]
ReasonsOption = Annotated[
    str | None,
    typer.Option("--reason", metavar="CODE,..", help="Only records with these codes of reasons."),
]


@quarantine.command("ls")
def ls(
    file: LinkFile,
    *,
    topics: TopicsOption = None,
    reasons: ReasonsOption = None,
    only_open: Annotated[
        bool | None,
        typer.Option("--open/--closed", help="Only records that can be replayed, or only others."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="List at most the last N of these records.")
    ] = _ROWS,
    output: OutputOption = Output.TEXT,
) -> int:
    """Count quarantined records by topic and reason, and list them, the newest last."""
    del output  # `show` reads it from the arguments
    wanted = RecordFilter(
        topics=frozenset(topics_of(topics)), reasons=_codes(reasons), is_open=only_open
    )
    seen = look.look_at_quarantine(load(file), wanted)
    show(list_picture(seen, limit), as_json(seen, limit))
    return NOT_ALL if any(one.is_open for one in seen.records) else 0


@quarantine.command("show")
def show_one(
    file: LinkFile,
    record: Annotated[
        str, typer.Argument(metavar="RECORD", help="Its partition and offset, as in orders-3@4711.")
    ],
    *,
    most: Annotated[
        int,
        typer.Option("--bytes", min=1, metavar="N", help="Show the first N bytes of each part."),
    ] = 4096,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show one quarantined record: origin, reason, key, headers and value."""
    del output  # `show` reads it from the arguments
    config, wanted = load(file), RecordId.of(record)
    known, found = look.one(config, wanted)
    show(record_picture(known, found, most), record_as_json(known, found, most))
    return 0


@quarantine.command("replay")
def replay(
    file: LinkFile,
    records: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECORD]...",
            help="Partition and offset of each, as in orders-3@4711.",
            show_default=False,
        ),
    ] = None,
    *,
    topics: TopicsOption = None,
    reasons: ReasonsOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Replay all of the link.")] = False,
    shift: Annotated[
        bool,
        typer.Option(
            "--shift", help="Also into partitions with identical offsets, which become mapped."
        ),
    ] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write quarantined records once to their mirror topics' ends, changed as the file says."""
    del output  # `show` reads it from the arguments
    config = load(file)
    if not (records or topics or reasons or everything):
        text = "name records, or choose some with --topics or --reason, or all of them with --all"
        raise ConfigError((ConfigProblem("RECORD", text),))
    wanted = RecordFilter(
        ids=frozenset(map(RecordId.of, records or ())),
        topics=frozenset(topics_of(topics)),
        reasons=_codes(reasons),
    )

    def agreed(due: Sequence[replaying.Replay], left: Sequence[replaying.NotReplayed]) -> bool:
        console(stderr=True).print(plan_picture(due, left))
        return yes or confirmed("Replay these?")

    done = replaying.replay(config, replaying.ReplayRequest(wanted, shift, agreed))
    show(replay_picture(done), replay_as_json(config.link, done))
    return NOT_ALL if done.left or not done.done else 0


def _codes(text: str | None) -> frozenset[str]:
    codes = (each.strip().upper() for each in (text or "").split(","))
    return frozenset(filter(None, codes))
