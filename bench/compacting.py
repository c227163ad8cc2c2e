"""`bench/compact`: what a compaction costs that copies row groups, in a folder and in S3.

One task of a compaction, in this process: segments of a partition are read from the store, checked
by their hashes, and written as one object. The S3 store (versitygw) is on this machine, and is
asked by http and by https.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.clusters.certificates import Vault
from tests.support.objects.buckets import Buckets
from tests.support.objects.buckets import fetch as fetch_buckets

from bench.functions import number_batches
from bench.meter import GIB, cpu
from bench.one_core import MB, Fetched, Figures, arguments, egress, fetched, run
from bench.report import table
from towpath.archive.model import Segment, SegmentPlace
from towpath.archive.upkeep.slice.compact_slice import compact
from towpath.archive.upkeep.slice.compact_work import CompactSlice
from towpath.archive.upkeep.slice.merge_plan import PlannedMerge
from towpath.model.nouns import SegmentFormat
from towpath.settings import StoreConfig, Tls
from towpath.store import Store

WANTED = 500
"""MB/s of packed bytes per core."""
_SEGMENT = 100 << 20
_REPEAT = 3
_KIND = SegmentFormat.PARQUET


def segments(data: Fetched, config: StoreConfig, count: int) -> tuple[Segment, ...]:
    """Write records several times, as segments that follow each other."""
    made = []
    with Store(config) as store:
        for number in range(count):
            start, key = number * data.records, f"bench/{number}.parquet"
            number_batches(data.buffer, start)
            with store.writer(key) as out:
                footer = egress(data, _KIND, out, start)
                found = out.close()
            place = SegmentPlace(
                key=key, size=found.size, row_groups=len(footer.parts), crc=found.crc
            )
            made.append(footer.segment(_KIND, place))
    return tuple(made)


def merged(config: StoreConfig, given: tuple[Segment, ...]) -> float:
    """Merge segments into one; return the bytes of its object, nearly all of which were copied."""
    wanted = PlannedMerge(
        segments=given, bytes=sum(each.place.size for each in given if each.place)
    )
    work = CompactSlice(
        store=config, region="bench", format=_KIND, bundles=((wanted,),), rows=10_000
    )
    (found,) = compact(work)
    if found.made is None or found.made.place is None:
        raise RuntimeError(f"the merge failed: {found.trouble}")
    return found.made.place.size


def measured(name: str, size: int) -> Figures:
    """Return the figures of one data set."""
    data = fetched(name, _SEGMENT)
    figures: Figures = {"about": data.about, "ways": {}}
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder:
        home = Path(folder)
        files = StoreConfig.model_validate({"url": (home / "files").as_uri()})
        figures["ways"]["a folder"] = _way(data, files, 0, size)
        for vault in (None, Vault.make(home)):
            figures["ways"]["S3, https" if vault else "S3, http"] = _in_s3(data, home, vault, size)
    return figures


def _in_s3(data: Fetched, home: Path, vault: Vault | None, size: int) -> Figures:
    """Return the figures of a store in S3, by https if there are certificates."""
    program = fetch_buckets()
    if program is None:
        raise RuntimeError("S3 is measured with versitygw, which is built with Go: there is no Go")
    buckets = Buckets(program, home / ("https" if vault else "http"), vault)
    tls = Tls.model_validate({"ca": str(vault.ca)}) if vault else None
    try:
        return _way(data, buckets.new(tls=tls), buckets.pid, size)
    finally:
        buckets.stop()


def _way(data: Fetched, config: StoreConfig, pid: int, size: int) -> Figures:
    """Return packed MB per CPU second of this process, the best of some, and what it took."""
    given = segments(data, config, max(2, size // _SEGMENT))
    best: Figures = {}
    for _ in range(_REPEAT):
        own, theirs, began = time.process_time(), cpu(pid) if pid else 0.0, time.monotonic()
        packed = merged(config, given)
        spent = max(time.process_time() - own, 1e-9)
        found = {
            "packed_mb_per_cpu_s": round(packed / MB / spent),
            "raw_mb_per_cpu_s": round(data.size * len(given) / MB / spent),
            "cpu_per_packed_gib": round(spent / packed * GIB, 2),
            "store_per_packed_gib": round(((cpu(pid) if pid else 0.0) - theirs) / packed * GIB, 2),
            "packed_mb_per_s": round(packed / MB / (time.monotonic() - began)),
        }
        if not best or found["packed_mb_per_cpu_s"] > best["packed_mb_per_cpu_s"]:
            best = found
    return best


def main() -> int:
    """Measure, and write the page and the figures."""
    return run(arguments(__doc__, 500).parse_args(), "compact", measured, _page)


_ROWS = {
    "packed_mb_per_cpu_s": f"packed MB per CPU s (wanted {WANTED})",
    "raw_mb_per_cpu_s": "uncompressed MB per CPU s",
    "cpu_per_packed_gib": "CPU s per packed GiB",
    "store_per_packed_gib": "CPU s of the store per packed GiB",
    "packed_mb_per_s": "packed MB/s",
}


def _page(sets: dict[str, Figures]) -> Iterator[str]:
    yield "# Compaction by copying row groups"
    for name, each in sets.items():
        yield from ("", f"## {name}: {each['about']}", "")
        rows = [(text, *(way[row] for way in each["ways"].values())) for row, text in _ROWS.items()]
        yield from table(("figure", *each["ways"]), rows)
    yield from ("", *_METHOD)


_METHOD = (
    "One task of a compaction, as a worker does it, in one process, the best of three. Segments of"
    " 100 MiB are read from the store, compared with the hashes of their row groups, and written as"
    " one new object. CPU is that of this process; the store, if there is one, is versitygw on the"
    " same machine, with connections that are kept. By http the bodies of requests are signed, by"
    " https they are encrypted instead.",
)


if __name__ == "__main__":
    sys.exit(main())
