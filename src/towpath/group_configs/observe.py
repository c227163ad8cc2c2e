"""The observation of group and client metrics configs on both clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import GroupState
from towpath.cluster.admin.holders import own, unknown_kind
from towpath.cluster.metadata import Answers, ConfigEntry
from towpath.group_configs.bounds import bounding
from towpath.group_configs.naming import target_names
from towpath.group_configs.observed import HolderConfigs, ObservedConfigs, Own
from towpath.group_configs.owned import OwnedConfig
from towpath.model.amounts import counted
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.holders import ConfigHolder
from towpath.settings import GroupsConfig, TopicsConfig

PATHS = {
    ConfigHolder.GROUP: "groups.configs",
    ConfigHolder.CLIENT_METRICS: "groups.configs.client_metrics",
}
"""The YAML path of each kind of holder."""

_UNLISTED = (
    "the brokers of the source do not list which groups have configs (Kafka 4.1 and newer do), so"
    " those of groups that do not exist are not seen"
)
_SOME = 3
NONE: Mapping[str, str] = MappingProxyType({})


def observe(
    source: Admin,
    target: Admin,
    config: GroupsConfig,
    topics: TopicsConfig,
    ours: Collection[OwnedConfig],
) -> ObservedConfigs:
    """Observe both clusters, without changing them.

    Args:
        source: The cluster to read from.
        target: The cluster to write to.
        config: What the file says of groups.
        topics: Which topics are mirrored; groups that read others alone do not move.
        ours: What the link has set on the target.

    Raises:
        ClusterError: A cluster cannot be asked at all.
    """
    look = _Look(source, target, config, topics, ours)
    groups = look.groups()
    metrics = look.metrics() if config.configs.client_metrics else None
    return ObservedConfigs(
        groups=groups,
        metrics=metrics,
        unlisted=look.unlisted,
        notes=tuple(look.notes),
        problems=tuple(look.problems),
    )


class _Look:
    """Asks both clusters, and collects notes and problems."""

    def __init__(
        self,
        source: Admin,
        target: Admin,
        config: GroupsConfig,
        topics: TopicsConfig,
        ours: Collection[OwnedConfig],
    ) -> None:
        self._source, self._target = source, target
        self._config, self._topics, self._ours = config, topics, ours
        self.unlisted = ""
        self.notes: list[Note] = []
        self.problems: list[Problem] = []

    def groups(self) -> HolderConfigs:
        """Return the configs of groups that the file asks for."""
        holder = ConfigHolder.GROUP
        listed = self._listed(holder)
        existing = self._existing() if listed is None else None
        if existing is not None and not self._knows(existing):
            self.unlisted = ""  # there can be none
            return HolderConfigs()
        named = {each.source for each in self._ours if each.holder is holder}
        named |= (listed or frozenset()) | (existing or {}).keys()
        wanted = {name for name in named if self._config.matches(name)}
        found = self._own(holder, self._said(self._source, holder, wanted))
        left = self._left_on_target()
        if existing is None:
            existing = self._existing() if left or any(found.values()) else {}
        names, _ = target_names({*filter(self._config.matches, existing), *found}, self._config)
        asked = {n: mirror for n, mirror in names.items() if found.get(n) or mirror in left}
        apart = self._apart([existing[name] for name in asked if name in existing])
        kept = {name: own for name, own in found.items() if name not in apart}
        asked = {name: mirror for name, mirror in asked.items() if name not in apart}
        return self._beside(
            holder, {**dict.fromkeys(asked, NONE), **kept}, asked, frozenset(existing)
        )

    def _apart(self, groups: Collection[GroupState]) -> frozenset[str]:
        """Return the groups that read topics, but none that is mirrored: they do not move."""
        known = {each.group: each.coordinator for each in groups}
        said = self._source.groups.offsets(known, known) if known else {}
        return frozenset(
            group.name
            for group, commits in said.items()
            if commits and not any(self._moves(tp.topic) for tp in commits)
        )

    def _moves(self, topic: str) -> bool:
        foreign = self._config.foreign
        return self._topics.matches(topic) or (foreign is not None and foreign.matches(topic))

    def metrics(self) -> HolderConfigs:
        """Return the subscriptions to client metrics."""
        holder = ConfigHolder.CLIENT_METRICS
        listed = self._listed(holder) or frozenset()
        wanted = listed | {each.source for each in self._ours if each.holder is holder}
        found = self._own(holder, self._said(self._source, holder, wanted))
        asked = {name: name for name, configs in found.items() if configs}
        return self._beside(holder, found, asked, frozenset(found))

    def _existing(self) -> Mapping[str, GroupState]:
        return self._source.groups.listed().groups

    def _knows(self, groups: Iterable[str]) -> bool:
        """Return whether the source knows configs of groups; any one group tells."""
        holder, some = ConfigHolder.GROUP, sorted(groups)[:1]
        said = self._said(self._source, holder, some)
        return bool(some) and not any(map(unknown_kind, said.failed.values()))

    def _left_on_target(self) -> frozenset[str]:
        """Return the groups of the target that have configs, as far as it tells."""
        try:
            return self._target.holders.names(ConfigHolder.GROUP) or frozenset()
        except RefusedError:
            return frozenset()

    def _listed(self, holder: ConfigHolder) -> frozenset[str] | None:
        """Return which holders at the source have configs, `None` if it does not tell."""
        try:
            found = self._source.holders.names(holder)
        except RefusedError as error:
            if holder is ConfigHolder.GROUP:
                self.unlisted = f"{error}; so configs of groups that do not exist are not seen"
            elif not unknown_kind(error):
                text = f"{error}; until then it is not known whether there are any to copy"
                self.notes.append(Note(PATHS[holder], text))
            return None
        if found is None and holder is ConfigHolder.GROUP:
            self.unlisted = _UNLISTED
        return found

    def _said(
        self, admin: Admin, holder: ConfigHolder, names: Collection[str]
    ) -> Answers[str, dict[str, ConfigEntry]]:
        return admin.holders.describe(holder, names) if names else Answers({}, {})

    def _own(self, holder: ConfigHolder, said: Answers[str, dict[str, ConfigEntry]]) -> Own:
        """Return what was set; tell what could not be asked for, unless there is no such thing."""
        failed = {name: e for name, e in said.failed.items() if not unknown_kind(e)}
        if failed:
            self.problems.append(_some(holder, failed))
        return {name: own(holder, entries) for name, entries in said.items()}

    def _beside(
        self,
        holder: ConfigHolder,
        source: Own,
        names: Mapping[str, str],
        existing: frozenset[str],
    ) -> HolderConfigs:
        """Return what the source has, beside what the target has under the names to ask for."""
        asked = set(names.values())
        asked |= {each.name for each in self._ours if each.holder is holder}
        if not asked:
            return HolderConfigs(source=source, existing=existing)
        said = self._said(self._target, holder, asked)
        if said.failed and not said and all(map(unknown_kind, said.failed.values())):
            return HolderConfigs(source=source, existing=existing, known=None)
        keys = {key for configs in source.values() for key in configs}
        return HolderConfigs(
            source=source,
            target=self._own(holder, said),
            known=frozenset(key for entries in said.values() for key in entries),
            existing=existing,
            bounds=self._bounds(bounding(keys)) if holder is ConfigHolder.GROUP else {},
        )

    def _bounds(self, names: Collection[str]) -> Mapping[str, str]:
        if not names:
            return {}
        try:
            return self._target.cluster.broker_configs(sorted(names))
        except RefusedError as error:
            text = f"{error}; so it is not known which values the target's brokers allow"
            self.notes.append(Note(PATHS[ConfigHolder.GROUP], text))
            return {}


def _some(holder: ConfigHolder, failed: Mapping[str, ClusterError]) -> Problem:
    """Return one problem for all whose configs could not be asked for."""
    error = min(failed.items())[1]
    text = str(error)
    if len(failed) > 1:
        shown = ", ".join(sorted(failed)[:_SOME]) + (", ..." if len(failed) > _SOME else "")
        text = f"{error}; the same goes for {counted(len(failed), holder)} in all ({shown})"
    return _problem(PATHS[holder], f"configs are not copied: {text}", error)


def _problem(about: str, text: str, error: ClusterError) -> Problem:
    return Problem(about, text, Cause.RIGHTS if error.forbidden else Cause.SUBJECT)
