"""What real producers wrote, byte for byte as a broker (Kafka 4.3.1 or later) sent it.

Each `.bin` is one record set of a Fetch v11 answer; the `.json` beside it tells which producer
wrote it and what librdkafka's consumer read from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.logs.batches import Table, digest_of, from_arrow
from towpath.wire import batch, plain, records
from towpath.wire.digest import Digest
from towpath.wire.plain import Record
from towpath.wire.reencode import reencode

FILES = sorted((Path(__file__).parent / "golden").glob("*.bin"))
GOLDEN = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)

Decode = Callable[[bytes], Sequence[Record]]


def expected(path: Path) -> list[Record]:
    def blob(text: str | None) -> bytes | None:
        return None if text is None else bytes.fromhex(text)

    return [
        Record(
            blob(row["key"]),
            blob(row["value"]),
            tuple((bytes.fromhex(name), blob(value)) for name, value in row["headers"]),
            row["timestamp"],
            row["offset"],
        )
        for row in json.loads(path.with_suffix(".json").read_text("utf-8"))["records"]
    ]


def data_batches(path: Path) -> tuple[bytes, Table]:
    raw = path.read_bytes()
    table = batch.scan(np.frombuffer(raw, np.uint8).copy(), 0, len(raw))
    assert int(table[:, batch.LENGTH].sum()) == len(raw)
    return raw, table[table[:, batch.ATTRIBUTES] & batch.CONTROL == 0]


def pieces(path: Path) -> list[bytes]:
    raw, table = data_batches(path)
    places = zip(table[:, batch.POSITION].tolist(), table[:, batch.LENGTH].tolist(), strict=True)
    return [raw[position : position + length] for position, length in places]


def fast(raw: bytes) -> Sequence[Record]:
    return from_arrow(records.decode(raw))


def test_there_are_some_of_every_codec() -> None:
    kinds = ("none", "gzip", "snappy", "lz4", "zstd", "late")
    wanted = {f"{producer}-{kind}" for producer in ("java", "librdkafka") for kind in kinds}
    assert {path.stem for path in FILES} >= wanted | {"java-txn"}


@GOLDEN
@pytest.mark.parametrize("decode", [fast, plain.decode])
def test_they_are_read(path: Path, decode: Decode) -> None:
    assert [record for piece in pieces(path) for record in decode(piece)] == expected(path)


@GOLDEN
def test_they_are_reencoded(path: Path) -> None:
    raw, table = data_batches(path)
    written = reencode(
        np.frombuffer(raw, np.uint8),
        table[:, batch.POSITION].copy(),
        table[:, batch.LENGTH].copy(),
        first_offset=0,
        end_offset=1 << 62,
        max_bytes=2000,
    )
    offsets = [
        o for d in written for start, n in d.offsets.tolist() for o in range(start, start + n)
    ]
    found = [record for dense in written for record in plain.decode(dense.batch)]
    pairs = zip(found, offsets, strict=True)
    assert [replace(record, offset=offset) for record, offset in pairs] == expected(path)


@GOLDEN
def test_their_digest_is_that_of_what_was_read(path: Path) -> None:
    digest = Digest()
    for piece in pieces(path):
        digest = digest.then(digest_of(piece))
    assert digest == digest_of(plain.encode(expected(path)))


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.stem.endswith("-none")], ids=lambda p: p.stem
)
def test_our_encoder_writes_what_the_producer_wrote(path: Path) -> None:
    (piece,) = pieces(path)
    written = plain.encode(expected(path))
    assert written[batch.HEADER_SIZE :] == piece[batch.HEADER_SIZE :]
