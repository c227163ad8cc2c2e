"""Whether all topics of a link could be promoted now, without a request. Blocking, read-only."""

from __future__ import annotations

import uuid

from towpath.gateway.promotion.automatic_promotion import Readiness
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.gateway.promotion.undo_errors import missed
from towpath.ledger.alive import this_host
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.model.nouns import LinkName
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import now_ms

AUTOMATIC = "gateway.promote"
"""Who asked for a promotion that a gateway begins by itself: the key of the file."""


def automatic_request(link: LinkName) -> Promotion:
    """Return a request of the gateway's own to promote all topics of a link."""
    return Promotion(
        link=link,
        name=uuid.uuid4().hex[:16],
        state=PromotionStage.ASKED.value,
        topics=(),
        dry_run=False,
        user=AUTOMATIC,
        host=this_host(),
        at=now_ms(),
    )


def readiness_of(at: PromotionResources, scope: PromotionScope) -> Readiness:
    """Return what forbids a promotion now: by the scope, by gateways, by members elsewhere.

    Raises:
        ClusterError: The source does not answer.
    """
    reasons = [*scope.forbidden]
    found = at.link.source.groups.members(scope.groups.values())
    reasons += [error.reason for error in found.failed.values()]
    members = {group.name: [each.id for each in part] for group, part in found.items()}
    away = at.fleet.unseen(members)
    if away:
        reasons.append(missed(ReasonCode.PROMOTE_MEMBERS_DIRECT, away).why)
    return Readiness(reasons, any(members.values()) or any(scope.producers.values()))
