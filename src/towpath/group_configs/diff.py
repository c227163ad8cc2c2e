"""The comparison of group and client metrics configs with the file. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from towpath.group_configs.bounds import DEAD_LETTERS, gets_no_letters, out_of_bounds
from towpath.group_configs.naming import target_names
from towpath.group_configs.observe import PATHS
from towpath.group_configs.observed import HolderConfigs, ObservedConfigs
from towpath.group_configs.owned import OwnedConfig
from towpath.group_configs.steps import HolderStep, RemoveHolderConfig, SetHolderConfig
from towpath.model.amounts import counted, shortened
from towpath.model.errors import ConfigError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.holders import ConfigHolder
from towpath.plan.subject import Difference
from towpath.settings import GroupsConfig, TopicsConfig

_PAGE = "docs/group-configs.md"
_SOME = 3
_GROUPS = PATHS[ConfigHolder.GROUP]


def diff(
    seen: ObservedConfigs,
    config: GroupsConfig,
    topics: TopicsConfig,
    ours: Collection[OwnedConfig],
    *,
    prune: bool,
) -> Difference[HolderStep]:
    """Return the difference between the target and the file.

    Args:
        seen: The configs on both clusters.
        config: What the file says of groups.
        topics: Which topics are mirrored, for the names of dead-letter topics.
        ours: What the link has set on the target; nothing else is ever reset.
        prune: Whether what the link has set is reset where the source has it no more.
    """
    found = _Found(config, topics, ours, prune)
    if seen.groups is not None:
        found.groups(seen.groups)
    if seen.metrics is not None:
        found.metrics(seen.metrics)
    return Difference(
        steps=tuple(found.steps),
        notes=(*seen.notes, *found.all_notes()),
        problems=(*seen.problems, *found.problems),
    )


class _Found:
    """Collects steps, notes and problems."""

    def __init__(
        self, config: GroupsConfig, topics: TopicsConfig, ours: Collection[OwnedConfig], prune: bool
    ) -> None:
        self._config, self._topics = config, topics
        self._ours, self._prune = ours, prune
        self._unknown: defaultdict[str, list[str]] = defaultdict(list)
        self.steps: list[HolderStep] = []
        self.problems: list[Problem] = []
        self._notes: list[Note] = []

    def all_notes(self) -> Iterator[Note]:
        """Yield the notes; a note about a key is given once for all groups."""
        yield from self._notes
        for key, names in sorted(self._unknown.items()):
            text = f"the target's brokers know no such config, so it is not copied ({_some(names)})"
            yield Note(key, text)

    def groups(self, seen: HolderConfigs) -> None:
        """Compare the configs of groups."""
        having = {name: configs for name, configs in sorted(seen.source.items()) if configs}
        absent = [name for name in having if name not in seen.existing]
        if absent and not self._config.configs.absent:
            self._tell_of_absent({name: having.pop(name) for name in absent})
        names, nameless = target_names(having, self._config)
        for name, why in nameless.items():
            self.problems.append(Problem(name, f"its configs are not copied: {why}", Cause.FILE))
        wanted = {
            name: {k: v for k, v in having[name].items() if self._config.configs.selects(k)}
            for name in names
        }
        self._compare(ConfigHolder.GROUP, wanted, names, seen)
        self._left_on_target(seen)

    def metrics(self, seen: HolderConfigs) -> None:
        """Compare the subscriptions to client metrics."""
        wanted = {name: configs for name, configs in sorted(seen.source.items()) if configs}
        self._compare(ConfigHolder.CLIENT_METRICS, wanted, {name: name for name in wanted}, seen)

    def _compare(
        self,
        holder: ConfigHolder,
        wanted: Mapping[str, Mapping[str, str]],
        names: Mapping[str, str],
        seen: HolderConfigs,
    ) -> None:
        asked = [name for name, configs in wanted.items() if configs]
        if asked and seen.known is None:
            text = (
                f"configs of {counted(len(asked), holder.value)} ({_some(asked)}) are not copied:"
                " the target's brokers know none; upgrade them, or exclude all under"
                " `groups.configs.exclude`"
            )
            self.problems.append(Problem(PATHS[holder], text, Cause.SUBJECT))
            return
        for name in asked:
            for key, value in sorted(wanted[name].items()):
                self._one(holder, (name, names[name], key), value, seen)
        self._gone(holder, seen)

    def _one(
        self, holder: ConfigHolder, spot: tuple[str, str, str], value: str, seen: HolderConfigs
    ) -> None:
        name, mirror, key = spot
        if mirror not in seen.target:
            return  # its problem is told: the target did not tell its configs
        if holder is ConfigHolder.GROUP and seen.known and key not in seen.known:
            self._unknown[key].append(name)
            return
        why = out_of_bounds(key, value, seen.bounds)
        if why:
            text = (
                f"{key}={value} is not copied: {why}; change the brokers of the target, or exclude"
                " the config under `groups.configs.exclude`"
            )
            self.problems.append(Problem(name, text, Cause.SUBJECT))
            return
        there = value if key != DEAD_LETTERS else self._dead_letters(name, value)
        if key == DEAD_LETTERS and not self._gets_letters(name, value, there, seen.bounds):
            return
        had = seen.target[mirror].get(key)
        if had != there:
            self.steps.append(SetHolderConfig(holder, mirror, key, there, had, name))

    def _dead_letters(self, group: str, topic: str) -> str:
        """Return the name on the target of a topic for dead letters."""
        if topic and self._topics.matches(topic):
            try:
                return self._topics.target_name(topic)
            except ConfigError:
                return topic  # the topic has its own problem
        if topic:
            text = (
                f"{DEAD_LETTERS}={topic} is copied, but the file does not mirror that topic; the"
                " target needs one of that name, or lets its brokers create it"
            )
            self._notes.append(Note(group, text))
        return topic

    def _gets_letters(
        self, group: str, source: str, target: str, brokers: Mapping[str, str]
    ) -> bool:
        """Return whether a topic for dead letters is copied, and tell if it will get none."""
        why = gets_no_letters(target, brokers)
        if why and source == target:
            # As likely as not, the source's brokers have the same prefix and write none either.
            self._notes.append(Note(group, f"{DEAD_LETTERS}={target} has no effect: {why}"))
        elif why:
            text = (
                f"{DEAD_LETTERS}={target} is not copied: {why}; rename the topic otherwise, change"
                " the brokers of the target, or exclude the config under `groups.configs.exclude`"
            )
            self.problems.append(Problem(group, text, Cause.SUBJECT))
        return not why or source == target

    def _gone(self, holder: ConfigHolder, seen: HolderConfigs) -> None:
        """Reset what the link has set and the source has no more."""
        for each in sorted(self._ours, key=lambda each: (each.name, each.key)):
            source, target = seen.source.get(each.source), seen.target.get(each.name)
            if each.holder is not holder or source is None or target is None:
                continue
            had = target.get(each.key)
            if had is None or each.key in source:
                continue
            step = RemoveHolderConfig(holder, each.name, each.key, had)
            if self._prune:
                self.steps.append(step)
            else:
                text = (
                    "was set by this link and is not set at the source any more; `prune: true`"
                    " resets it"
                )
                self._notes.append(Note(step.about, text))

    def _left_on_target(self, seen: HolderConfigs) -> None:
        """Tell of configs that somebody else has set for a mirror group; they rule it."""
        ours = {(each.name, each.key) for each in self._ours if each.holder is ConfigHolder.GROUP}
        names, _ = target_names(seen.source, self._config)
        for name, mirror in sorted(names.items()):
            for key, value in sorted(seen.target.get(mirror, {}).items()):
                if key not in seen.source[name] and (mirror, key) not in ours:
                    text = (
                        f"the target has {key}={value} for the group {mirror}, which the source has"
                        " not and this link has not set; it rules the group when it moves, so reset"
                        " it on the target unless it is meant"
                    )
                    self._notes.append(Note(name, text))

    def _tell_of_absent(self, absent: Mapping[str, Mapping[str, str]]) -> None:
        shown = [
            f"{name}: " + ", ".join(f"{key}={value}" for key, value in sorted(configs.items()))
            for name, configs in [*absent.items()][:_SOME]
        ]
        more = f"; and {len(absent) - _SOME} more" if len(absent) > _SOME else ""
        text = (
            "groups that do not exist have configs at the source, which rule the next group of that"
            f" name ({'; '.join(shown)}{more}); they are not copied"
            f" without `groups.configs.absent: true` ({_PAGE})"
        )
        self._notes.append(Note(_GROUPS, text))


def _some(names: Sequence[str]) -> str:
    return shortened(names, _SOME)


def unasked(groups: Collection[str], metrics: Collection[str]) -> Iterator[Note]:
    """Yield notes on configs at the source that are not copied without a section `groups`."""
    for found, what in ((groups, "group"), (metrics, "subscription")):
        if found:
            text = (
                f"{counted(len(found), what)} with configs of their own at the source"
                f" ({_some(sorted(found))}): they do not move without `groups` in the file"
            )
            yield Note(_GROUPS, text)
