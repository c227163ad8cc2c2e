"""The reason by which another gateway forbids a promotion."""

from __future__ import annotations

from towpath.ledger.entries import GatewaySign
from towpath.model.reasons import Reason, ReasonCode


def of_gateway(each: GatewaySign, why: str) -> Reason:
    """Return the reason by which another gateway forbids it, whose clients would not be held."""
    return Reason.of(
        ReasonCode.PROMOTE_GATEWAYS, host=each.host, pid=each.pid, name=each.name, why=why
    )
