"""The reasons by which clients could not log in at the target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from towpath.gateway.client_logins import ClientLogin
from towpath.model.nouns import Side
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.scram import Credential, Mechanism
from towpath.settings import LinkConfig

_SCRAM = frozenset(map(str, Mechanism))


def of_settings(config: LinkConfig) -> Iterator[Reason]:
    """Yield the reasons by which clients of these two clusters cannot move."""
    sides = (Side.SOURCE, config.source), (Side.TARGET, config.target)
    asking = [side for side, cluster in sides if cluster.sasl is not None]
    if len(asking) == 1:
        why = f"it asks for one (`{asking[0]}.sasl`), and the other cluster for none"
        yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=str(asking[0]), why=why)
    for side, cluster in sides:
        if cluster.tls is not None and cluster.tls.cert is not None:
            yield Reason.of(ReasonCode.PROMOTE_CERTIFICATE, side=str(side))


def of_logins(
    seen: Iterable[ClientLogin],
    offered: Set[str],
    known: Set[Credential] | None,
) -> Iterator[Reason]:
    """Yield a reason for each login of clients that the target would not accept.

    Args:
        seen: The logins of clients, which the cluster that they leave accepted.
        offered: The SASL mechanisms of the target.
        known: The SCRAM credentials of the target, `None` if it does not tell them.
    """
    side, logins = str(Side.TARGET), sorted(seen)
    for name in sorted({each.mechanism for each in logins} - offered):
        why = f"clients log in by {name}, and it offers {', '.join(sorted(offered)) or 'nothing'}"
        yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=side, why=why)
    for each in logins:
        if each.token:
            why = (
                f"it does not know delegation token {each.name}, by which clients of this gateway"
                " log in: a token is of one cluster; restart them with a login that both have"
            )
            yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=side, why=why)
    if known is None:
        return
    for each in logins:
        if each.mechanism in _SCRAM and each.name and not each.token:
            credential = Credential(each.name, Mechanism(each.mechanism))
            if credential not in known:
                why = f"it has no credential of {credential}, whose clients use this gateway"
                yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=side, why=why)
