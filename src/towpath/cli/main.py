"""The program `towpath`: its commands, its errors, its exit codes.

A new command is one line in `COMMANDS` and a module of that name in `mirror/commands/`, or the one
that `_MODULES` names, with a function (one command) or a `typer.Typer` (a group) of the same name,
and the type of its JSON in `show/json_outputs.py` of its product. Only the module of the
command that was asked for is imported, so `towpath --help` and `towpath lint` never wait for Spark.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

from towpath import __version__
from towpath.cli.connect_options import applied, split
from towpath.cli.options import REPORT, write_report
from towpath.cli.pairs import asked_pairs, over_pairs
from towpath.cli.show.output import (
    Failure,
    console,
    failure_as_json,
    line,
    remember_form,
    show_failure,
)
from towpath.cli.signals import INTERRUPTED, SignalledError, interrupting
from towpath.cli.starter import end_with_starter
from towpath.model.errors import ConfigError, TowpathError
from towpath.model.extras import missing_extra, require_spark
from towpath.model.foreign import foreign, printed, watch_threads
from towpath.runtime import log
from towpath.runtime.garbage import collect_seldom
from towpath.runtime.notices import led

COMMANDS = {
    "init": "Write a commented example file to start from.",
    "lint": "Report all problems of the file at once, without touching a cluster.",
    "schema": "Print the JSON schema of the file, for editors.",
    "plan": "Show what would change on the target, and what would prevent it.",
    "apply": "Apply the steps of a plan to the target.",
    "diff": "Show where the target differs from what the file asks for.",
    "run": "Mirror until stopped, or until caught up.",
    "transform": "Try the query that the records of a link go through.",
    "schemas": "List, compare and bring over the subjects of a schema registry.",
    "pause": "Stop copying topics for a while, also over restarts.",
    "resume": "Go on with paused topics.",
    "topics": "Stop topics for good, and take them up again.",
    "rate": "Show or change how fast a link copies at most.",
    "status": "Show where each partition stands.",
    "groups": "Show where groups of consumers stand on both sides, and bring them over.",
    "history": "Show what happened to a link, when, who did it, and from where.",
    "verify": "Compare source and target record by record.",
    "quarantine": "Show and replay records that were set aside.",
    "repair": "Copy again the records that the target lost.",
    "restart": "Copy source topics that were deleted and created again.",
    "archive": "Keep topics in a store, from where they can be brought back.",
    "cutover": "End a migration: copy the rest, sync all else, and prove equality.",
    "failover": "Let clients go on on the target, also where the source is gone.",
    "failback": "Turn a failed over link round, and copy back what clients wrote.",
    "salvage": "Show and replay what one cluster alone had, where both were written.",
    "link": "Create links in the ledger, list, show and remove them.",
    "gateway": "Relay clients to the cluster that serves them.",
    "promote": "Move topics to the target, while clients stay connected.",
    "revert": "Move promoted topics back to the source, while clients stay connected.",
    "http": "Serve the commands of links over HTTP.",
    "restore": "Bring archived topics back into a cluster.",
    "kraft": "Bring a cluster from ZooKeeper to KRaft, and back while it can go back.",
    "checkpoints": "Apply the checkpoints of MirrorMaker 2 to consumer groups.",
    "import": "Make files of ours from those of other tools.",
    "convert": "Make the file of a link from one of Redpanda Connect.",
    "pack": "Make an archive of Towpath for Spark workers without it.",
    "explain": "Show what a code or an alert means, and what to do.",
    "dev": "Start and stop a pair of local clusters to try things on.",
}


_OF_ALL = ("init", "lint", "schema", "pack", "explain", "dev")
_MODULES = {
    **{name: f"towpath.cli.{name}:{name}" for name in _OF_ALL},
    "import": "towpath.cli.importing:importing",
    "archive": "towpath.archive.commands.archive:archive",
    "restore": "towpath.archive.commands.restore:restore",
    "kraft": "towpath.kraft.commands:kraft",
    "gateway": "towpath.gateway.commands:gateway",
    "promote": "towpath.gateway.promote_commands:promote",
    "revert": "towpath.gateway.promote_commands:revert",
    "http": "towpath.http.commands:http",
}
"""Commands of all products and of those beside links; a product keeps its own commands. A command
of links has a module of its name in `mirror/commands/`."""
_SPARK = {
    "run", "transform", "cutover", "failback", "verify", "repair", "quarantine", "pack", "archive",
    "restore",
}  # fmt: skip
"""Commands that need the extra `spark`."""
_SLOW = {"run", "transform", "cutover", "failback", "verify", "restore"}
"""Commands that import for a second or more before they can show anything."""


def run() -> None:
    """Run the program on the arguments of this process."""
    collect_seldom()
    end_with_starter()
    # To look for plugins, pydantic would read the metadata of every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    watch_threads()
    if sys.stderr.isatty():
        sys.stderr.write(greeting(sys.argv[1:]))
    with interrupting():
        code = main(sys.argv[1:])
    sys.exit(code)


def greeting(arguments: Sequence[str]) -> str:
    """Return the first line on a terminal, shown before slow imports."""
    wanted = wanted_of(split(arguments).rest)
    is_asked = {"-h", "--help"} & set(arguments)
    return f"towpath {__version__} {wanted}\n" if wanted in _SLOW and not is_asked else ""


def wanted_of(arguments: Sequence[str]) -> str:
    """Return the name of the requested command, "" for none."""
    return next((word for word in arguments if not word.startswith("-")), "")


def main(arguments: Sequence[str]) -> int:
    """Run one command, show its error if there is one, and return the exit code.

    It is what the command returned, where that is a number.
    """
    remember_form(arguments)
    led(_noticed)
    try:
        return _done(arguments)
    except TowpathError as error:
        return _failed(arguments, _of_ours(error))
    except typer.TyperException as error:
        return _failed(arguments, _of_usage(error))
    except SignalledError as error:
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001, the last border: nobody should meet a traceback
        if "--debug" in arguments:
            sys.stderr.write(printed(traceback.format_exc()))
        return _failed(arguments, _unexpected(error, wanted_of(split(arguments).rest)))


def _noticed(text: str) -> None:
    """Show a notice, unless a log tells the same."""
    if not log.is_begun():
        console(stderr=True).print(line(text))


def _failed(arguments: Sequence[str], failure: Failure) -> int:
    """Show an error, write it to the report that the arguments ask for, and return the exit code.

    A report of an earlier command must not be taken for that of this one.
    """
    if any(word.startswith(REPORT) for word in arguments):
        from towpath.cli.pair_outputs import report_of  # noqa: PLC0415, few commands have a report

        with suppress(TowpathError):  # of a report that cannot be written; that is told now
            write_report(report_of(arguments), failure_as_json(failure))
    return show_failure(failure)


def _done(arguments: Sequence[str]) -> int:
    """Run one command, for each pair that a file of Redpanda Connect has."""
    rest = applied(arguments)
    wanted = wanted_of(rest)
    if pairs := asked_pairs(wanted, rest):
        return over_pairs(wanted, arguments, pairs, main)
    code = get_command(program(rest)).main(rest, prog_name="towpath", standalone_mode=False)
    return code if isinstance(code, int) else 0


def program(arguments: Sequence[str]) -> typer.Typer:
    """Return the program; only the requested command is loaded completely."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    wanted = wanted_of(arguments)
    for name, summary in COMMANDS.items():
        command = _load(name) if name == wanted else _unloaded
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, short_help=summary)
        else:
            app.command(name, short_help=summary)(command)
    return app


