"""`towpath import kafka-replicator`: make its bucket part of a Towpath archive."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.archive.config import load_archive
from towpath.archive.imports.replicator_rows import Emptiness, EmptyRules
from towpath.cli.on_spark import OnSpark, with_options
from towpath.cli.options import ArchiveFile
from towpath.cli.show.output import Output, OutputOption, show

NOT_ALL = 3


@with_options
def kafka_replicator(
    file: ArchiveFile,
    *,
    bucket: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="URL",
            help="Its bucket with its prefix (S3KeyPrefix), such as s3://bucket/data.",
        ),
    ],
    region: Annotated[
        str | None,
        typer.Option(
            "--from-region",
            metavar="REGION",
            help="The region that wrote the segments, if the bucket has several.",
        ),
    ] = None,
    empty_keys: Annotated[
        Emptiness,
        typer.Option(help="What empty keys become; kafka-replicator stores null as empty."),
    ] = Emptiness.NULL,
    empty_values: Annotated[
        Emptiness, typer.Option(help="What empty values become; null values are tombstones.")
    ] = Emptiness.NULL,
    same_source: Annotated[
        bool,
        typer.Option(
            "--same-source",
            help="The source in the file is the cluster that was archived, and has the same topics"
            " still; `archive run` then goes on behind what is imported.",
        ),
    ] = False,
    on: OnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Import segments of CrowdStrike's kafka-replicator into an archive, as often as needed.

    What is there already is not imported again. The bucket is only read.
    """
    del output  # `show` reads it from the arguments
    config = load_archive(file)
    # Help waits for none of these.
    from towpath.archive.imports.import_bucket import import_bucket  # noqa: PLC0415
    from towpath.archive.imports.planned_import import ImportWish, bucket_of  # noqa: PLC0415
    from towpath.archive.show.import_result import (  # noqa: PLC0415
        import_data,
        import_picture,
        show_progress,
    )

    theirs = bucket_of(config.store, bucket)
    rules = EmptyRules(empty_keys, empty_values)
    wish = ImportWish(theirs=theirs, region=region, rules=rules, same_source=same_source)
    works = ("towpath.archive.imports.import_slice",)
    on.fork(works)
    spark = on.start(
        f"import {config.archive}",
        works,
        credentials=config.store.holds_credentials,
    )
    done = import_bucket(config, wish, spark, show_progress)
    data = import_data(done, rules)
    show(import_picture(done, rules), data)
    on.tell(data)
    return 0 if done.complete else NOT_ALL
