"""`towpath link rm`: end a link for good by removing its books."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.confirming import confirmed
from towpath.cli.options import LinkFile, YesOption
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.mirror.removal.removal import RemovalReport
from towpath.mirror.removal.removal import remove as remove_link
from towpath.mirror.removal.removal_plan import RemovalPlan
from towpath.mirror.show.removal_shapes import OwnedTopicJson, RemovalJson
from towpath.mirror.show.shapes import state_as_json
from towpath.model.amounts import count, counted
from towpath.settings import RecordsConfig, StartAt, load

NOT_REMOVED = 3
"""Exit code where the books are still there."""
_MOST = 20


def remove(
    file: LinkFile,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it owns and what stays; change nothing.")
    ] = False,
    release: Annotated[
        bool,
        typer.Option(
            "--release",
            help="Give up topics that the link still fills, and what relies on its books.",
        ),
    ] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """End a link for good: remove its books from the ledger. Nothing else on the target changes."""
    del output  # `show` reads it from the arguments
    config = load(file)

    def agreed(plan: RemovalPlan) -> bool:
        if dry_run or plan.is_refused(release=release):
            return False
        if not yes:
            console(stderr=True).print(*_lines(plan, config.records), sep="\n")
        return yes or confirmed("Remove the books of this link?")

    found = remove_link(config, agreed)
    lines = [*_lines(found.plan, config.records), *_end(found, release=release)]
    show(Group(*map(line, lines)), _data(found))
    foretold = dry_run and not found.plan.is_refused(release=release)
    return 0 if found.done or found.plan.over or foretold else NOT_REMOVED


def _lines(plan: RemovalPlan, records: RecordsConfig) -> Iterator[str]:
    if plan.state is not None:
        yield str(plan.state)
    owned = plan.owned
    if owned:
        yield (
            f"link {plan.link} still owns {counted(len(owned), 'topic')}, which nobody would fill"
            " any more:"
        )
        for each in owned[:_MOST]:
            name = each.topic if each.topic == each.target else f"{each.topic} as {each.target}"
            parts = counted(each.partitions, "partition")
            yield f"  {name}: {parts}, {count(each.records)} records copied"
        if len(owned) > _MOST:
            yield f"  and {len(owned) - _MOST} more (--output json)"
    yield from (f"relies on it: {each}" for each in plan.leans)
    yield from (f"stays on the target: {each}" for each in plan.stays)
    yield from (
        f"still serves clients: {each}; it goes on without the link, stop it once nobody needs it"
        for each in plan.gateways
    )
    yield from (f"not now: {each}" for each in plan.refusals)
    if plan.never_ran:
        yield f"link {plan.link} never ran, so nothing on the target is its"
    elif not (plan.over or plan.under_way):
        yield (
            f"is gone then: where each partition and group goes on, and the name {plan.link}, which"
            f" is not used again. {anew(records)}"
        )


def anew(records: RecordsConfig) -> str:
    """Return where a link of another name would begin in the same topics."""
    match records.start:
        case StartAt.EARLIEST:
            where = (
                "the first records that the source has, and they would be there twice: give it"
                " other topics"
            )
        case StartAt.LATEST:
            where = "the source's end at that time, and nothing copies what comes until then"
        case StartAt.COMMITTED if records.commit is not None:
            where = (
                f"the commits of group {records.group}, which this link writes: only what it copied"
                " since the last one would be there twice"
            )
        case StartAt.COMMITTED:
            where = (
                f"the commits of group {records.group}: what was copied beyond them would be there"
                " twice, and what lies before them is not copied"
            )
        case _:
            where = "the time in the file: what was copied since would be there twice"
    return f"With this file, a link of another name into the same topics begins at {where}"


def _end(found: RemovalReport, *, release: bool) -> Iterator[str]:
    plan = found.plan
    if found.done and plan.never_ran:
        yield f"link {plan.link} is removed"
    elif found.done:
        what = f"{found.entries} entries" if found.entries != 1 else "1 entry"
        yield f"the books of link {plan.link} are removed ({what}); its name is not used again"
    elif plan.over:
        yield f"the books of link {plan.link} were removed already"
    elif not plan.refusals and plan.needs_release and not release:
        yield "nothing was changed; add --release to give up what is above"
    else:
        yield "nothing was changed"


def _data(found: RemovalReport) -> RemovalJson:
    plan = found.plan
    return RemovalJson(
        link=plan.link,
        done=found.done,
        over=plan.over,
        under_way=plan.under_way,
        entries=found.entries,
        state=state_as_json(plan.state) if plan.state is not None else None,
        topics=[
            OwnedTopicJson(
                topic=each.topic,
                target=each.target,
                partitions=each.partitions,
                records=each.records,
                owned=each.owned,
                held=each.held,
            )
            for each in plan.topics
        ],
        relies=[*plan.leans],
        stays=[*plan.stays],
        gateways=[*plan.gateways],
        refusals=[*plan.refusals],
    )
