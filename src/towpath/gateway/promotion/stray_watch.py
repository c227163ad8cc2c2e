"""A watch for records that come to the cluster that a topic has left. Blocking."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry
from towpath.gateway.promotion.link_back import link_back
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.ledger.entries import PromotedTopic
from towpath.model.amounts import span
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

_EVERY = 10.0
"""Seconds after which clusters are looked at again."""
_AGAIN = 1.0
_KEEPING = "cleanup.policy", "retention.ms", "retention.bytes"


class StrayWatch:
    """Names records that clients wrote to the cluster that a topic has left, once.

    Args:
        at: The link and the ledger.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at = at
        self._told: dict[tuple[Side, TopicPartition], int] = {}
        self.looked = -_EVERY

    def look(self, *, source_away: bool) -> list[Reason]:
        """Return the new records at the cluster that topics have left, if it is time to look.

        Args:
            source_away: Whether the source cannot be asked.

        Raises:
            TowpathError: A cluster does not answer.
        """
        if time.monotonic() - self.looked < _EVERY:
            return []
        self.looked = time.monotonic()
        found, link = list[Reason](), self._at.link
        link.read()
        for side in (Side.TARGET,) if source_away else (Side.SOURCE, Side.TARGET):
            ends = {
                TopicPartition(name, each.partition): each.end
                for name, (record, topic) in self._at.book.last_moves().items()
                if record.back is (side is Side.TARGET) and not self._is_copied_to(side, topic)
                for each in topic.partitions
            }
            if ends:
                found += self._strayed(ends, side)
        return found

    def _is_copied_to(self, side: Side, topic: PromotedTopic) -> bool:
        """Whether a link copies the topic to the cluster that it has left."""
        link, name = self._at.link, TopicName(topic.topic)
        if side is Side.SOURCE:
            return link_back(link, (name,)) is not None
        return bool(link.books.neighbours.of(name, topic.target_id))

    def _strayed(self, ends: Mapping[TopicPartition, int], side: Side) -> Iterator[Reason]:
        link = self._at.link
        left: Admin = link.source if side is Side.SOURCE else link.target
        new = {
            tp: end
            for tp, end in left.offsets.log_ends(ends, patience=_AGAIN).items()
            if end > self._told.get((side, tp), ends[tp])
        }
        configs = left.configs.describe({tp.topic for tp in new}) if new else {}
        for tp, end in new.items():
            self._told[side, tp] = end
            yield Reason.of(
                ReasonCode.PROMOTE_STRAY,
                partition=str(tp),
                records=end - ends[tp],
                side=str(side),
                until=kept_until(configs.get(tp.topic, {})),
            )


def kept_until(configs: Mapping[str, ConfigEntry]) -> str:
    """Return how long a topic keeps records, for a sentence; "" if that is not known. Pure."""
    said = {name: configs[name].value or "" for name in _KEEPING if name in configs}
    policy, age, size = (said.get(name, "") for name in _KEEPING)
    if not policy:
        return ""
    limits = []
    if "delete" in policy and age.isdigit():
        limits.append(f"for {span(int(age) / 1000)}")
    if "delete" in policy and size.isdigit():
        limits.append(f"while a partition has at most {size} bytes")
    if "compact" in policy:
        limits.append("until a newer one has the same key")
    return ", ".join(limits) or "for ever"
