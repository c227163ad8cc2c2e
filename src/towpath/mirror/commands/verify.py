"""`towpath verify`: prove that source and target are equal."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.on_spark import OnSpark, with_options
from towpath.cli.options import LinkFile, MayDeleteOption, pattern_of
from towpath.cli.show.bar import Bar
from towpath.cli.show.fold import folded, set_apart
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.mirror.show.proof_of_schemas import picture
from towpath.mirror.show.status_picture import unstable
from towpath.mirror.show.verify_json import hexadecimal, report, schemas_as_json
from towpath.mirror.show.verify_shapes import VerifyJson
from towpath.mirror.status.open_transaction import oldest
from towpath.mirror.transform.proof.verify import verify as verify_transformed
from towpath.mirror.verify.schema_proof import SchemaProof
from towpath.mirror.verify.schemas import proving
from towpath.mirror.verify.scope import EVERY_TOPIC, Scope
from towpath.mirror.verify.stoppable import until
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.mirror.verify.verify import verify as compare_all
from towpath.model.amounts import count, size, span
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.runbook import pointers
from towpath.runtime.clock import is_ms
from towpath.settings import LinkConfig, load
from towpath.wire.naming import IdSample


class Isolation(StrEnum):
    """The isolation levels of consumers whose view is compared."""

    COMMITTED = "committed"
    BOTH = "both"


_TopicsOption = Annotated[
    str,
    typer.Option(
        metavar="PATTERN",
        help="Compare only source topics whose whole name matches this regular expression.",
    ),
]
_IsolationOption = Annotated[
    Isolation,
    typer.Option(
        help="Compare what consumers with isolation.level=read_committed see; `both`: the"
        " target must also hold no record that only consumers with read_uncommitted see."
    ),
]
_SEEDS = 1 << 32
_HEADERS = ("topic", "partition", "mode", "offsets", "records", "digest", "verdict", "why")


@with_options
def verify(
    file: LinkFile,
    *,
    sample: Annotated[
        bool, typer.Option(help="Compare only the first, the last and some random ranges.")
    ] = False,
    first: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME|OFFSET",
            help="Compare only from this time or source offset on.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", hidden=True, help="The name of --from in earlier versions."),
    ] = None,
    schemas: Annotated[
        bool,
        typer.Option(
            "--schemas",
            help="Also read the schema ids in the records on the target, and ask both registries"
            " for each of them.",
        ),
    ] = False,
    topics: _TopicsOption = EVERY_TOPIC,
    one_in: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="With --schemas, look at one in N records only."),
    ] = 1,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed for --sample and --one-in, to take the same sample again."),
    ] = None,
    isolation: _IsolationOption = Isolation.COMMITTED,
    may_delete: MayDeleteOption = False,
    on: OnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Compare source and target record by record, over the ranges that both still have."""
    del output  # `show` reads it from the arguments
    offset, ms = _from(_renamed(first, since))
    ids = _ids(one_in, schemas=schemas)
    if seed is None:
        seed = random.SystemRandom().randrange(_SEEDS)
    if ids is not None and ids.one_in > 1:
        ids = IdSample(ids.one_in, seed % _SEEDS)
    scope = Scope(
        since_offset=offset,
        since_ms=ms,
        sample=seed if sample else None,
        master=on.master,
        parallelism=on.parallelism,
        packages=on.packages,
        uncommitted=isolation is Isolation.BOTH,
        ids=ids,
        may_delete=may_delete,
        topics=pattern_of(topics).pattern,
    )
    config = load(file, transforms=True)
    if config.transforms is not None:
        _require_whole(scope)
    began = time.monotonic()
    rows, proof = _compared(config, scope, file)
    data = report(config.link, scope.sample, rows, time.monotonic() - began)
    whys, alike = set_apart((f"{r.topic}-{r.partition}", r.why) for r in rows)
    lines = [*pointers(code for row in rows for code in row.codes), _sentence(scope, rows, data)]
    parts = [_picture(rows, whys), *map(Text, [*alike, *_notes(rows), *lines])]
    if proof is not None and ids is not None:
        parts += picture(proof, ids)
        data["equal"] = data["equal"] and proof.equal
        data["schemas"] = schemas_as_json(proof, ids)
    show(Group(*parts), data)
    on.tell(data)
    return 0 if data["equal"] else 3


