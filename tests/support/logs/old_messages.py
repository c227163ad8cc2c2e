"""Message sets of magic 0 and 1, and a broker that holds them."""

from __future__ import annotations

import gzip
import struct
import zlib

from towpath.dev.broker import LocalCluster


def blob(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def message(
    magic: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    time: int = -1,
    attributes: int = 0,
) -> bytes:
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", time)
    body += blob(key) + blob(value)
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body


OLD = (
    [message(0, i, b"k%d" % i, b"v%d" % i) for i in range(10)]
    + [message(1, i, b"k%d" % i, b"v%d" % i, time=1_600_000_000_000 + i) for i in range(10, 20)]
    + [
        message(
            1,
            29,
            None,
            gzip.compress(
                b"".join(
                    message(1, i, None, b"w%d" % i, time=1_600_000_001_000 + i) for i in range(10)
                )
            ),
            time=1_600_000_001_009,
            attributes=1,
        )
    ]
)


def lay(cluster: LocalCluster, topic: str, segment: bytes) -> None:
    """Put `segment` where the broker keeps the first segment of partition 0."""
    cluster.stop()
    [folder] = cluster.home.rglob(f"{topic}-0")
    for file in folder.iterdir():
        if file.suffix in {".index", ".timeindex", ".snapshot"} or "epoch" in file.name:
            file.unlink()
    (folder / "00000000000000000000.log").write_bytes(segment)
    for name in (
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        ".kafka_cleanshutdown",
    ):
        for file in cluster.home.rglob(name):
            file.unlink()
    cluster.start()
