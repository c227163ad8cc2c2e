"""Changes to configs of groups and of client metrics on the target, as data.

`about` names one config of one group or subscription. The link owns what its steps set.
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.model.holders import ConfigHolder
from towpath.plan.kinds import StepKind, StepKinds

GROUP_CONFIGS, CLIENT_METRICS = "group-configs", "client-metrics"
SUBJECTS = {ConfigHolder.GROUP: GROUP_CONFIGS, ConfigHolder.CLIENT_METRICS: CLIENT_METRICS}
"""The name of the subject of each kind of holder."""


@dataclass(frozen=True, slots=True)
class SetHolderConfig:
    """Set a config; requires that the target still has `had`, or no own value if `None`.

    Attributes:
        holder: What has the config.
        name: The name of the group or subscription on the target.
        key: The config.
        value: The value that it gets.
        had: The value that the target has.
        source: The name at the source.
    """

    holder: ConfigHolder
    name: str
    key: str
    value: str
    had: str | None
    source: str

    @property
    def subject(self) -> str:
        """The subject of the plan that the step belongs to."""
        return SUBJECTS[self.holder]

    @property
    def creates(self) -> bool:
        """Whether the target has no own value of the config yet."""
        return self.had is None

    @property
    def about(self) -> str:
        """The group or subscription on the target, and the config."""
        return about(self.name, self.key)


@dataclass(frozen=True, slots=True)
class RemoveHolderConfig:
    """Reset a config to the brokers' default; requires that the target still has `had`.

    Attributes:
        holder: What has the config.
        name: The name of the group or subscription on the target.
        key: The config.
        had: The value that the target has.
    """

    holder: ConfigHolder
    name: str
    key: str
    had: str

    @property
    def subject(self) -> str:
        """The subject of the plan that the step belongs to."""
        return SUBJECTS[self.holder]

    @property
    def creates(self) -> bool:
        """Always false, as the step removes a config."""
        return False

    @property
    def about(self) -> str:
        """The group or subscription on the target, and the config."""
        return about(self.name, self.key)


HolderStep = SetHolderConfig | RemoveHolderConfig


def about(name: str, key: str) -> str:
    """Return the display text for one config of a group or subscription."""
    return f"{name} {key}"


KINDS = StepKinds(
    (
        StepKind(step=SetHolderConfig, verb="set"),
        StepKind(step=RemoveHolderConfig, verb="reset", removes=True),
    )
)
