"""`towpath dev up`, `status`, `down` and `reset`: two local clusters to try things on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from towpath.cli.confirming import confirmed
from towpath.cli.show.file_shapes import DevClusterJson, DevClustersJson
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.dev import distribution, updown
from towpath.dev.secure import MECHANISM
from towpath.dev.updown import DevCluster
from towpath.model.errors import ConfigError, ConfigProblem

dev = typer.Typer(
    help="Start and stop a pair of local clusters to try things on.", no_args_is_help=True
)

NOT_ALL = 3
"""Exit code of what was refused or left undone."""

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="Folder for state and data; by default, one in the user's cache."),
]


@dev.command()
def up(
    *,
    home: HomeOption = None,
    version: Annotated[
        str | None,
        typer.Option("--kafka", help=f"Kafka version; by default {distribution.NEWEST}."),
    ] = None,
    source_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help=f"Port of the source; by default {updown.SOURCE_PORT}."
        ),
    ] = None,
    target_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help=f"Port of the target; by default {updown.TARGET_PORT}."
        ),
    ] = None,
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="Use other, free ports if these are taken.")
    ] = False,
    secure: Annotated[
        bool,
        typer.Option(
            "--secure",
            help="Let clients need TLS, a login (SCRAM-SHA-512) and rights, and write a link file"
            " with a login that has what a link needs.",
        ),
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Start a source and a target on this machine; they run until `towpath dev down`."""
    del output  # `show` reads it from the arguments
    source, target = source_port or updown.SOURCE_PORT, target_port or updown.TARGET_PORT
    if source == target:
        text = f"is {target}, the port of the source; each needs its own"
        raise ConfigError((ConfigProblem("--target-port", text),))
    clusters = updown.up(
        home,
        version=version,
        source_port=source_port,
        target_port=target_port,
        elsewhere=elsewhere,
        secure=secure,
        tell=_tell,
    )
    _show(clusters, home)


@dev.command()
def status(*, home: HomeOption = None, output: OutputOption = Output.TEXT) -> None:
    """Show the clusters that `towpath dev up` started, and whether they still run."""
    del output  # `show` reads it from the arguments
    _show(updown.running(home), home)


@dev.command()
def down(*, home: HomeOption = None, output: OutputOption = Output.TEXT) -> None:
    """Stop the clusters that `towpath dev up` started; their data is kept."""
    del output  # `show` reads it from the arguments
    _show(updown.down(home), home)


@dev.command()
def reset(
    *,
    home: HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Delete the data of both clusters, and start them again on the same ports."""
    del output  # `show` reads it from the arguments
    folders = updown.data(home)
    if folders and not yes and not _agreed(folders):
        return NOT_ALL
    _show(updown.reset(home, tell=_tell), home)
    return 0


def _agreed(folders: Sequence[Path]) -> bool:
    for folder in folders:
        _tell(f"to be deleted: {folder}")
    return confirmed("Delete these?", "to delete what is above")


def _tell(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")  # stdout holds only the result, which a program may read


def _show(clusters: Sequence[DevCluster], home: Path | None) -> None:
    link = str(updown.link_file(home)) if any(each.secure for each in clusters) else None
    facts: list[DevClusterJson] = [
        {
            "side": str(each.side),
            "bootstrap": each.bootstrap,
            "kafka": each.version,
            "secure": each.secure,
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
            f"TLS, {MECHANISM}" if each.secure else "none",
            "running" if each.running else "stopped",
            str(each.process.pid),
        )
        for each in clusters
    ]
    head = ["side", "bootstrap", "kafka", "login", "state", "pid"]
    data: DevClustersJson = {"clusters": facts, "link": link}
    if not rows:
        show("nothing runs", data)
        return
    from rich.console import Group  # noqa: PLC0415  # help and `down` wait for none of it

    from towpath.cli.show.grid import Grid  # noqa: PLC0415

    is_usable = link is not None and any(each.running for each in clusters)
    told = [line(f"link file: {link}; begin with `towpath plan {link}`")] if is_usable else []
    show(Group(Grid(head, rows), *told), data)
