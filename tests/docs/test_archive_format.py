"""The page of the archive's format says enough to read one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.support.archive.stored import REGION, StoredArchive, old_records
from tests.support.pages.commands import blocks
from towpath.archive.format.footer import SegmentHead, SegmentPart
from towpath.archive.format.schema import ARCHIVED
from towpath.archive.keys import quoted
from towpath.archive.log.entries import EntryKind, LogEntry, SeenPartition
from towpath.archive.model import GapKind, Segment
from towpath.model.nouns import SegmentFormat

PAGE = (Path(__file__).parents[2] / "docs/reference/archive-format.md").read_text()


def test_its_program_reads_an_archive(tmp_path: Path) -> None:
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    stored.put("orders", old_records(40), cuts=[11, 30])
    stored.put("orders", old_records(5), partition=1)
    stored.kind = SegmentFormat.BATCHES
    stored.put("raw", old_records(5))
    (program,) = blocks(PAGE, "python")
    script = tmp_path / "read.py"
    script.write_text(program)
    folder = stored.url.removeprefix("file:")
    done = subprocess.run(
        [sys.executable, str(script), folder, REGION], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"orders-0": 40, "orders-1": 5}


def test_it_names_each_column_field_and_kind() -> None:
    told = set(re.findall(r"`([^`]+)`", PAGE))
    for made in (LogEntry, Segment, SegmentHead, SeenPartition):
        assert set(made.__slots__) <= told, made
    assert {*ARCHIVED.names, *GapKind, *EntryKind} <= told
    kinds = [kind.value for kind in GapKind]
    assert ", ".join(f"`{kind}`" for kind in kinds) in PAGE
    for field in ARCHIVED:
        number = (field.metadata or {})[b"PARQUET:field_id"].decode()
        assert f"| {number} | `{field.name}` |" in PAGE
    assert len(SegmentPart.__slots__) == 9, "the page tells what the numbers of a part are"
    assert quoted("_iceberg") != "_iceberg"
