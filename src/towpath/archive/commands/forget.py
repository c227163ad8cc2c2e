"""`towpath archive forget` and `prune`: delete data from an archive on request."""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum
from typing import Annotated

import typer

from towpath.archive.commands import LEFT_OUT
from towpath.archive.config import load_archive
from towpath.cli.on_spark import OnSpark, with_options
from towpath.cli.options import ArchiveFile, ReportOption, require_writable, write_report
from towpath.cli.show.output import Output, OutputOption, show
from towpath.cli.signals import stopping
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.settings.naming import require_expressions
from towpath.settings.units import Duration, Size

_EMPTY = (
    "is empty, as a variable is that is not set; for records whose key has no bytes, add --form hex"
)
_FORGETTING = ("towpath.archive.upkeep.slice.forget_slice",)
TopicsOption = Annotated[
    list[str] | None,
    typer.Option(help="Regular expression; only topics whose whole name matches. Repeatable."),
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Do it; without this option it is only shown.")
]


class KeyForm(StrEnum):
    """The notations of a record key on the command line."""

    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"


def prune(
    file: ArchiveFile,
    *,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="First segments whose newest record is older, as `90d`."),
    ] = None,
    keep_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Bytes that each partition keeps at least, as `10GiB`."),
    ] = None,
    up_to_version: Annotated[
        int | None, typer.Option(min=1, help="What was archived up to this version.")
    ] = None,
    topics: TopicsOption = None,
    yes: YesOption = False,
    report: ReportOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Remove the oldest segments, by `retention` of the file or by options; shows them first."""
    del output  # `show` reads it from the arguments
    require_writable(report)
    config = load_archive(file)
    expressions = require_expressions(tuple(topics or (".*",)), "--topics")
    age = _amount(Duration, older_than, "--older-than")
    size = _amount(Size, keep_size, "--keep-size")
    from towpath.archive.show.forgotten import prune_data, prune_picture  # noqa: PLC0415
    from towpath.archive.upkeep import pruning  # noqa: PLC0415  # help waits for none of it

    wishes = pruning.wishes_of(
        config, age, int(size) if size is not None else None, up_to_version, expressions
    )
    if yes:
        with stopping() as stop:
            made = pruning.prune(config, wishes, stop)
    else:
        made = pruning.plan_pruning(config, wishes)
    data = prune_data(config.archive, made)
    show(prune_picture(config, made, data), data)
    write_report(report, data)
    return 0


@with_options
def forget(
    file: ArchiveFile,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the records.")],
    *,
    form: Annotated[KeyForm, typer.Option(help="How KEY is written; `text` is UTF-8.")] = (
        KeyForm.TEXT
    ),
    topic: TopicsOption = None,
    reason: Annotated[
        str, typer.Option(help="Why, for the commit log, such as the number of a request.")
    ] = "",
    yes: YesOption = False,
    on: OnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Remove all records with a key; their offsets become gaps. Shows them first."""
    del output  # `show` reads it from the arguments
    expressions = require_expressions(tuple(topic or (".*",)), "--topic")
    wanted = _key(key, form)
    config = load_archive(file)
    on.fork(_FORGETTING)
    with stopping() as stop:
        from towpath.cli.show.bar import Bar  # noqa: PLC0415  # help waits for none of it

        spark = on.start(
            f"archive {config.archive}",
            _FORGETTING,
            credentials=config.holds_credentials,
        )
        # These imports take a second, during which Spark's JVM starts.
        from towpath.archive.upkeep.forgetting import ForgetWishes  # noqa: PLC0415
        from towpath.archive.upkeep.forgetting import forget as work  # noqa: PLC0415

        wishes = ForgetWishes(key=wanted, topics=expressions, writes=yes, reason=reason)
        with Bar("looking", "segments") as bar:
            done = work(
                config,
                wishes,
                spark,
                stop,
                lambda now: bar.done(now.done, now.planned),
                on.parallelism,
            )
    from towpath.archive.show.forgotten import forget_data, forget_picture  # noqa: PLC0415

    data = forget_data(config.archive, done, writes=yes, stopped=stop.is_set())
    show(forget_picture(config, done, data), data)
    on.tell(data)
    return 0 if data["complete"] else LEFT_OUT


def _amount(kind: type[Duration] | type[Size], text: str | None, option: str) -> float | None:
    try:
        return None if text is None else kind.parse(text)
    except ValueError as error:
        raise ConfigError((ConfigProblem(option, foreign(error)),)) from None


def _key(text: str, form: KeyForm) -> bytes:
    try:
        match form:
            case KeyForm.TEXT if text:
                return text.encode()
            case KeyForm.TEXT:
                raise ConfigError((ConfigProblem("KEY", _EMPTY),))
            case KeyForm.HEX:
                return bytes.fromhex(text)
            case KeyForm.BASE64:
                return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise ConfigError((ConfigProblem("KEY", f"is not {form}; see --form"),)) from None
