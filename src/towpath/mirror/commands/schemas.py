"""`towpath schemas`: list, compare and sync the subjects of a schema registry."""

from __future__ import annotations

import typer

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Form, FormOption, Output, OutputOption

schemas = typer.Typer(
    help="List, compare and bring over the subjects of a schema registry.", no_args_is_help=True
)


@schemas.callback()
def _group() -> None:
    """List, compare and bring over the subjects of a schema registry."""


@schemas.command()
def ls(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """List the subjects that the file asks for, with their versions and ids on both sides."""
    del output  # `show` reads it from the arguments
    from towpath.mirror.commands.schemas_work import list_subjects  # noqa: PLC0415  # help waits
    from towpath.settings import load  # noqa: PLC0415  # for neither

    return list_subjects(load(file))


@schemas.command()
def diff(file: LinkFile, *, output: FormOption = Form.TEXT) -> int:
    """Show how the target's registry differs: exit 0 equal, 3 different."""
    del output  # `show` reads it from the arguments
    from towpath.mirror.commands.schemas_work import show_differences  # noqa: PLC0415  # as in `ls`
    from towpath.settings import load  # noqa: PLC0415

    return show_differences(load(file))


@schemas.command()
def sync(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """Register what the target's registry lacks; nothing is deleted or overwritten."""
    del output  # `show` reads it from the arguments
    from towpath.mirror.commands.schemas_work import register_missing  # noqa: PLC0415  # as in `ls`
    from towpath.settings import load  # noqa: PLC0415

    return register_missing(load(file))


@schemas.command()
def verify(file: LinkFile, *, output: OutputOption = Output.TEXT) -> int:
    """Request every schema id from the target, as clients do, and compare the answers."""
    del output  # `show` reads it from the arguments
    from towpath.mirror.commands.schemas_work import verify_ids  # noqa: PLC0415  # as in `ls`
    from towpath.settings import load  # noqa: PLC0415

    return verify_ids(load(file))
