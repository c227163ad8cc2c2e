"""Controllers with lost disks: which others hold the log and may lead. Pure.

A voter that has forgotten its log gives its vote to whoever asks first. Where others lack what it
had confirmed, one of them could be elected by that, and committed records would be gone. So a
controller is formatted anew, or started with an empty log, only while a majority without it holds
all that is committed: nobody of these votes for a log that is behind its own (KIP-595).
"""

from __future__ import annotations

from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import NodeSeen, Observation
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.standing.alarms import anchor, reaches, without_log


def unformatted(seen: Observation) -> tuple[NodeId, ...]:
    """Return the controllers with unformatted folders; after the copy their disks are lost."""
    return tuple(sorted(each.id for each in seen.controllers.values() if not each.meta))


def majority(seen: Observation) -> int:
    """Return the number of controllers that can elect a leader."""
    return len(seen.controllers) // 2 + 1


def lost_for_all(seen: Observation) -> tuple[NodeId, ...]:
    """Return the controllers without a log, if the remaining ones cannot elect a leader."""
    gone = {*unformatted(seen), *without_log(seen)}
    left = len(seen.controllers) - len(gone)
    return tuple(sorted(gone)) if left < majority(seen) else ()


def holders(seen: Observation, besides: NodeId) -> tuple[NodeId, ...]:
    """Return the other controllers that hold all committed records, as the leader reports."""
    if seen.quorum is None:
        return ()
    others = (each for each in seen.controllers.values() if each.id != besides)
    return tuple(sorted(each.id for each in others if _holds(seen, each)))


def _holds(seen: Observation, node: NodeSeen) -> bool:
    quorum = seen.quorum
    if quorum is None or not node.running or not node.meta:
        return False
    # The leader may remember the end of a log that was lost since.
    led = node.epochs is None or any(epoch == quorum.epoch for epoch, _first in node.epochs)
    return led and quorum.ends.get(node.id, -1) >= quorum.high_watermark


def unproven(seen: Observation, node: NodeId) -> Finding | None:
    """Return why a controller may not start with an empty log, `None` if it may."""
    found, wanted = holders(seen, node), majority(seen)
    if len(found) >= wanted:
        return None
    holding = found or ("none",)
    return Finding.of(FindingCode.LOG_UNPROVEN, controller=node, holding=holding, wanted=wanted)


def catching_up(seen: Observation) -> tuple[NodeId, ...]:
    """Return the running, led controllers whose log has not reached `/migration`'s offset."""
    znode = anchor(seen)
    if znode is None or znode.offset < 0 or seen.quorum is None:
        return ()
    return tuple(
        sorted(
            each.id
            for each in seen.controllers.values()
            if each.running
            and each.meta
            and each.epochs is not None
            and each.id != seen.quorum.leader
            and not reaches(each.epochs, znode)
            and seen.quorum.ends.get(each.id, -1) < seen.quorum.high_watermark
        )
    )
