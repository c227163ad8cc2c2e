"""`towpath init`: write an example file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from towpath.cli.show.output import Output, OutputOption, show
from towpath.config.kinds import FileKind
from towpath.model.errors import ConfigError, ConfigProblem

EXAMPLE = """\
## A link mirrors topics from one Kafka cluster, the source, to another one, the target.
## Check this file with `towpath lint FILE`, see what would be done with `towpath plan FILE`.
## Editors complete and check it after `towpath schema > link.schema.json` in this folder, with
## `yaml-language-server: $schema=link.schema.json` behind a # in the first line.
## Lines with one # are optional keys; docs/configuration.md lists all keys.

source:
  bootstrap: "localhost:9092"
  #tls: {ca: ca.pem, cert: mirror.pem, key: mirror.key, key_password: "env:KEY_PASSWORD"}
  #sasl: {mechanism: SCRAM-SHA-512, username: mirror, password: "env:SOURCE_PASSWORD"}

target:
  bootstrap: "localhost:9093"
  #tls: true
  #sasl: {mechanism: PLAIN, username: mirror, password: "file:target-password"}

## The name of this link in the ledger on the target; never change it later.
link: my-first-link

topics:
  ## Regular expressions for whole topic names.
  include: ["orders", "payments.*"]
  exclude: ["__.*"]
  ## Another name on the target, such as "eu.{topic}".
  rename: "{topic}"

records:
  ## earliest, latest, committed (with a `group`), or a time such as 2025-01-31T08:00:00Z
  start: earliest
  #offsets: identical
  #on_gap: record

## What to copy besides topics and records; `towpath plan` shows it before anything changes.
#access:
#  acls: safe
#  quotas: true
#  users: {alice: "env:ALICE_PASSWORD"}
#prune: true

#run:
#  round: 10m
#  memory: 96MiB
"""


ARCHIVE_EXAMPLE = """\
## An archive keeps topics of a Kafka cluster, the source, as files in a store.
## Check this file with `towpath lint FILE`.
## Editors complete and check it after `towpath schema --kind archive > archive.schema.json` in this
## folder, with `yaml-language-server: $schema=archive.schema.json` behind a # in the first line.
## Lines with one # are optional keys; docs/configuration.md lists all keys.

kind: archive

## The name of this archive; never change it later.
archive: my-first-archive

source:
  bootstrap: "localhost:9092"
  #tls: {ca: ca.pem, cert: archive.pem, key: archive.key, key_password: "env:KEY_PASSWORD"}
  #sasl: {mechanism: SCRAM-SHA-512, username: archive, password: "env:SOURCE_PASSWORD"}

store:
  ## s3://bucket/prefix, gs://bucket/prefix, abfs://container@account/prefix, or a folder.
  url: "file:archive"
  #storage_class: [STANDARD, STANDARD_IA]

## The name of this place among those that archive into the same store; never change it later.
region: eu-central-1

topics:
  ## Regular expressions for whole topic names.
  include: ["orders", "payments.*"]
  exclude: ["__.*"]

## A segment is complete when it has so many records or bytes, or its first record is so old.
segments:
  max_messages: 1000000
  max_bytes: 100MiB
  max_age: 5m
  #topics: {"payments.*": {max_age: 30s}}

## parquet, which anyone can query, or whole batches.
format: parquet

## A schema registry whose schemas are archived with the records.
#schemas:
#  source: {url: "http://localhost:8081"}

## A consumer group whose offsets show other tools how far the archive is.
#group: my-first-archive

#compaction:
#  - schedule: "0 0 1 * * *"
#    min_size: 1GiB
#    max_size: 4GiB

## Where a restore writes to.
#target:
#  bootstrap: "localhost:9093"
#restore:
#  topics: {include: ["orders"], rename: "{topic}.restored"}
"""

_EXAMPLES = {FileKind.LINK: EXAMPLE, FileKind.ARCHIVE: ARCHIVE_EXAMPLE}


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Path of the new file.")] = Path(
        "towpath.yaml"
    ),
    *,
    kind: Annotated[
        FileKind, typer.Option(help="What the file describes: a link, or an archive.")
    ] = FileKind.LINK,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write a commented example file to start from; an existing file is never overwritten."""
    del output  # `show` reads it from the arguments
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(_EXAMPLES[kind])
    except FileExistsError:
        raise _refusal(file, "already exists; choose another file name or move it") from None
    except OSError as error:
        raise _refusal(file, f"cannot be written: {error.strerror}") from None
    show(f"{file} written; adapt it, then run `towpath lint {file}`", {"file": str(file)})


def _refusal(file: Path, why: str) -> ConfigError:
    return ConfigError((ConfigProblem("", f"{file}: {why}"),))