def _ids(one_in: int, *, schemas: bool) -> IdSample | None:
    if one_in > 1 and not schemas:
        raise ConfigError((ConfigProblem("--one-in", "needs --schemas"),))
    return IdSample(one_in) if schemas else None


def _require_whole(scope: Scope) -> None:
    """Raise if options are given that mean nothing where records go through a query."""
    why = "records of this link go through a query; it compares all of them, or those --from"
    given = {
        "--sample": scope.sample is not None,
        "--schemas": scope.ids is not None,
        "--isolation": scope.uncommitted,
    }
    problems = tuple(ConfigProblem(name, why) for name, is_given in given.items() if is_given)
    if problems:
        raise ConfigError(problems)


def _compared(
    config: LinkConfig, scope: Scope, file: Path
) -> tuple[Sequence[PartitionVerdict], SchemaProof | None]:
    with ExitStack() as stack:
        # A registry that does not answer is told before hours of comparing.
        prover = stack.enter_context(proving(config)) if scope.ids is not None else None
        stop = stack.enter_context(stopping())
        bar = stack.enter_context(Bar("comparing"))
        if config.transforms is not None:
            return verify_transformed(config, file, scope, bar.done, stop), None
        rows = compare_all(config, scope, bar.done, stop)
        if prover is None:
            return rows, None
        text = "not every schema id was looked at, so nothing is proven; begin again"
        return rows, until(stop, text, lambda: prover.prove(rows))


def _renamed(first: str | None, since: str | None) -> str | None:
    """Return the value of `--from`, which was `--since` in earlier versions."""
    if since is None:
        return first
    if first is not None:
        raise ConfigError((ConfigProblem("--since", "is called --from now; give only --from"),))
    note = "note: --since of `towpath verify` is called --from now; the old name still works"
    console(stderr=True).print(line(note))
    return since


def _from(text: str | None) -> tuple[int, int | None]:
    """Return the offset, or the time in ms since 1970, that a text means."""
    if text is None:
        return 0, None
    if re.fullmatch(r"\d{1,19}", text):
        number = int(text)
        return (0, number) if is_ms(number) else (number, None)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        wanted = "an offset, or a time with its zone such as 2025-01-31T08:00:00Z"
        raise ConfigError((ConfigProblem("--from", f"{text!r} is not {wanted}"),))
    return 0, max(0, round(moment.timestamp() * 1000))


def _picture(rows: Sequence[PartitionVerdict], whys: Sequence[str]) -> RenderableType:
    """Return the table; reasons that are alike in many partitions are told below it."""
    lines = map(_line, rows, whys)
    right = "partition", "records"
    return Grid(_HEADERS, lines, right=right, spare=["digest"], below=["why"])


def _line(row: PartitionVerdict, why: str) -> tuple[str, ...]:
    found = row.comparison
    offsets = f"{found.first} to {found.end - 1}" if found else ""
    records = count(found.target_digest.records) if found else ""
    digest = hexadecimal(found.target_digest.ordered) if found else ""
    name = row.topic, str(row.partition), row.mode
    return *name, offsets, records, digest, str(row.verdict), why


def _notes(rows: Sequence[PartitionVerdict]) -> list[str]:
    """Return the notes on partitions, alike ones once, and the oldest open transaction."""
    told = folded((f"{row.topic}-{row.partition}", note) for row in rows for note in row.notes)
    named = oldest(row.open for row in rows)
    return [*told, *([f"source: {named}"] if named else [])]


def _sentence(scope: Scope, rows: Sequence[PartitionVerdict], data: VerifyJson) -> str:
    if not rows:
        return "no partition matches: nothing was compared"
    told = [
        f"{number} {verdict}"
        for verdict in Verdict
        if (number := sum(row.verdict is verdict for row in rows))
    ]
    sampled = f"; a sample, --seed {scope.sample}" if scope.sample is not None else ""
    sampled += f"; topics {scope.topics} only" if scope.topics != EVERY_TOPIC else ""
    sampled += f"; {unstable(data['unstable'])} not compared" if data["unstable"] else ""
    return (
        f"{', '.join(told)} of {len(rows)} partitions: {count(data['records'])} equal records,"
        f" {size(data['bytes'])} read in {span(data['seconds'])}{sampled}"
    )
