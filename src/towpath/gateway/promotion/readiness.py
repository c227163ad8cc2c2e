"""Whether all topics of a link could be promoted now, without a request. Blocking, read-only."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from towpath.gateway.promotion.automatic_promotion import Readiness
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.gateway.promotion.target_members import of_strangers
from towpath.gateway.promotion.undo_errors import missed
from towpath.ledger.alive import this_host
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.model.nouns import LinkName, ProducerId, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms

Sequences: TypeAlias = Mapping[tuple[TopicPartition, ProducerId], tuple[int, int]]
"""Epoch and last sequence of producers that do not come through a gateway, by partition."""

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


def readiness_of(
    at: PromotionResources, scope: PromotionScope, before: Sequences | None
) -> Readiness:
    """Return what forbids a promotion now: by the scope, by gateways, by members elsewhere.

    Args:
        at: What to work with.
        scope: What would move.
        before: What the scope told of producers at the last look, `None` if this is the first one.

    Raises:
        TowpathError: A cluster does not answer, or the ledger cannot be read or written.
    """
    reasons = [*scope.forbidden]
    if before is not None:
        direct = writers_since(before, scope.sequences)
        reasons += [each for each in direct if each not in reasons]
    found = at.link.source.groups.members(scope.groups.values())
    reasons += [error.reason for error in found.failed.values()]
    members = {group.name: [each.id for each in part] for group, part in found.items()}
    away = at.fleet.unseen(members)
    if away:
        reasons.append(missed(ReasonCode.PROMOTE_MEMBERS_DIRECT, away).why)
    reasons += of_strangers(at.fleet, at.link, scope.groups)
    return Readiness(reasons, any(members.values()) or any(scope.producers.values()))


def writers_since(before: Sequences, now: Sequences) -> Iterator[Reason]:
    """Yield a reason for each partition to which somebody wrote without a gateway between looks.

    The time of a producer's last batch is that of its own clock, so what the clock of a gateway
    says of it may be wrong. Sequences grow whatever clocks say. Pure.
    """
    for tp in sorted({tp for (tp, each), last in now.items() if before.get((tp, each)) != last}):
        yield Reason.of(ReasonCode.PROMOTE_DIRECT, partition=str(tp))
