"""`towpath dev up` and `towpath dev down`: two local clusters to try things on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from towpath.cli.show.output import Output, OutputOption, show, table
from towpath.dev import distribution, updown
from towpath.dev.updown import DevCluster
from towpath.model.errors import ConfigError, ConfigProblem

dev = typer.Typer(
    help="Start and stop a pair of local clusters to try things on.", no_args_is_help=True
)

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="Folder for state and data; by default, one in the user's cache."),
]


@dev.command()
def up(
    *,
    home: HomeOption = None,
    version: Annotated[str, typer.Option("--kafka", help="Kafka version.")] = distribution.NEWEST,
    source_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the source.")
    ] = updown.SOURCE_PORT,
    target_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the target.")
    ] = updown.TARGET_PORT,
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="Use other, free ports if these are taken.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Start a source and a target on this machine; they run until `towpath dev down`."""
    del output  # `show` reads it from the arguments
    if source_port == target_port:
        text = f"is {target_port}, the port of the source; each needs its own"
        raise ConfigError((ConfigProblem("--target-port", text),))
    clusters = updown.up(
        home,
        version=version,
        source_port=source_port,
        target_port=target_port,
        elsewhere=elsewhere,
        tell=_tell,
    )
    _show(clusters)


@dev.command()
def down(*, home: HomeOption = None, output: OutputOption = Output.TEXT) -> None:
    """Stop the clusters that `towpath dev up` started; their data is kept."""
    del output  # `show` reads it from the arguments
    _show(updown.down(home))


def _tell(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")  # stdout holds only the result, which a program may read


def _show(clusters: Sequence[DevCluster]) -> None:
    facts = [
        {
            "side": str(each.side),
            "bootstrap": each.bootstrap,
            "kafka": each.version,
            "pid": each.process.pid,
            "running": each.running,
        }
        for each in clusters
    ]
    rows = [
        (
            str(each.side),
            each.bootstrap,
            each.version,
            "running" if each.running else "stopped",
            str(each.process.pid),
        )
        for each in clusters
    ]
    text = table(["side", "bootstrap", "kafka", "state", "pid"], rows) if rows else "nothing runs"
    show(text, {"clusters": facts})
