"""Producers that write to the source without the gateway, where ids do not tell. Blocking.

A gateway that has taken over the source's addresses serves producers with ids of the source, and a
gateway of another link between the same clusters gives ids as this one does. Only what producers do
tells whether they come through this gateway: for a moment it notes the producers of all batches
that pass, and asks the source whose sequences grew meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from towpath.gateway.producer_eras import canonical
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.undo_errors import undone
from towpath.ledger.entries import GatewayTask
from towpath.ledger.link import OpenLink
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import ReasonCode

_BEFORE = 0.5
"""Seconds for what was on its way when the gateway began to note producers."""
_WATCH = 2.0
"""Seconds for which sequences are compared."""


def require_no_direct_writers(
    at: PromotionResources,
    link: OpenLink,
    places: Sequence[TopicPartition],
    is_asked: Callable[[int], bool],
) -> None:
    """Raise if a producer writes to the source without the gateways.

    Args:
        at: What to work with.
        link: The link that copies, from the source.
        places: The partitions that move.
        is_asked: Whether the id of a producer does not tell how it comes.

    Raises:
        ClusterError: The source does not answer.
        UndoneError: One does.
    """
    at.fleet.ask(GatewayTask.NOTE)
    at.stop.wait(_BEFORE)
    before = _sequences(link, places, is_asked)
    at.stop.wait(_WATCH)
    after = _sequences(link, places, is_asked)
    noted = {each for reply in at.fleet.ask(GatewayTask.NOTED) for each in reply.producers}
    for (tp, producer), sequence in after.items():
        if before.get((tp, producer)) != sequence and canonical(producer) not in noted:
            raise undone(ReasonCode.PROMOTE_DIRECT, partition=str(tp))


def _sequences(
    link: OpenLink, places: Sequence[TopicPartition], is_asked: Callable[[int], bool]
) -> dict[tuple[TopicPartition, int], tuple[int, int]]:
    """Return epoch and last sequence of each producer that is asked about."""
    return {
        (tp, each.id): (each.epoch, each.last_sequence)
        for tp, states in link.source.producers.states(places).items()
        for each in states
        if is_asked(each.id)
    }
