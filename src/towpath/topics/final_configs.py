"""Configs that a link held back from mirror topics are set once clients use these. Blocking.

A link lets the target delete and compact nothing until a mirror topic has caught up. No run does
anything about a topic that was promoted or failed over, so what is still held back then would stay
so for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towpath.cluster.metadata import non_default
from towpath.ledger.link import OpenLink
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.topics.owned import ours_of

_DEFAULT = "the default"


def set_final(link: OpenLink, topics: Iterable[TopicName]) -> dict[TopicName, Reason]:
    """Set the configs that a link still holds back from topics; return where that failed, and why.

    Args:
        link: The link that copied them, with its books read.
        topics: The mirror topics.

    Raises:
        ClusterError: The target does not answer.
    """
    target = link.target
    found = target.topics.describe(topics)
    ours = ours_of(link.books, {name: info.id for name, info in found.items() if not info.error})
    held = [name for name in found if ours.held.get(name)]
    if not held:
        return {}
    there = target.configs.describe(held)
    waiting = {name: ours.waiting(name, non_default(each)) for name, each in there.items()}
    changes = {name: configs for name, configs in waiting.items() if configs}
    made = target.configs.change_all(changes).failed if changes else {}
    return _left(ours.held, {**there.failed, **made})


def _left(
    changes: Mapping[TopicName, Mapping[str, str | None]], failed: Mapping[TopicName, object]
) -> dict[TopicName, Reason]:
    """Return the topics that keep what was held back, each with the reason."""
    found = {}
    for topic, why in failed.items():
        wanted = ", ".join(f"{key}={value or _DEFAULT}" for key, value in changes[topic].items())
        found[topic] = Reason.of(
            ReasonCode.PROMOTE_CONFIGS, topic=str(topic), configs=wanted, why=str(why)
        )
    return found