def _load(name: str) -> typer.Typer | Callable[..., int | None]:
    command: typer.Typer | Callable[..., int | None]
    if name in _SPARK:
        require_spark(f"towpath {name}")
    module, _, attribute = _MODULES.get(name, f"towpath.mirror.commands.{name}:{name}").partition(
        ":"
    )
    command = getattr(import_module(module), attribute)
    return command


def _unloaded() -> None:
    """Stand in for a command that was not asked for, in the list of commands."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"towpath {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an internal error.")
    ] = False,
    env_file: Annotated[
        list[str] | None,
        typer.Option(
            "-e",
            "--env-file",
            metavar="FILE",
            help="Set variables from the lines NAME=value of a file; also behind a command.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set a value in a file of Redpanda Connect; also behind a command.",
        ),
    ] = None,
    chilled: Annotated[
        bool,
        typer.Option(
            "--chilled",
            help="Leave unknown fields of a file of Redpanda Connect out; also behind a command.",
        ),
    ] = False,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair",
            metavar="LABEL",
            help="Use one of several pairs of a file of Redpanda Connect; also behind a command.",
        ),
    ] = None,
) -> None:
    """Mirror Kafka topics from one cluster to another, with Apache Spark.

    Begin with `towpath init`, then `towpath lint`, `towpath plan` and `towpath run`.
    """
    del version, debug  # both act before this: at the callback, and at the border in `main`
    del env_file, set_, chilled, pair  # taken out before, by `applied`


def _of_ours(error: TowpathError) -> Failure:
    problems = error.problems if isinstance(error, ConfigError) else ()
    return Failure(error.code, str(error), error.exit_code, problems)


def _of_usage(error: typer.TyperException) -> Failure:
    text = error.format_message().strip().replace("Value error, ", "")
    if text.startswith("Usage:"):  # nothing was asked for, and this is the help
        return Failure("USAGE", text, 2)
    return Failure("USAGE", f"{text}\nSee `towpath --help`, also behind a command.", 2)


def _unexpected(error: Exception, wanted: str) -> Failure:
    if missing := missing_extra(f"towpath {wanted}", error):
        return _of_ours(missing)
    name, told = type(error).__name__, foreign(error)[:300]
    what = name if told == name else f"{name}: {told}"
    text = f"a fault in Towpath: {what}; `towpath --debug ...` shows where"
    return Failure("FAULT", text, 1)
