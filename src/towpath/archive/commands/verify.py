"""`towpath archive verify`: prove that an archive holds what its commit log says."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from enum import StrEnum
from typing import Annotated

import typer

from towpath.archive.config import load_archive
from towpath.cli.on_spark import OnSpark, with_options
from towpath.cli.options import ArchiveFile, numbers_of, pattern_of
from towpath.cli.show.output import Output, OutputOption, show
from towpath.cli.signals import stopping
from towpath.model.errors import ConfigError, ConfigProblem

DIFFERS = 3
"""Exit code where something is missing, damaged, or differs."""
VERIFYING = ("towpath.archive.read.verify.content",)
"""Modules that Python workers import before the first verifying slice comes."""
_SEEDS = 1 << 32
_TopicsOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="Look at the objects of topics whose whole name matches this regular expression.",
        show_default=False,
    ),
]
_PartitionsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="Look at the objects of these partitions, such as 0,3-5.",
        show_default=False,
    ),
]


class Other(StrEnum):
    """The source or archive with which `archive verify` compares an archive."""

    SOURCE = "source"


@with_options
def verify(
    file: ArchiveFile,
    *,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Read all objects: their bytes, footers, records and gaps."),
    ] = False,
    against: Annotated[
        Other | None,
        typer.Option(
            help="Also compare with the records that the source still has; objects are read as"
            " with --deep.",
            show_default=False,
        ),
    ] = None,
    topics: _TopicsOption = None,
    partitions: _PartitionsOption = None,
    sample: Annotated[
        float,
        typer.Option(
            metavar="PERCENT", min=0.0, max=100.0, help="Look at this share of the objects."
        ),
    ] = 100.0,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed for --sample, to take the same sample again.", min=0),
    ] = None,
    on: OnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Verify the commit log, that all objects exist, and with --deep the content of the objects."""
    del output  # `show` reads it from the arguments
    from towpath.archive.read.verify.findings import VerifyScope  # noqa: PLC0415  # help waits for none

    if not sample:
        raise ConfigError((ConfigProblem("--sample", "0 would look at no object; write more"),))
    scope = VerifyScope(
        deep=deep,
        source=against is Other.SOURCE,
        topics=None if topics is None else pattern_of(topics),
        partitions=None if partitions is None else numbers_of(partitions),
        share=sample / 100,
        seed=random.SystemRandom().randrange(_SEEDS) if seed is None else seed,
    )
    config = load_archive(file)
    began = time.monotonic()
    if scope.reads:
        on.fork(VERIFYING)
    with ExitStack() as stack:
        stop = stack.enter_context(stopping())
        spark = None
        if scope.reads:
            name = f"archive verify {config.archive}"
            spark = on.start(name, VERIFYING, credentials=config.holds_credentials)
            spark.require_allowed()
        # These imports take a second, during which Spark's JVM starts.
        from towpath.archive.read.verify.verify import on_spark  # noqa: PLC0415
        from towpath.archive.read.verify.verify import verify as check  # noqa: PLC0415
        from towpath.archive.show.verification import check_data, check_picture  # noqa: PLC0415
        from towpath.cli.show.bar import Bar  # noqa: PLC0415

        bar = stack.enter_context(Bar("verifying"))
        read = None if spark is None else on_spark(spark, stop)
        found = check(config, scope, read, bar.doing, stop)
    data = check_data(config.archive, found, time.monotonic() - began)
    show(check_picture(found, data), data)
    on.tell(data)
    return DIFFERS if found.problems or (scope.names and found.looked_at_nothing) else 0
