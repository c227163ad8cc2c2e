"""The leader of the controllers (DescribeQuorum); only the leader answers, so all are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest

from towpath.cluster.codes import NOT_LEADER_OR_FOLLOWER, refused
from towpath.cluster.connect.control import AGAIN, healable
from towpath.cluster.connect.retrying import retried
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import QuorumSeen
from towpath.kraft.metadata.controllers import SIDE, Controllers
from towpath.model.errors import ClusterError, UnreachableError
from towpath.runtime.deadline import Deadline

TOPIC = "__cluster_metadata"
"""The topic that is the metadata log; it has one partition."""
_WHAT = "asking for the quorum"
_FETCHED = 10_000
"""Milliseconds in which a voter that runs has fetched from its leader; it does so all the time."""
_PASS = 5.0
"""Seconds for asking all controllers once; one that does not answer must leave time for others."""


Doubt = Callable[[QuorumSeen, Deadline], str | None]


class _NoLeaderError(UnreachableError):
    """All controllers were asked and none leads a quorum; one may soon."""


def read_quorum(
    controllers: Controllers, deadline: Deadline, doubt: Doubt = lambda *_: None
) -> QuorumSeen:
    """Return the quorum from its leader; wait until a leader knows its high watermark.

    Args:
        controllers: Whom to ask.
        deadline: How long to wait.
        doubt: Says why an answer must not be believed; a leader that was frozen may not know yet
            that another one was elected.

    Raises:
        ClusterError: No controller leads, or none lets us ask.
    """
    return retried(lambda: _asked(controllers, deadline, doubt), deadline, AGAIN, _passes)


def _passes(error: BaseException) -> bool:
    return isinstance(error, _NoLeaderError)


def _asked(controllers: Controllers, deadline: Deadline, doubt: Doubt) -> QuorumSeen:
    nodes = sorted(controllers.nodes)
    whole = Deadline.after(min(deadline.left(), _PASS))
    failed: list[ClusterError] = []
    said: list[str] = []
    for place, node in enumerate(nodes):
        share = whole.share(len(nodes) - place)
        try:
            answer = controllers.ask(node, _request(), share, _WHAT)
            told = _read(answer)
            why = doubt(told, share)
            if why is None:
                return told
            failed.append(_NoLeaderError(SIDE, _WHAT, why, "wait until it has noticed"))
            said.append(f"{controllers.nodes[node]}: {why}")
        except ClusterError as error:
            failed.append(error)
            said.append(f"{controllers.nodes[node]}: {_why(error)}")
    raise _none(failed, said)


def _none(failed: Sequence[ClusterError], said: Sequence[str]) -> ClusterError:
    """Return the error where nobody leads; one that no election heals takes precedence."""
    hopeless = [error for error in failed if not healable(error)]
    if hopeless:
        return hopeless[0]
    return _NoLeaderError(
        SIDE,
        _WHAT,
        f"no controller leads the quorum ({'; '.join(said)})",
        "look whether more than half of the controllers run and reach each other",
    )


def _why(error: ClusterError) -> str:
    name = getattr(error, "name", None)
    return str(name or getattr(error, "why", error))


def _request() -> Any:
    topic = DescribeQuorumRequest.TopicData
    return DescribeQuorumRequest(
        topics=[topic(topic_name=TOPIC, partitions=[topic.PartitionData(partition_index=0)])]
    )


def _read(answer: Any) -> QuorumSeen:
    acl = "Describe on the cluster"
    if answer.error_code:
        raise refused(SIDE, _WHAT, answer.error_code, answer.error_message, acl)
    said = answer.topics[0].partitions[0]
    if said.error_code:
        raise refused(SIDE, _WHAT, said.error_code, said.error_message, acl)
    if said.leader_id < 0 or said.high_watermark < 0:
        # A leader that was just elected does not know yet what is committed.
        raise refused(SIDE, _WHAT, NOT_LEADER_OR_FOLLOWER)
    return QuorumSeen(
        leader=NodeId(said.leader_id),
        epoch=said.leader_epoch,
        high_watermark=said.high_watermark,
        voters=_ids(said.current_voters),
        observers=_ids(said.observers),
        ends=_ends(said.leader_id, said.current_voters),
    )


def _ends(leader: int, voters: Sequence[Any]) -> Mapping[NodeId, int]:
    """Return where the logs of voters end; times are those of the leader's clock (KIP-836)."""
    now = max((each.last_caught_up_timestamp for each in voters), default=-1)
    return {
        NodeId(each.replica_id): each.log_end_offset
        for each in voters
        if each.replica_id == leader or each.last_fetch_timestamp >= now - _FETCHED
    }


def _ids(replicas: Sequence[Any]) -> tuple[NodeId, ...]:
    return tuple(sorted(NodeId(each.replica_id) for each in replicas))
