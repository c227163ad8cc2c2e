"""Objects wait in memory that is used again, and in a file of the machine if they are large."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path

import pytest

from tests.support.program import environment
from towpath.archive.format import spool as spools
from towpath.archive.format.spool import Spool
from towpath.settings import StoreConfig
from towpath.store import Store
from towpath.wire.spare import Spares


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a piece be small, and few of them stay in memory."""
    files = Spares[BufferedRandom](1)
    monkeypatch.setattr(spools, "_PIECE", 4096)
    monkeypatch.setattr(spools, "_IN_MEMORY", 4)
    monkeypatch.setattr(spools, "_SPARE", Spares(4))
    monkeypatch.setattr(spools, "_SPARE_FILES", files)
    yield
    while (file := files.take()) is not None:
        file.close()


def stored(spool: Spool, folder: Path) -> bytes:
    """Write the bytes of a spool as an object twice, as another key may be tried."""
    with Store(StoreConfig(url=f"file://{folder}")) as store:
        for key in ("first", "second"):
            with store.writer(key) as out:
                spool.copy(out)
        assert store.get("first") == store.get("second")
        return store.get("first")


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 16383, 16384, 16385, 20480, 50000])
def test_a_spool_gives_back_what_was_written(size: int, tmp_path: Path) -> None:
    for each in range(2):  # the second one has the memory, and the file, of the first one
        written = random.randbytes(size)
        spool, at = Spool(), 0
        while at < size:
            step = random.choice([1, 1000, 4096, 9000])
            at += spool.write(memoryview(written)[at : at + step])
        assert stored(spool, tmp_path / str(each)) == written
        spool.close()


def test_the_file_of_an_object_serves_the_next_one() -> None:
    for _ in range(3):
        spool = Spool()
        spool.write(bytes(20480))
        assert spool._file is not None
        number = spool._file.fileno()
        spool.close()
        kept = spools._SPARE_FILES.take()
        assert kept is not None
        assert kept.fileno() == number
        spools._SPARE_FILES.give(kept)


FULL = """
import random, resource, signal
import pyarrow as pa
import pyarrow.parquet as pq
from towpath.archive.errors import TemporaryFileError
from towpath.archive.format import spool as spools
from towpath.archive.format.sink import HashedSink

spools._PIECE, spools._IN_MEMORY = 4096, 4
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
spool, schema = spools.Spool(), pa.schema([("value", pa.binary())])
writer = pq.ParquetWriter(HashedSink(spool), schema)
noise = pa.table({"value": [random.randbytes(4096) for _ in range(10)]}, schema)
try:
    writer.write_table(noise)
except TemporaryFileError as error:
    print(error)
spool.close()
"""
"""No file becomes larger than four pieces, as on a disk that is full. The limit binds a whole
process, also what its other threads write, so the process is one of its own."""


def test_a_disk_that_is_full_is_told_with_its_folder() -> None:
    told = subprocess.run(
        [sys.executable, "-c", FULL], env=environment(), capture_output=True, text=True, check=True
    )
    assert re.search(r"temporary file in /.* failed: .*large", told.stdout), told
