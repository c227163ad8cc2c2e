"""Archives a source without Spark in children, each of which kills itself at some step.

`python -m tests.support.archive.egress_victim FILE SEED KILLS` archives small ranges of all
partitions of the archive in a file, and commits them. Each child ends itself with SIGKILL at a
random call that writes to the store, or between the steps of egress and commit, until so many were
killed. The last one archives all that is left. Several may work on one archive. It prints how many
were killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import traceback
from pathlib import Path

import urllib3

from tests.support.archive.steps import KillingSteps
from towpath import __version__
from towpath.archive.config import ArchiveConfig, load_archive
from towpath.archive.format.uploads import Uploads
from towpath.archive.log import ArchiveState, CommitLog, Draft, LogWriter
from towpath.archive.model import PartitionId, Segment
from towpath.archive.write.slice.archive_slice import archive
from towpath.archive.write.slice.archive_work import EgressSlice
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.archive.write.slice.range_writing import RangeWriting
from towpath.archive.write.source_look import SourceLook, SourceLooks
from towpath.cluster.admin import Admin
from towpath.model.nouns import Side, SourceOffset, TopicName
from towpath.store import Store

MOST_STEPS = 70
"""About as many as a range that is archived and committed has."""
_RANGES, _OFFSETS = 3, 12


def main() -> None:
    """Do what the arguments say."""
    config, rng, kills = (
        load_archive(Path(sys.argv[1])),
        random.Random(sys.argv[2]),
        int(sys.argv[3]),
    )
    killed = 0
    while killed < kills:
        step = rng.randint(1, MOST_STEPS)
        if _child(config, rng.getrandbits(32), step) != -signal.SIGKILL:
            break
        killed += 1
    code = _child(config, rng.getrandbits(32), 0)
    print(killed, flush=True)  # noqa: T201
    sys.exit(code)


def _child(config: ArchiveConfig, seed: int, step: int) -> int:
    """Archive in a child; return how it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _archive(config, random.Random(seed), step)
            code = 0
        except BaseException:  # noqa: BLE001  # it is told, and the test fails
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _archive(config: ArchiveConfig, rng: random.Random, step: int) -> None:
    """Archive until nothing is left, or until the step at which this process is killed."""
    with Admin(config.source, Side.SOURCE) as source, Store(config.store) as store:
        look = SourceLooks(source, config.topics).look()
        log = CommitLog.open_or_begin(store, config.region)
        _count_steps(step)
        while ranges := _ranges(look, log.state, rng):
            results = archive(_slice(config, ranges))
            segments = [each for result in results for each in result.segments]
            log.append(Draft(writer=_writer(), add=tuple(_following(look, log.state, segments))))


def _ranges(look: SourceLook, state: ArchiveState, rng: random.Random) -> list[PlannedRange]:
    found = list[PlannedRange]()
    for each, ends in look.ends.items():
        known = state.partitions.get(each)
        at = known.archived_to if known else ends.log_start
        shares = rng.random() < 0.5
        for _ in range(rng.randint(1, _RANGES)):
            end = min(ends.stable_end, at + rng.randint(1, _OFFSETS))
            if at < end:
                topic = look.topics[each.topic_id].name
                found.append(_range(each, topic, at, SourceOffset(end), shares))
            at = SourceOffset(end)
    return found


def _range(
    partition: PartitionId, topic: TopicName, start: SourceOffset, end: SourceOffset, shares: bool
) -> PlannedRange:
    return PlannedRange(id=partition, topic=topic, start=start, end=end, bytes=1, shares=shares)


def _following(look: SourceLook, state: ArchiveState, segments: list[Segment]) -> list[Segment]:
    """Return the segments that follow what is archived, as a run commits them."""
    ends = {each: ends.log_start for each, ends in look.ends.items()}
    ends |= {each: known.archived_to for each, known in state.partitions.items()}
    found = list[Segment]()
    for each in sorted(segments, key=lambda segment: (segment.partition_id, segment.start)):
        if ends[each.partition_id] == each.start:
            found.append(each)
            ends[each.partition_id] = each.end
    return found


def _slice(config: ArchiveConfig, ranges: list[PlannedRange]) -> EgressSlice:
    return EgressSlice(
        source=config.source,
        store=config.store,
        region=config.region,
        format=config.format,
        ranges=tuple(ranges),
        limits={each.topic: config.segments.of(each.topic) for each in ranges},
    )


def _writer() -> LogWriter:
    owner = f"victim-{os.getpid()}"
    return LogWriter(owner=owner, host="here", work="run", epoch=1, towpath=__version__)


def _count_steps(step: int) -> None:
    """Let this process be killed before or behind the calls that matter."""
    steps = KillingSteps(step)
    steps.around(os, "fsync", "link", "unlink")
    steps.around(urllib3.PoolManager, "urlopen")
    steps.around(RangeWriting, "write", "finish")
    steps.around(Uploads, "put")
    steps.around(CommitLog, "append")


if __name__ == "__main__":
    main()
