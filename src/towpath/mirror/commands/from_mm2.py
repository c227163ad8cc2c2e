"""`towpath import mm2` and `mm2-positions`: our files and links from what MirrorMaker 2 has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType

from towpath.cli.confirming import confirmed
from towpath.cli.options import LinkFile, YesOption
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.mirror.mm2.beginnings import SuccessionReport, SuccessionRequest, succeed
from towpath.mirror.mm2.converted_links import Conversion, Converted, convert
from towpath.mirror.mm2.ends import SucceededPartition
from towpath.mirror.mm2.flows import Fate
from towpath.mirror.show.mm2_shapes import ConversionJson, SuccessionJson
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.settings import check, load

NOT_ALL = 3


def mm2(
    properties: Annotated[
        Path,
        typer.Argument(
            metavar="PROPERTIES", help="MirrorMaker 2's file, such as connect-mirror.properties."
        ),
    ],
    *,
    into: Annotated[
        Path, typer.Option("--into", metavar="FOLDER", help="Folder for the new files.")
    ] = Path(),
    output: OutputOption = Output.TEXT,
) -> int:
    """Write a YAML file for each flow in MirrorMaker 2's file, and list what has no equivalent.

    Secrets are not written into these files, nor shown: they refer to environment variables.
    """
    del output  # `show` reads it from the arguments
    made = convert(_text(properties), properties.name)
    files = {into / f"{each.flow.name}.yaml": each for each in made.files}
    _write(files)
    show(Group(*_picture(files, made)), _data(files, made))
    return NOT_ALL if made.with_fate(Fate.NO_EQUAL) else 0


def mm2_positions(
    file: LinkFile,
    *,
    source_alias: Annotated[
        str,
        typer.Option(
            metavar="ALIAS",
            help="MirrorMaker 2's alias of the source; by default the only one on the target.",
        ),
    ] = "",
    offsets_topic: Annotated[
        str,
        typer.Option(
            metavar="TOPIC",
            help="Where Kafka Connect keeps its offsets; by default mm2-offsets.ALIAS.internal.",
        ),
    ] = "",
    connect_group: Annotated[
        str,
        typer.Option(
            metavar="GROUP", help="The group of its workers, which must be gone; default ALIAS-mm2."
        ),
    ] = "",
    trust_positions: Annotated[
        bool,
        typer.Option(
            "--trust-positions", help="Begin at its positions also where records prove nothing."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show where copying would begin; write nothing.")
    ] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Begin a link where MirrorMaker 2 stopped, in the same mirror topics.

    Nothing is copied again: the last records of each mirror partition are looked for at the source.
    MirrorMaker 2 must have been stopped.
    """
    del output  # `show` reads it from the arguments

    def agreed(found: tuple[SucceededPartition, ...]) -> bool:
        if dry_run:
            return False
        console(stderr=True).print(_table(found))
        return yes or confirmed("Begin there?", "to begin as above")

    request = SuccessionRequest(
        alias=source_alias,
        offsets_topic=offsets_topic,
        group=connect_group,
        trust=trust_positions,
        agreed=agreed,
    )
    done = succeed(load(file), request)
    show(Group(*_succession(done)), _succession_data(done))
    return 0 if done.complete or (dry_run and done.possible) else NOT_ALL


def _table(found: Sequence[SucceededPartition]) -> Grid:
    rows = [
        (
            str(each.tp),
            str(each.mirror),
            "" if each.copied is None else str(each.copied),
            "" if each.begins is None else str(each.begins),
            str(each.target_end),
            str(each.compared) if each.begins is not None else "",
            each.why or _seam(each),
        )
        for each in found
    ]
    headers = ("partition", "mirror", "copied up to", "begins at", "target ends", "equal", "why")
    numbers = {"copied up to", "begins at", "target ends", "equal"}
    return Grid(headers, rows, right=numbers, below=("why",))


def _seam(each: SucceededPartition) -> str:
    """Return how the mirror topic differs from what MirrorMaker 2 has noted."""
    if each.copied is None or each.begins is None:
        return ""
    more = each.begins - each.copied - 1
    if more > 0:
        return f"holds {more} offsets more than was noted"
    if more < 0:
        return f"lost {-more} offsets that were noted; they are copied again"
    return "" if each.compared else "not proven"


def _succession(done: SuccessionReport) -> Iterator[RenderableType]:
    if done.partitions:
        yield _table(done.partitions)
    yield from (line(f"note: {note}") for note in done.notes)
    due = sum(each.begins is not None for each in done.partitions)
    what = "begin" if done.done else "would begin"
    yield line(f"{due} of {len(done.partitions)} partitions {what} behind what MirrorMaker 2 wrote")


def _succession_data(done: SuccessionReport) -> SuccessionJson:
    return {
        "alias": done.alias,
        "done": done.done,
        "complete": done.complete,
        "partitions": [
            {
                "topic": each.tp.topic,
                "partition": each.tp.partition,
                "mirror": each.mirror.topic,
                "copied": each.copied,
                "begins": each.begins,
                "target_end": each.target_end,
                "compared": each.compared,
                "fine": each.is_fine or each.begins is not None,
                "why": each.why,
            }
            for each in done.partitions
        ],
        "notes": list(done.notes),
    }


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        return file.read_text("latin-1")  # as Java did before version 9
    except OSError as error:
        raise _refusal(file, f"cannot be read: {foreign(error)}") from None


def _write(files: dict[Path, Converted]) -> None:
    """Write all files, or none where one of them exists."""
    for file in files:
        if file.exists():
            raise _refusal(file, "already exists; move it, or name another folder with --into")
    for file, made in files.items():
        try:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(made.text)
        except OSError as error:
            raise _refusal(file, f"cannot be written: {error.strerror}") from None


def _refusal(file: Path, why: str) -> ConfigError:
    return ConfigError((ConfigProblem("", f"{file}: {why}"),))


def _picture(files: dict[Path, Converted], made: Conversion) -> Iterator[RenderableType]:
    for file, each in files.items():
        yield line(f"{file} written for the flow {each.flow}")
        yield from (line(f"  {secret}") for secret in each.secrets)
        yield from (line(f"  note: {note}") for note in each.notes)
        problems = check(file, with_environment=False)
        yield from (line(f"  to correct: {problem}") for problem in problems)
    for fate, heading in (
        (Fate.BY_HAND, "To do by hand before the first run:"),
        (Fate.NO_EQUAL, "No equal here:"),
        (Fate.NEEDLESS, "Not needed here:"),
    ):
        facts = made.with_fate(fate)
        if facts:
            yield line("")
            yield line(heading)
            rows = [(fact.key, fact.text) for fact in facts]
            yield Grid(("property", "why, and what to do"), rows, below=("why, and what to do",))
    taken = len(made.with_fate(Fate.TAKEN))
    yield line("")
    yield line(f"{taken} properties taken over; next: `towpath lint {next(iter(files))}`")


def _data(files: dict[Path, Converted], made: Conversion) -> ConversionJson:
    return {
        "files": [
            {
                "file": str(file),
                "flow": str(each.flow),
                "secrets": [
                    {"variable": s.variable, "property": s.key, "what": s.what}
                    for s in each.secrets
                ],
                "notes": list(each.notes),
                "problems": [str(p) for p in check(file, with_environment=False)],
            }
            for file, each in files.items()
        ],
        "properties": [
            {"property": fact.key, "fate": str(fact.fate), "text": fact.text} for fact in made.facts
        ],
    }
