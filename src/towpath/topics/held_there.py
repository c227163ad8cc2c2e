"""Cleanup configs that are withheld from a mirror topic which exists already. Pure.

A mirror topic that the link did not make, or whose file has changed since, may delete or compact by
settings of its own. What the link sets, it may hold back, as on new mirror topics. What the file
excludes, or somebody set by hand in place of a held-back value, stays as it is, and is told
(docs/decisions/0092).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from towpath.settings import ConfigRules
from towpath.topics.cleaning import cleaning
from towpath.topics.configs import CUTS, LAGS, POLICY, RETENTIONS, limit
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import DELETE, UNLIMITED, OwnedTopics
from towpath.topics.retention import JITTER, differs

_DECIDING = frozenset({POLICY, *RETENTIONS, *CUTS, JITTER, *LAGS})
"""Configs that decide what a broker deletes or compacts by itself."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The configs of a mirror topic that the link may withhold.

    Attributes:
        rules: The rules in the file.
        accepted: Configs that the target accepts.
        waiting: Configs that are held back already.
        by_hand: Configs that were held back until somebody else set them.
    """

    rules: ConfigRules
    accepted: frozenset[str]
    waiting: frozenset[str]
    by_hand: frozenset[str]

    @classmethod
    def of(
        cls, there: Topic, seen: ObservedTopics, rules: ConfigRules, ours: OwnedTopics
    ) -> Holder:
        """Return the configs of a mirror topic that may be withheld.

        Args:
            there: The mirror topic.
            seen: The topics of both clusters.
            rules: The rules in the file.
            ours: What the link has made on the target.
        """
        waiting = frozenset(ours.waiting(there.name, there.own))
        by_hand = frozenset(ours.held.get(there.name, {})) - waiting
        return cls(rules, seen.accepted, waiting, by_hand)

    def values(self, source: Topic, configs: Mapping[str, str]) -> dict[str, str] | None:
        """Return the values by which a mirror topic keeps all, `None` if the link may not set them.

        Args:
            source: The source topic.
            configs: The configs in effect on the mirror topic otherwise.
        """
        if not any(differs(source.configs, configs, self.rules)):
            return {}
        wanted = {key: UNLIMITED for key in RETENTIONS if limit(configs.get(key)) != math.inf}
        if any(cleaning(source.configs, configs, self.rules)):
            wanted[POLICY] = DELETE
        held = {key: value for key, value in wanted.items() if self._may(key)}
        left = any(differs(source.configs, {**configs, **held}, self.rules))
        return None if left else held

    def _may(self, key: str) -> bool:
        """Whether the link may hold a config back."""
        if key in self.by_hand or key not in self.accepted:
            return False
        return key in self.waiting or key in self.rules.override or self.rules.selects(key)


def may_clean(topic: Topic, there: Topic, rules: ConfigRules) -> bool:
    """Whether a mirror topic may keep less than the source now, or once the file is applied."""
    asked = not _DECIDING.isdisjoint(rules.override)
    return bool(topic.configs) and (asked or any(differs(topic.configs, there.configs, rules)))
