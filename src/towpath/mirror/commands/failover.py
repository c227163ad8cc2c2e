"""`towpath failover`: let clients go on on the target, also where the source is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.confirming import confirmed
from towpath.cli.options import LinkFile, YesOption, topics_of
from towpath.cli.show.bar import Bar
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.ledger.entries import LinkState
from towpath.mirror.failover.failover import failover as fail_over
from towpath.mirror.failover.failover_plan import FailoverPlan
from towpath.mirror.failover.request import FailoverReport, FailoverRequest
from towpath.mirror.failover.state_before_failover import FailoverScope
from towpath.mirror.failover.undoing import undo as take_back
from towpath.mirror.show.failover_json import as_json
from towpath.mirror.show.failover_picture import done_lines, plan_picture
from towpath.mirror.show.shapes import state_as_json
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.model.nouns import TopicName
from towpath.settings import Duration, LinkConfig, load

COSTS = 3
"""Exit code where something is lost, read twice, or left to do."""


def failover(
    file: LinkFile,
    *,
    topics: Annotated[
        str | None,
        typer.Option(metavar="TOPIC,..", help="Only these source topics; by default all."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP,..",
            help="Only these groups, by their names at the source; by default all that the file"
            " asks for.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it would cost, and change nothing.")
    ] = False,
    yes: YesOption = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait",
            help="Producers have stopped: wait until the run has copied all that they wrote; then"
            " nothing is lost or read twice.",
        ),
    ] = False,
    within: Annotated[
        str, typer.Option(metavar="TIME", help="How long --wait waits at most, such as 10m.")
    ] = "10m",
    undo: Annotated[
        bool,
        typer.Option(
            "--undo", help="Take back a failover that has written nothing yet that stays."
        ),
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Let clients go on on the target: say what it costs, seal the link, bring the groups."""
    del output  # `show` reads it from the arguments
    config = load(file)
    if undo:
        return _undo(config, topics_of(topics))
    patience = _seconds(within) if wait else 0.0
    with stopping() as stop, Bar("looking at both clusters", "partitions") as bar:

        def agreed(plan: FailoverPlan) -> bool:
            with bar.away():
                if not (dry_run or yes):
                    console(stderr=True).print(plan_picture(plan))
                question = "Fail over at this cost?" if plan.costs else "Fail over?"
                return not dry_run and (yes or confirmed(question, "to fail over as it says"))

        scope = FailoverScope(topics_of(topics), tuple(map(str, topics_of(groups, "--groups"))))
        asked = FailoverRequest(
            scope=scope,
            agreed=agreed,
            wait=patience,
            stop=stop,
            told=lambda what, done, of: bar.doing(what, "partitions", done, of),
        )
        found = fail_over(config, asked)
    return _shown(config, found, dry_run=dry_run)


def _shown(config: LinkConfig, found: FailoverReport, *, dry_run: bool) -> int:
    server = _server(config)
    states = [found.state] if found.state is not None else []
    data = as_json(found, states, server, dry_run=dry_run)
    told = found.after or found.plan
    parts = [plan_picture(told, after=found.done)]
    if found.done:
        parts += map(line, done_lines(found, server))
    else:
        parts += [line(f"not drained: {each}") for each in found.missing]
        parts.append(line("nothing was changed"))
    show(Group(*parts), data)
    if not (found.done or dry_run):
        return COSTS
    return COSTS if told.costs or found.missing else 0


def _undo(config: LinkConfig, topics: Sequence[TopicName]) -> int:
    states = take_back(config, topics)
    told = [_running(each) for each in states]
    show(
        Group(*map(line, told)),
        {"link": config.link, "state": [state_as_json(each) for each in states]},
    )
    return 0


def _running(state: LinkState) -> str:
    what = f"topic {state.topic} of link {state.link}" if state.topic else f"link {state.link}"
    return f"{what} is {state.state} again; `towpath run FILE` goes on copying"


def _seconds(text: str) -> float:
    try:
        return float(Duration.parse(text))
    except ValueError as error:
        raise ConfigError((ConfigProblem("--within", foreign(error)),)) from None


def _server(config: LinkConfig) -> str:
    return ",".join(config.target.bootstrap)
