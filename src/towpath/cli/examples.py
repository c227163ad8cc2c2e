"""The commented example files that `towpath init` writes, one for each kind of file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from towpath.settings.kinds import FileKind

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
  #on_gap: record        # or {topics: {"my-app-.*-repartition": record}}

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

_EXAMPLES: Mapping[FileKind, str] = {FileKind.LINK: EXAMPLE, FileKind.ARCHIVE: ARCHIVE_EXAMPLE}
_ELSEWHERE: Mapping[FileKind, str] = {FileKind.KRAFT: "towpath.kraft.config.example"}
"""Modules of the examples that products keep for themselves."""


def example(kind: FileKind) -> str:
    """Return the commented example of a kind of file."""
    if kind in _EXAMPLES:
        return _EXAMPLES[kind]
    text: str = import_module(_ELSEWHERE[kind]).EXAMPLE
    return text
