"""Transaction markers that a client writes itself (WriteTxnMarkers, KIP-98).

A marker takes one offset, and no consumer of either isolation level sees it. Brokers take it for
any producer id, with no transaction open, from a login with Alter or ClusterAction on the cluster
(Kafka's `KafkaApis.handleWriteTxnMarkersRequest`). A leader refuses a marker whose producer epoch
or whose coordinator epoch is lower than that of the last batch of this id
(`ProducerAppendInfo.appendEndTxnMarker`); what it remembers, DescribeProducers tells.

Version 2 of the request (KIP-1228) tells the transaction version of a marker. Ours is 0, by which
every broker judges a marker as before: the epoch may be equal. With 2, a broker takes a marker only
with a higher epoch than the last, of which there are 32767.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.producer import WriteTxnMarkersRequest

from towpath.cluster.admin.leaders import KnownLeaders, Question, ask_leaders
from towpath.cluster.codes import CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import LEDGER, ProducerId, TopicName, TopicPartition

API = 27
_ACL = "Alter (or ClusterAction)"
BYTES = 78
"""Size of a marker in the log: header 61, record 17."""
_NOWHERE = TopicPartition(LEDGER, 2**31 - 1)
"""A partition that no topic has. Brokers check the login's rights before they look for it."""


@dataclass(frozen=True, slots=True)
class Marker:
    """An abort marker: its producer id, and the epochs that the leader checks."""

    producer_id: ProducerId
    epoch: int
    coordinator_epoch: int


MarkersOf = Mapping[TopicPartition, Sequence[Marker]]
"""Markers for some partitions, those of a partition in the order in which they are written."""


def write_markers(
    control: Control, markers: MarkersOf, patience: float, leaders: KnownLeaders | None = None
) -> Answers[TopicPartition, None]:
    """Ask each leader once to write transaction markers for its partitions.

    A partition in `failed` may have got all of its markers, some, or none. Kafka tells one error
    for all markers of a producer id and a partition, that of the last one as a rule.

    Args:
        control: The target.
        markers: What to write.
        patience: Seconds for all leaders together.
        leaders: Those known from the last time.

    Raises:
        ClusterError: The leaders could not be looked up.
    """
    wanted = [tp for tp in markers if markers[tp]]
    return ask_leaders(control, _question(markers), wanted, patience, leaders)


def refusal(control: Control) -> RefusedError | None:
    """Return why the target refuses markers from this login, `None` if it accepts them.

    The request names a partition that does not exist, so nothing is written.

    Raises:
        ClusterError: No broker can be asked.
    """
    question = _question({_NOWHERE: (Marker(ProducerId(1 << 40), 0, 0),)})
    request = question.request([_NOWHERE])
    try:
        answer = control.retried(
            lambda deadline: control.ask_any(request, deadline, "asking to write markers")
        )
    except RefusedError as error:
        if refuses(error):
            return error
        raise
    errors = {number for _, number, _ in question.read(answer)}
    if CLUSTER_AUTHORIZATION_FAILED in errors:
        return question.refused(control.side, _NOWHERE, CLUSTER_AUTHORIZATION_FAILED)
    return None


def refuses(error: ClusterError) -> bool:
    """Return whether an error means that the target refuses markers from this login."""
    return isinstance(error, RefusedError) and error.error in {
        CLUSTER_AUTHORIZATION_FAILED,
        UNSUPPORTED_VERSION,
    }


def _question(markers: MarkersOf) -> Question[None]:
    return Question(
        "writing markers to",
        lambda tps: _request({tp: markers[tp] for tp in tps}),
        _results,
        _ACL,
        of_cluster=True,
    )


def _request(markers: MarkersOf) -> Any:
    kind = WriteTxnMarkersRequest.WritableTxnMarker
    topic = kind.WritableTxnMarkerTopic
    written = []
    for tp, some in markers.items():
        place = [topic(name=tp.topic, partition_indexes=[tp.partition])]
        # Equal markers share one object.
        made = {
            each: kind(
                producer_id=each.producer_id,
                producer_epoch=each.epoch,
                transaction_result=False,
                topics=place,
                coordinator_epoch=each.coordinator_epoch,
                transaction_version=0,
            )
            for each in set(some)
        }
        written += [made[each] for each in some]
    return WriteTxnMarkersRequest(markers=written)


def _results(answer: Any) -> Iterator[tuple[TopicPartition, int, None]]:
    for marker in answer.markers:
        for topic in marker.topics:
            for said in topic.partitions:
                tp = TopicPartition(TopicName(topic.name), said.partition_index)
                yield tp, said.error_code, None
