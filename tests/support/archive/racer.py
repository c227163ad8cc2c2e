"""Processes that write one commit log at the same time, or are killed at any step of a commit.

`python -m tests.support.archive.racer race STORE SEED` archives and compacts at random until all
partitions are archived, once it gets a line; `... kill STORE` commits once in a child for each step
at which it can be killed, each below a prefix of its own. `STORE` is a pickled `StoreConfig`.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
from pathlib import Path

import urllib3

from tests.support.archive.archives import COMPACTOR, archiving, partition_id, segment
from tests.support.archive.steps import KillingSteps
from towpath.archive.log import commit_log
from towpath.archive.log.commit_log import CommitLog
from towpath.archive.log.entries import Draft, EntryKind
from towpath.archive.log.state import ArchiveState
from towpath.archive.model import Segment
from towpath.settings import StoreConfig
from towpath.store import Store

PARTITIONS = 3
END = 250
"""Where each partition ends."""
STEPS = 200
"""More steps than a commit has."""


def race(store: Store, rng: random.Random) -> None:
    """Archive until all is archived, and print how many segments others were faster with.

    All plan the first one before anybody writes: so one of them is faster for sure.
    """
    log = CommitLog.open_or_begin(store, "eu")
    draft = _plan(log.state, rng, least=1)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    dropped = len(log.append(draft).dropped)
    while any(_end(log.state, each) < END for each in range(PARTITIONS)):
        draft = _compaction(log.state, rng) if rng.random() < 0.2 else _plan(log.state, rng)
        dropped += len(log.append(draft).dropped)
    print(dropped)  # noqa: T201


def _plan(state: ArchiveState, rng: random.Random, least: int = 0) -> Draft:
    planned: list[Segment] = []
    for partition in range(PARTITIONS):
        at = _end(state, partition)
        for _ in range(rng.randint(least, 2)):
            end = min(END, at + rng.randint(1, 5))
            if at < end:
                planned.append(segment(at, end, partition, tag=f"#{rng.getrandbits(64):x}"))
            at = end
    return archiving(*planned)


def _compaction(state: ArchiveState, rng: random.Random) -> Draft:
    partition = rng.randrange(PARTITIONS)
    segments = state.segments(partition_id(partition))
    first = rng.randint(0, len(segments))
    run = segments[first : first + rng.randint(1, 4)]
    if not run:
        return archiving(writer=COMPACTOR)
    tag = f"#{rng.getrandbits(64):x}"
    made = segment(run[0].start, run[-1].end, partition, level=1, tag=tag)
    removed = tuple(each.id for each in run)
    return Draft(writer=COMPACTOR, kind=EntryKind.COMPACT, remove=removed, add=(made,))


def _end(state: ArchiveState, partition: int) -> int:
    place = state.partitions.get(partition_id(partition))
    return place.archived_to if place else 0


def kill(config: StoreConfig) -> None:
    """Commit in children that are killed at each step; print how each of them ended."""
    for step in range(1, STEPS):
        child = os.fork()
        if child == 0:
            _commit(at_step(config, step), step)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code)  # noqa: T201
        if code != -signal.SIGKILL:
            return


def at_step(config: StoreConfig, step: int) -> StoreConfig:
    """Return the config of the place where a child is killed at a step."""
    return config.model_copy(update={"url": f"{config.url}-{step}"})


def _commit(config: StoreConfig, step: int) -> None:
    """Commit [0, 10), then [10, 20) with a checkpoint behind it, of which a step is the last."""
    commit_log.CHECKPOINT_EACH = 2
    store = Store(config)
    log = CommitLog.open_or_begin(store, "eu")
    log.append(archiving(segment(0, 10)))
    steps = KillingSteps(step)
    steps.around(os, "fsync", "link", "unlink", "open")
    steps.around(urllib3.PoolManager, "urlopen")
    log.append(archiving(segment(10, 20)))
    log.settle()


def main() -> None:
    """Do what the arguments say."""
    kind, path, *seed = sys.argv[1:]
    config: StoreConfig = pickle.loads(Path(path).read_bytes())  # noqa: S301 - ours
    if kind == "kill":
        kill(config)
    else:
        race(Store(config), random.Random(seed[0]))


if __name__ == "__main__":
    main()
