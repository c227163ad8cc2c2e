"""Transactional ids as their coordinators describe them (KIP-664)."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.protocol.admin import DescribeTransactionsRequest

from towpath.cluster.codes import NOT_COORDINATOR, refused
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import DescribedTransaction
from towpath.model.nouns import ProducerId
from towpath.runtime.deadline import Deadline

_UNKNOWN = 105
"""Kafka's code TRANSACTIONAL_ID_NOT_FOUND."""
_AT_ONCE = 1000


def describe_transactions(
    control: Control, names: Sequence[str], deadline: Deadline
) -> dict[str, DescribedTransaction]:
    """Ask every broker, because each describes only the ids that it coordinates.

    Raises:
        ClusterError: A broker does not answer, or refuses one of the ids.
    """
    found: dict[str, DescribedTransaction] = {}
    what = "describing transactional ids"
    for broker in control.metadata(deadline).brokers.values():
        for at in range(0, len(names), _AT_ONCE):
            request = DescribeTransactionsRequest(transactional_ids=[*names[at : at + _AT_ONCE]])
            answer = control.ask(broker, request, deadline, what, newest=0)
            for each in answer.transaction_states:
                if each.error_code in {NOT_COORDINATOR, _UNKNOWN}:
                    continue
                if each.error_code:
                    acl = f"Describe on transactional id {each.transactional_id}"
                    raise refused(control.side, what, each.error_code, acl=acl)
                found[each.transactional_id] = DescribedTransaction(
                    each.transactional_id,
                    each.transaction_state,
                    each.transaction_timeout_ms,
                    ProducerId(each.producer_id),
                    each.producer_epoch,
                )
    return found
