"""The step that compares both stores, and sends a probe topic through them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.probe import Probing, probe
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.errors import StepLateError, StepRefusedError
from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.journal import KraftEvent
from towpath.kraft.standing.alarms import behind, quotas_left, states_not_made
from towpath.kraft.steps.elections import EQUAL, written
from towpath.kraft.steps.step import KraftStep
from towpath.model.errors import TowpathError

_NAMED = 3
"""Number of differences that a sentence names."""
_LOST = 10.0
"""Seconds for which a deleted quota may be in ZooKeeper, or a state may not be there: setting the
quota anew, which writes it, ends that; and a topic that is just made has no states at first."""
_LOG_LINES = 2_000
_FAULTS = "zk migration fault", "MigrationClientException", "Encountered ZooKeeper error"
"""What the log of a controller has where a write to ZooKeeper failed (`KRaftMigrationDriver`)."""


@dataclass(frozen=True, slots=True)
class Compare(KraftStep):
    """Wait until ZooKeeper and the metadata log are equal, and a probe topic passes through.

    Behind a rollback, when a broker decides again and there is no log, only the probe topic is
    created and deleted. What was proven is observed later as `Proven.probed`.
    """

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return "compare ZooKeeper with the metadata log, and create and delete a probe topic"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation with equal stores, all of the log written, and a passed probe."""
        del config
        since_ms = seen.proven.equal_since if seen.proven.equal_since is not None else seen.at
        proven = replace(seen.proven, probed=probed_epoch(seen), equal_since=since_ms)
        yield written(replace(seen, proven=proven, comparison=EQUAL if seen.log else None))

    def proof(self, seen: Observation) -> tuple[KraftEvent, Mapping[str, object]] | None:
        """Return the epoch in which the probe passed."""
        return KraftEvent.PROBED, {"epoch": probed_epoch(seen)}

    def do(self, tools: Tools) -> StepFacts:
        """Wait for equal stores while both are written, then send the probe.

        Raises:
            StepRefusedError: The leader will never write what differs; another one will.
            StepLateError: They were not equal in time, or the probe did not pass.
            ClusterError: The brokers refused the probe topic.
        """
        began, seen = time.monotonic(), tools.waits.now()
        if seen.log is not None and seen.log.state is LogState.MIGRATION:
            _await_equal(tools)
        equal, seconds = since(began), float(tools.config.limits.copy_)
        read, waits = tools.zookeeper.read, tools.waits
        cluster, journal = tools.config.cluster, tools.journal
        probing = Probing(cluster, read, journal, "copy", seconds, waits.tell, waits.stop)
        times = probe(probing)
        return {
            "equal_seconds": equal,
            "created_seconds": round(times.created, 3),
            "deleted_seconds": round(times.deleted, 3),
        }


def probed_epoch(seen: Observation) -> int | None:
    """Return the epoch in which a probe topic passes now; see `Proven.probed`."""
    if seen.quorum is not None:
        return seen.quorum.epoch
    if seen.zookeeper is not None and seen.zookeeper.controller_epoch is not None:
        return seen.zookeeper.controller_epoch[0]
    return None


def _await_equal(tools: Tools) -> None:
    """Wait until both stores are equal; one that comes too late has the leader's own errors.

    Raises:
        StepRefusedError: The leader will never write what differs; another one will.
        StepLateError: They were not equal in time.
    """
    began: float | None = None
    last: Observation | None = None

    def missing(seen: Observation) -> str | None:
        nonlocal began, last
        last, lost = seen, _lost(seen)
        began = None if lost is None else began if began is not None else time.monotonic()
        if lost is not None and began is not None and time.monotonic() - began > _LOST:
            raise StepRefusedError("Compare", lost.what)
        return _not_equal(seen)

    try:
        tools.waits.until("ZooKeeper and the metadata log are equal", "copy", missing)
    except StepLateError as late:
        found = late.found + _said_by_leader(tools, last)
        raise StepLateError(late.what, late.seconds, late.limit, found) from None


def _lost(seen: Observation) -> Finding | None:
    """Return what this leader will never write, and the next one will."""
    if quotas := quotas_left(seen):
        return Finding.of(FindingCode.QUOTAS_LEFT, quotas=quotas)
    if states := states_not_made(seen):
        return Finding.of(FindingCode.STATES_NOT_MADE, count=len(states), partitions=states)
    return None


def _said_by_leader(tools: Tools, seen: Observation | None) -> str:
    """Return the last line about a failed write to ZooKeeper in the log of the leader, for people.

    What cannot be read, or is not there, is left out: the log may be elsewhere.
    """
    quorum = seen.quorum if seen is not None else None
    if quorum is None or quorum.leader not in tools.drivers:
        return ""
    lines: list[str] = []
    with suppress(TowpathError):
        lines = tools.drivers[quorum.leader].log(_LOG_LINES).splitlines()
    said = [each for each in lines if any(word in each for word in _FAULTS)]
    return f"; the log of controller {quorum.leader} says: {said[-1].strip()}" if said else ""


def _not_equal(seen: Observation) -> str | None:
    if seen.comparison is None:
        return "ZooKeeper and the metadata log could not be compared"
    found = seen.comparison.differences
    if not found:
        late = behind(seen)
        return "they are, and the leading controller has written nothing since" if late else None
    named = "; ".join(
        f"{each.kind} {each.name}: ZooKeeper has {each.zookeeper or 'nothing'}, the log"
        f" {each.log or 'nothing'}"
        for each in found[:_NAMED]
    )
    return f"{len(found)} differences: {named}"
