"""`towpath repair`: copy records again that the target lost."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.confirming import confirmed
from towpath.cli.on_spark import OnSpark, with_options
from towpath.cli.options import LinkFile, YesOption, topics_of
from towpath.cli.show.bar import Bar
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.mirror.commands.rebuilding import lines, rebuild, report
from towpath.mirror.repair.repair import RepairReport, RepairRequest
from towpath.mirror.repair.repair import repair as repair_link
from towpath.mirror.repair.repair_plan import Repair, RepairPlan
from towpath.mirror.show.entries_json import lost_as_json
from towpath.mirror.show.repair_shapes import RepairedPartitionJson, RepairJson
from towpath.mirror.show.shapes import place_as_json
from towpath.mirror.verify.scope import Scope
from towpath.model.amounts import count
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import load

NOT_ALL = 3


@with_options
def repair(
    file: LinkFile,
    *,
    topics: Annotated[
        str | None,
        typer.Option(metavar="TOPIC,..", help="The source topics; with --ledger, all by default."),
    ] = None,
    ledger: Annotated[
        bool,
        typer.Option("--ledger", help="Find in the target's logs what a lost ledger knew of them."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")
    ] = False,
    yes: YesOption = False,
    on: OnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Copy lost records again, if offsets and records can be exactly the same as before."""
    del output  # `show` reads it from the arguments
    config = load(file)
    scope = Scope(master=on.master, parallelism=on.parallelism, packages=on.packages)
    wanted = topics_of(topics)
    if ledger:
        rebuilt = rebuild(config, wanted, scope, yes=yes, dry_run=dry_run)
        told = report(config.link, rebuilt)
        show(Group(*map(line, lines(rebuilt))), told)
        on.tell(told)
        return 0 if told["complete"] else NOT_ALL
    if not wanted:
        raise ConfigError((ConfigProblem("--topics", "name the topics to repair, or --ledger"),))
    with stopping() as stop, Bar("repairing") as bar:

        def agreed(plan: RepairPlan) -> bool:
            with bar.away():
                console(stderr=True).print(*map(line, _planned(plan)), sep="\n")
                return not dry_run and (
                    yes or confirmed("Copy these again?", "to repair what is above")
                )

        found = repair_link(config, RepairRequest(wanted, agreed, bar.done, stop, scope))
    data = _report(config.link, found)
    notes = [f"note: {found.takeover}"] if found.takeover else []
    show(Group(*map(line, (*notes, *found.missing, _sentence(found)))), data)
    on.tell(data)
    return 0 if data["complete"] else NOT_ALL


def _planned(plan: RepairPlan) -> list[str]:
    told = [str(each) for each in plan.repairs]
    told += [
        f"{each.tp}: consumer group {ahead.group} on the target committed offset {ahead.offset},"
        f" which the log does not reach; stop its consumers until the repair is done, or they may"
        " reset to another offset"
        for each in plan.repairs
        for ahead in each.ahead
    ]
    told += [
        f"{tp}: was repaired before; copying goes on up to offset {end - 1}"
        for tp, end in plan.unfinished
    ]
    told += [f"not repaired: {left}" for left in plan.left]
    if plan.repairs and not any(each.ahead for each in plan.repairs):
        told.append("no consumer group that this login may describe is ahead of the target's logs")
    return told


def _report(link: str, found: RepairReport) -> RepairJson:
    return {
        "link": link,
        "complete": found.done and not found.missing,
        "repaired": [_repaired(each) for each in found.plan.repairs] if found.done else [],
        "continued": [
            {"topic": tp.topic, "partition": tp.partition, "end": end}
            for tp, end in found.plan.unfinished
            if found.done
        ],
        "left": [
            {"tp": place_as_json(each.tp), "cause": str(each.cause), "text": each.text}
            for each in found.plan.left
        ],
        "missing": list(found.missing),
        "takeover": found.takeover,
    }


def _repaired(repair: Repair) -> RepairedPartitionJson:
    return {
        "tp": place_as_json(repair.tp),
        "target": place_as_json(repair.target),
        "lost": lost_as_json(repair.lost),
        "offset": repair.offset,
        "ahead": [{"group": each.group, "offset": each.offset} for each in repair.ahead],
    }


def _sentence(found: RepairReport) -> str:
    if not found.done:
        return "nothing was done"
    plan = found.plan
    if not plan.ends:
        return "nothing could be repaired" if plan.left else "the target lost nothing of these"
    if found.missing:
        return "not everything was repaired, see above; repair again to go on"
    number = len(plan.ends)
    partitions = "1 partition" if number == 1 else f"{number} partitions"
    records = sum(each.lost.records for each in plan.repairs)
    again = f", at most {count(records)} records copied again" if plan.repairs else ""
    return f"{partitions} repaired{again}; `towpath verify` compares them"
