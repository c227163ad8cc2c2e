"""`towpath cutover`: end a migration."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType

from towpath.cli.on_spark import LoggedOnSpark, with_options
from towpath.cli.options import LinkFile, MayDeleteOption
from towpath.cli.show.fold import folded, folded_sentences
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.cli.signals import stopping
from towpath.groups.group_standings import GroupsLook
from towpath.mirror import COPYING, TRANSFORMING
from towpath.mirror.show.display import Display
from towpath.mirror.show.groups_picture import as_json, held_lines, summary_picture, where_picture
from towpath.mirror.show.groups_shapes import ConsumerGroupJson
from towpath.mirror.show.run_shapes import CutoverJson, GonePartitionJson
from towpath.mirror.show.verify_shapes import SchemaProofJson
from towpath.model.amounts import count, counted, size, span
from towpath.runbook import pointers
from towpath.settings import LinkConfig, load

if TYPE_CHECKING:
    from towpath.mirror.cutover.report import CutoverReport
    from towpath.mirror.status.partition_status import PartitionStatus
    from towpath.mirror.verify.verdict import PartitionVerdict
    from towpath.wire.naming import IdSample

NOT_DONE = 3
_SEEDS = 1 << 32
_MOST_POSITIONS = 60
"""Most positions of groups that are shown one by one."""
_MaySkipOption = Annotated[
    str | None,
    typer.Option(
        metavar="GROUP,..",
        help="These groups are meant to pass over records that they have not read, that the source"
        " still has, and that the target lacks, or with `transform` has before the cut; they are"
        " counted all the same.",
    ),
]
_WithoutSchemasOption = Annotated[
    bool,
    typer.Option(
        "--without-schemas",
        help="Do not ask the registries for the schema ids in the records; without a section"
        " `schemas`, they are never asked.",
    ),
]
_WithoutValuesOption = Annotated[
    bool,
    typer.Option(
        "--without-values",
        help="Also cut over where a query cannot make the values of records again to compare them;"
        " their number is compared all the same.",
    ),
]
_OneInOption = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Look for schema ids in one in N records only, chosen at random."
    ),
]


@with_options
def cutover(
    file: LinkFile,
    *,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Change nothing; show what would prevent the cutover, and how long it would take.",
        ),
    ] = False,
    quiet: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds during which no producer may have written to the source topics."
        ),
    ] = 5.0,
    without_groups: Annotated[
        bool,
        typer.Option(
            "--without-groups",
            help="Bring no groups of consumers over; they begin anew on the target.",
        ),
    ] = False,
    may_skip: _MaySkipOption = None,
    without_values: _WithoutValuesOption = False,
    without_schemas: _WithoutSchemasOption = False,
    one_in: _OneInOption = 1,
    may_delete: MayDeleteOption = False,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """End a migration: check that producers are silent, copy and sync the rest, prove equality."""
    del output  # `show` reads it from the arguments
    config = load(file, transforms=True)
    doing = "looking at both clusters"
    with stopping() as stop, Display(config.link, on.logs, doing, stop) as display:
        works = COPYING if config.transforms is None else TRANSFORMING
        spark = on.start(config.link, works, credentials=config.holds_credentials)
        # These imports take a second, during which Spark's JVM starts.
        from towpath.mirror.cutover.cutover import cutover as cut_over  # noqa: PLC0415
        from towpath.mirror.cutover.report import CutoverRequest  # noqa: PLC0415
        from towpath.mirror.verify.scope import Scope  # noqa: PLC0415
        from towpath.wire.naming import IdSample  # noqa: PLC0415

        ids = None
        if config.schemas is not None and not without_schemas:
            ids = IdSample(one_in, random.SystemRandom().randrange(_SEEDS) if one_in > 1 else 0)
        scope = Scope(
            master=on.master,
            parallelism=on.parallelism,
            packages=on.packages,
            ids=ids,
            may_delete=may_delete,
        )
        cut = CutoverRequest(
            dry_run, quiet, scope, without_groups, without_values, _names(may_skip)
        )
        found = cut_over(config, file, cut, spark, stop, display.show)
    data = _report(config, found, dry_run=dry_run)
    schemas, data["schemas"] = _schemas(found, ids)
    lines = [*_notes(found), *([] if dry_run else map(str, found.writing))]
    lines += folded_sentences(found.trouble)
    lines += pointers(code for row in found.verdicts for code in row.codes)
    if found.groups is not None and not dry_run:
        lines += held_lines(found.groups)
    lines.append(f"took: {_parts(found.seconds)}")
    lines += _rehearsed(found, data) if dry_run else [_sentence(found, data)]
    show(Group(*_groups(config, found), *schemas, *map(line, lines)), data)
    on.tell(data)
    if found.failure is not None:
        return found.failure.exit_code
    return 0 if found.complete else NOT_DONE


def _names(groups: str | None) -> frozenset[str]:
    """Return the groups of an option; other than topics', their names may hold any character.

    Where one holds a comma, the whole is a name, too.
    """
    return frozenset() if groups is None else frozenset({groups, *groups.split(",")})


def _schemas(
    found: CutoverReport, ids: IdSample | None
) -> tuple[list[RenderableType], SchemaProofJson | None]:
    """Return what the registries answered for the schema ids in records, for people and as data."""
    if found.proof is None or ids is None:
        return [], None
    # This import takes two seconds.
    from towpath.mirror.show.proof_of_schemas import picture  # noqa: PLC0415
    from towpath.mirror.show.verify_json import schemas_as_json  # noqa: PLC0415

    return [*picture(found.proof, ids)], schemas_as_json(found.proof, ids)


def _groups(config: LinkConfig, found: CutoverReport) -> list[RenderableType]:
    """Return where the groups stand, or would stand; of many groups only how many positions."""
    if found.groups is None:
        return []
    seen = GroupsLook(link=config.link, asked=True, report=found.groups)
    positions = sum(len(group.positions) for group in found.groups.groups)
    return [where_picture(seen) if positions <= _MOST_POSITIONS else summary_picture(seen)]


def _gone(verdicts: Sequence[PartitionVerdict]) -> list[GonePartitionJson]:
    """Return the partitions with records that not both sides have any more."""
    if not verdicts:
        return []
    # Who has verdicts has imported the comparison already, which takes two seconds.
    from towpath.mirror.show.verify_json import gone_as_json  # noqa: PLC0415

    return [
        {"topic": row.topic, "partition": row.partition, **gone_as_json(row.gone)}
        for row in verdicts
        if row.gone
    ]


def _report(config: LinkConfig, found: CutoverReport, *, dry_run: bool) -> CutoverJson:
    verdicts, failure = found.verdicts, found.failure
    estimate = found.measured.estimate() if found.measured else None
    return {
        "link": config.link,
        "dry_run": dry_run,
        "complete": found.complete,
        "writing": [str(each) for each in found.writing],
        "to_stop": found.to_stop,
        "left_out": found.trouble,
        "group_positions": _positions(config, found),
        "groups": list(found.staying.groups),
        "share_groups": list(found.staying.share_groups),
        "streams_groups": list(found.staying.streams_groups),
        "failure": None if failure is None else {"code": failure.code, "text": str(failure)},
        "mapped": [
            {"topic": row.topic, "partition": row.partition, "why": why}
            for row, why in _mapped(found)
        ],
        "acls_held": _acls_held(found),
        "notes": [f"note: {note}" for note in found.notes]
        + [f"note: {row.topic}-{row.partition}: {text}" for row in verdicts for text in row.notes],
        "seconds": found.seconds,
        "estimate": estimate,
        "estimated_seconds": round(sum(estimate.values()), 1) if estimate else None,
        "behind": found.behind,
        "steps": sum(len(each.outcome.done) for each in (found.synced, found.settled) if each),
        "steps_planned": len(found.plan.steps),
        "partitions": len(verdicts),
        "equal_partitions": sum(row.verdict == "equal" for row in verdicts),
        "gone": _gone(verdicts),
        "equal_records": sum(row.comparison.counts.equal for row in verdicts if row.comparison),
    }


def _notes(found: CutoverReport) -> Iterator[str]:
    """Yield the notes as lines, one for those that are alike."""
    told = [(note.about, note.text) for note in found.notes]
    told += [(f"{row.topic}-{row.partition}", text) for row in found.verdicts for text in row.notes]
    yield from (f"note: {text}" for text in folded(told))


def _mapped(found: CutoverReport) -> list[tuple[PartitionStatus, str]]:
    """Return the partitions whose offsets differ from those at the source, and why."""
    from towpath.mirror.cutover.beside import why_mapped  # noqa: PLC0415

    return [(row, why_mapped(row)) for row in found.mapped]


def _acls_held(found: CutoverReport) -> int:
    """Return how many ACLs `access.acls: safe` still holds back."""
    from towpath.mirror.cutover.beside import acls_held  # noqa: PLC0415

    return acls_held(found.last_look)


def _positions(config: LinkConfig, found: CutoverReport) -> list[ConsumerGroupJson]:
    if found.groups is None:
        return []
    seen = GroupsLook(link=config.link, asked=True, report=found.groups)
    return as_json(seen)["groups"]


def _parts(seconds: dict[str, float]) -> str:
    return ", ".join(f"{part} {span(took)}" for part, took in seconds.items())


def _sentence(found: CutoverReport, data: CutoverJson) -> str:
    # This import takes a second.
    from towpath.mirror.cutover.beside import rights_first  # noqa: PLC0415

    if found.complete:
        moved = ""
        if found.groups is not None:
            standing = len(found.groups.standing)
            moved = f", where {counted(standing, 'group')} of consumers go on"
        elif found.staying.of_groups:
            moved = ", without their consumer groups' offsets"
        first = rights_first(data["acls_held"])
        return f"cut over: {_proven(data)}; {first}the clients can be moved to the target{moved}"
    mend = "stop who writes" if found.writing else "mend what stands above"
    todo = f"leave the clients where they are, {mend}, then cut over again"
    if not found.touched:
        return f"not cut over, and nothing was touched: {todo}"
    return f"not cut over: {todo}; what is copied and done stays, and is not done twice"


def _rehearsed(found: CutoverReport, data: CutoverJson) -> list[str]:
    # This import takes a second.
    from towpath.mirror.cutover.estimate import ASSUMED  # noqa: PLC0415

    against = len(found.trouble)
    named = f"{counted(against, 'problem')}, listed above" if against else "no problems"
    last = f"rehearsed, nothing was changed: {named}"
    stops = [f"before the cutover: {text}" for text in found.to_stop]
    estimate, seconds = data["estimate"], data["estimated_seconds"]
    if found.measured is None or estimate is None or seconds is None:
        return [*stops, last]
    left = f"{count(found.behind)} records to copy, {count(data['steps_planned'])} steps to do"
    how = f"about {span(seconds)}: {_parts(estimate)}"
    speed = f" (at {size(ASSUMED)}/s: too little is copied to measure it)"
    return [
        *stops,
        f"left: {left}; so far {_proven(data)}",
        f"the cutover would take {how}{speed if found.measured.assumed else ''}",
        last,
    ]


def _proven(data: CutoverJson) -> str:
    equal, partitions = data["equal_partitions"], data["partitions"]
    return (
        f"{count(equal)} of {count(partitions)} partitions equal,"
        f" {count(data['equal_records'])} records"
    )
