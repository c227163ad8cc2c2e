"""`bench/compact`: what a compaction costs that copies row groups, in a folder and in S3.

One task of a compaction, in this process: segments of a partition are read from the store, checked
by their hashes, and written as one object. The S3 store (versitygw) is on this machine.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.buckets import Buckets
from tests.support.buckets import fetch as fetch_buckets

from bench.meter import GIB, cpu
from bench.one_core import MB, Fetched, Figures, arguments, fetched, held, run
from bench.report import table
from towpath.config import StoreConfig
from towpath.model.nouns import SegmentFormat
from towpath.segments.compact.plan import PlannedMerge
from towpath.segments.compact.slice import compact
from towpath.segments.compact.work import CompactSlice
from towpath.segments.model import Segment, SegmentPlace
from towpath.store import Store

WANTED = 500
"""MB/s of packed bytes per core."""
_SEGMENT = 100 << 20
_REPEAT = 3
_KIND = SegmentFormat.PARQUET


def segments(data: Fetched, config: StoreConfig, count: int) -> tuple[Segment, ...]:
    """Write an object several times, as segments that follow each other."""
    raw, footer = held(data, _KIND)
    made = []
    with Store(config) as store:
        for number in range(count):
            key = f"bench/{number}.parquet"
            with store.writer(key) as out:
                out.write(raw)
                out.close()
            place = SegmentPlace(key=key, size=len(raw), row_groups=len(footer.parts))
            made.append(footer.segment(_KIND, place))
    return tuple(made)


def merged(config: StoreConfig, given: Segment) -> float:
    """Merge one segment into an object of its own; return the bytes that were copied."""
    assert given.place is not None  # noqa: S101  # by `segments`
    wanted = PlannedMerge(segments=(given,), bytes=given.place.size)
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
        program = fetch_buckets()
        buckets = Buckets(program, home / "s3") if program else None
        try:
            files = StoreConfig.model_validate({"url": (home / "files").as_uri()})
            figures["ways"]["a folder"] = _way(data, files, 0, size)
            if buckets is not None:
                figures["ways"]["S3"] = _way(data, buckets.new(), buckets.pid, size)
        finally:
            if buckets is not None:
                buckets.stop()
    return figures


def _way(data: Fetched, config: StoreConfig, pid: int, size: int) -> Figures:
    """Return packed MB per CPU second of this process, the best of some, and what it took."""
    given = segments(data, config, max(1, size // _SEGMENT))
    best: Figures = {}
    for _ in range(_REPEAT):
        own, theirs, began = time.process_time(), cpu(pid) if pid else 0.0, time.monotonic()
        packed = sum(merged(config, each) for each in given)
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
    return run(arguments(__doc__).parse_args(), "compact", measured, _page)


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
    " new objects. CPU is that of this process; the store, if there is one, is versitygw on the"
    " same machine.",
)


if __name__ == "__main__":
    sys.exit(main())
