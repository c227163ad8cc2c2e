"""The rights that a promotion needs of the link's login, before anybody is held. Blocking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from towpath.cluster.admin.rights import Right
from towpath.cluster.codes import TOPIC_AUTHORIZATION_FAILED, refused
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.ledger.link import OpenLink
from towpath.model.errors import RefusedError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import Side, TopicName
from towpath.model.reasons import Reason

_ON_MIRROR = (Right.READ, Right.WRITE)
"""To copy the last records, and to write offsets of groups in the topic."""
_WRITING = "writing the last records and the groups' offsets"


def lacking_rights(
    gateway: OpenLink,
    link: OpenLink,
    topics: Iterable[TopicName],
    groups: Iterable[ClientGroup],
) -> Iterator[Reason]:
    """Yield the rights that are missing where clients shall go on, each with its ACL.

    Without them a promotion would be undone only after members and producers were held.

    Args:
        gateway: The link of the gateway, on whose target the gateway decides.
        link: The link that copies: clients go on at its target.
        topics: The mirror topics that move.
        groups: The groups that move.

    Raises:
        ClusterError: A cluster does not answer.
    """
    target = link.target
    needed = dict.fromkeys(topics, _ON_MIRROR)
    for topic, missing in sorted(target.topics.lacking(needed).items()):
        acl = f"{' and '.join(each.kafka_name for each in missing)} on topic {topic}"
        yield refused(Side.TARGET, _WRITING, TOPIC_AUTHORIZATION_FAILED, acl=acl).reason
    for _, error in sorted(target.groups.unwritable(groups).items()):
        yield error.reason
    try:
        gateway.target.producers.described_transactions([f"towpath.{gateway.name}.:gateway"])
    except RefusedError as error:
        if not error.forbidden:
            raise
        yield error.reason


def hidden_groups(link: OpenLink, seen: Set[str], scope: PromotionScope) -> Iterator[Reason]:
    """Yield the groups whose members came through a gateway, and that the source does not show.

    They would stay behind, and begin anew on the target, as nobody knows their offsets.

    Args:
        link: The link that copies: clients leave its source.
        seen: The groups whose members came through the gateway.
        scope: What moves, and which groups the source shows.

    Raises:
        ClusterError: The source does not answer.
    """
    shown = scope.others | {group.name for group in scope.groups}
    for _, error in sorted(link.source.groups.hidden(seen - shown).items()):
        yield error.reason
