"""The look at the target of a promotion, whether it takes the logins of clients. Blocking."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.cluster.connect.connection import offered_mechanisms
from towpath.gateway.client_logins import ClientLogin
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.gateway.promotion.reasons.logins import of_logins
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side
from towpath.model.scram import Credential
from towpath.runtime.deadline import Deadline


def check_logins(link: OpenLink, scope: PromotionScope, seen: Sequence[ClientLogin]) -> None:
    """Add to a scope which logins of clients the target would not accept, and who they are.

    Args:
        link: The link that copies to the cluster where clients shall go on.
        scope: What moves.
        seen: The logins of clients of this gateway.

    Raises:
        ClusterError: The target does not answer.
    """
    config = link.config.target
    if not seen or config.sasl is None:
        return
    (first, *_) = link.target.cluster.brokers()
    deadline = Deadline.after(config.request_timeout)
    offered = offered_mechanisms(config, str(Side.TARGET), (first.host, first.port), deadline)
    known: frozenset[Credential] | None = None
    try:
        known = frozenset(link.target.users.describe())
    except ClusterError as error:
        why = f"whether the target has a credential of each user is unknown: {error}"
        scope.told.append(why)
    scope.forbidden += of_logins(seen, offered, known)
    scope.told.append(_names(seen))


def _names(seen: Sequence[ClientLogin]) -> str:
    who = ", ".join(
        f"{'delegation token ' if each.token else ''}{each.name or 'without a name'}"
        f" ({each.mechanism})"
        for each in seen
    )
    return f"{counted(len(seen), 'login')} of clients came through this gateway: {who}"
