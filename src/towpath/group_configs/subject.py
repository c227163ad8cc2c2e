"""Configs of groups and of client metrics as a subject of the plan machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from towpath.cluster.admin.holders import unknown_kind
from towpath.group_configs.apply import apply_all, checked, present
from towpath.group_configs.diff import diff, unasked
from towpath.group_configs.observe import PATHS, observe
from towpath.group_configs.observed import ObservedConfigs
from towpath.group_configs.owned import ours_of
from towpath.group_configs.steps import (
    CLIENT_METRICS,
    GROUP_CONFIGS,
    KINDS,
    HolderStep,
    SetHolderConfig,
)
from towpath.ledger.link import OpenLink
from towpath.model.errors import RefusedError, StepOutdatedError, TowpathError
from towpath.model.findings import Note, Problem
from towpath.model.holders import ConfigHolder
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.plan.subject import (
    CheckedSteps,
    Columns,
    Difference,
    Failed,
    SettledStep,
    SubjectContext,
)
from towpath.settings import GroupsConfig, LinkConfig


@dataclass(frozen=True, slots=True)
class GroupConfigClient:
    """Observes configs of groups and of client metrics, and changes those of the target."""

    link: OpenLink

    def observe(self) -> ObservedConfigs:
        """Observe both clusters, without changing them.

        Nothing is asked for where the file has no section `groups`.
        """
        link, config = self.link, self.link.config.groups
        if config is None:
            return ObservedConfigs()
        return observe(link.source, link.target, config, link.config.topics, ours_of(link.books))

    def again(self, seen: ObservedConfigs) -> ObservedConfigs:
        """Observe the target again after steps; keep what was observed of the source.

        Both clusters are asked, in a few requests.
        """
        del seen
        return self.observe()

    def diff(self, seen: ObservedConfigs, around: SubjectContext) -> Difference[HolderStep]:
        """Return the difference between the target and what the file asks for."""
        del around
        link, config = self.link, self.link.config.groups
        if config is None:
            return Difference()
        ours = ours_of(link.books)
        return diff(seen, config, link.config.topics, ours, prune=link.config.prune)

    def foresee(
        self, seen: ObservedConfigs, found: Difference[HolderStep]
    ) -> Iterator[Note | Problem]:
        """Yield notes on groups that are not observed: missing ones, or all without `groups`."""
        del found
        if seen.unlisted:
            yield Note(PATHS[ConfigHolder.GROUP], seen.unlisted)
        if self.link.config.groups is None:
            yield from unasked(
                [name for name in self._names(ConfigHolder.GROUP) if GroupsConfig().matches(name)],
                [*self._names(ConfigHolder.CLIENT_METRICS)],
            )

    def _names(self, holder: ConfigHolder) -> frozenset[str]:
        """Return which have configs at the source, as far as it tells."""
        try:
            return self.link.source.holders.names(holder) or frozenset()
        except RefusedError as error:
            if unknown_kind(error) or error.forbidden:
                return frozenset()
            raise

    def check(self, steps: Sequence[HolderStep]) -> CheckedSteps[HolderStep]:
        """Let the target check steps without doing them."""
        return checked(steps, self.link.target)

    def present(self, steps: Sequence[HolderStep]) -> Mapping[str, TopicId]:
        """Return the ids of existing things that steps are about, by name."""
        return dict.fromkeys(present(steps, self.link.target), NO_TOPIC_ID)

    def apply(self, steps: Sequence[HolderStep]) -> Changed:
        """Apply steps of one kind together, each about another thing."""
        return apply_all(steps, self.link.target)

    def settle(self, steps: Sequence[HolderStep]) -> Mapping[str, SettledStep]:
        """Return an empty mapping, as a config does not reveal who set it."""
        del steps
        return {}

    def owned(self, steps: Sequence[HolderStep]) -> frozenset[str]:
        """Return the names of the things that the link will own after the steps."""
        ours = {(each.holder, each.name, each.key) for each in ours_of(self.link.books)}
        return frozenset(
            step.about
            for step in steps
            if isinstance(step, SetHolderConfig) and (step.holder, step.name, step.key) in ours
        )

    def outdated(self, step: HolderStep) -> StepOutdatedError | None:
        """Return `None`, as only the usual checks apply to such a step."""
        del step
        return None


class GroupConfigs:
    """The subject of group configs and of subscriptions to client metrics."""

    names = (GROUP_CONFIGS, CLIENT_METRICS)
    kinds = KINDS
    columns = Columns(("name", "config", "now", "then"))

    def client(self, link: OpenLink) -> AbstractContextManager[GroupConfigClient]:
        """Open a client of this subject for a link."""
        return nullcontext(GroupConfigClient(link))

    def interval(self, config: LinkConfig) -> float:
        """Return the number of seconds between two observations in a run."""
        return config.run.sync_interval

    def held_back(self, steps: Sequence[HolderStep], failed: Failed) -> Mapping[str, TowpathError]:
        """Return an empty mapping, as no config depends on another one."""
        del steps, failed
        return {}

    def row(self, step: HolderStep) -> tuple[str, ...]:
        """Return a step as a row of the table."""
        then = step.value if isinstance(step, SetHolderConfig) else "default"
        return step.name, step.key, "default" if step.had is None else step.had, then

    def summary(
        self, steps: Sequence[HolderStep], topics: Mapping[TopicName, TopicName]
    ) -> Iterator[str]:
        """Return short texts about what steps do."""
        del topics
        return KINDS.by_subject(self.names, steps)


GROUP_CONFIG_SUBJECT = GroupConfigs()
