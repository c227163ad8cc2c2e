"""The forecast of records that the target would compact and the source keeps. Pure.

The cleaner removes records that a later one of their key follows, once they are older than
`min.compaction.lag.ms`, and tombstones once they have been the last of their key for
`delete.retention.ms` (`LogCleanerManager.cleanableOffsets`, `Cleaner.shouldRetainRecord`). When it
runs, it decides itself, on each side: where both limits are no lower than those of the source, only
such records go on the target first that the source's own cleaner removes, too. That keeps nothing
back, as with retention. A source whose brokers run no cleaner, or that never finds enough to clean,
keeps all (docs/decisions/0073).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.model.cleaner import RATIO, is_cleaned, left_alone, never_dirty
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import ConfigRules
from towpath.topics.configs import LAGS, POLICY, RETENTIONS, compacts, limit, tighter
from towpath.topics.foresight import Foresight

_AT_ONCE = LAGS[0]


def cleaning(
    source: Mapping[str, str], final: Mapping[str, str], rules: ConfigRules
) -> Iterator[Reason]:
    """Yield reasons why the target would compact records that the source keeps.

    Args:
        source: The configs in effect on the source topic.
        final: Those that would be in effect on the mirror topic without the hold.
        rules: The rules in the file, which may be the cause.
    """
    if not is_cleaned(final):
        return
    if not is_cleaned(source):
        yield _of_source_without(source, final, rules)
        return
    for key in LAGS:
        ours, theirs = source.get(key, ""), final.get(key, "")
        # A target without the config compacts at once.
        unknown = key == _AT_ONCE and not theirs and (limit(ours) or 0) > 0
        if unknown or tighter(theirs, ours):
            yield _reason(key, theirs, ours, rules)


def _of_source_without(
    source: Mapping[str, str], final: Mapping[str, str], rules: ConfigRules
) -> Reason:
    """Return the reason where the source does not compact, whatever its policy is."""
    if stopped := left_alone(source):
        return _told(POLICY, final[POLICY], stopped, "brokers")
    if compacts(source) and never_dirty(source):
        by = by_rule(RATIO, rules) or "brokers"
        return _told(RATIO, final.get(RATIO, ""), source[RATIO], by)
    return _reason(POLICY, final[POLICY], source.get(POLICY, "unknown") or "empty", rules)


def withheld(foreseen: Foresight) -> frozenset[str]:
    """Return the configs that stay withheld, as the target would remove records.

    A mirror topic that is not compacted as long as that is held back would be deleted by time.
    """
    kept = RETENTIONS if foreseen.keeps else ()
    return frozenset((*kept, POLICY) if foreseen.compacts else kept)


def _reason(key: str, theirs: str, ours: str, rules: ConfigRules) -> Reason:
    return _told(key, theirs, ours, by_rule(key, rules))


def _told(key: str, theirs: str, ours: str, by: str) -> Reason:
    return Reason.of(ReasonCode.COMPACTION_TIGHTER, key=key, theirs=theirs, ours=ours, by=by)


def by_rule(key: str, rules: ConfigRules) -> str:
    """Return the key in the file that makes the target keep less, for a reason's sentence."""
    if key in rules.override:
        return f"override.{key}"
    return "" if rules.selects(key) else "left out"
