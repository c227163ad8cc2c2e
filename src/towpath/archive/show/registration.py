"""The display of a registration in an Iceberg catalog. Pure."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType

from towpath.archive.show.upkeep_shapes import RegisteredTableJson, RegistrationJson
from towpath.archive.upkeep.iceberg.register import Registration, TableRegistration
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted
from towpath.model.errors import StoreError

_NAMED = 3
_HEADERS = ("topic", "table", "files", "records", "added", "removed", "why")


def registered_picture(done: Registration) -> RenderableType:
    """Return the registered tables, for people."""
    table = Grid(
        _HEADERS,
        map(_row, done.tables),
        right=("files", "records", "added", "removed"),
        below=("why",),
    )
    right = sum(not each.why for each in done.tables)
    told = f"{right} of {counted(done.topics, 'table')} as of version {done.version}"
    return Group(table, "", line(told))


def _row(each: TableRegistration) -> tuple[str, ...]:
    notes = [each.why]
    if each.skipped:
        notes.append(
            f"{counted(each.skipped, 'segment')} of whole batches skipped, with"
            f" {count(each.skipped_records)} records; only `format: parquet` can be registered"
        )
    if each.copies:
        notes.append(f"{counted(each.copies, 'file')} copied, as others in them were replaced")
    return (
        each.topic,
        each.table,
        count(each.files),
        count(each.records),
        count(each.changes.added),
        count(each.changes.removed),
        "; ".join(filter(None, notes)),
    )


def registered_data(done: Registration) -> RegistrationJson:
    """Return the registered tables, for programs."""
    return {
        "version": done.version,
        "complete": done.complete,
        "tables": [_table_data(each) for each in done.tables],
    }


def _table_data(each: TableRegistration) -> RegisteredTableJson:
    return {
        "topic": each.topic,
        "table": each.table,
        "files": each.files,
        "records": each.records,
        "changes": {"added": each.changes.added, "removed": each.changes.removed},
        "copies": each.copies,
        "skipped": each.skipped,
        "skipped_records": each.skipped_records,
        "why": each.why,
    }


def round_facts(done: Registration | StoreError) -> tuple[dict[str, Any], bool]:
    """Return the log facts of one round of a repeated registration, and whether it failed."""
    if isinstance(done, StoreError):
        return {"why": str(done), "code": done.code}, True
    failed = [f"{each.topic}: {each.why}" for each in done.tables if each.why]
    facts = {
        "version": done.version,
        "tables": len(done.tables),
        "added": sum(each.changes.added for each in done.tables),
        "removed": sum(each.changes.removed for each in done.tables),
        "skipped_segments": sum(each.skipped for each in done.tables),
        "failed": len(failed),
        "why": "; ".join(failed[:_NAMED]),
    }
    return facts, bool(failed)
