"""Refusal of operations on a link with a twin, which copies its topics the other way."""

from __future__ import annotations

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import LinkConfig


def require_no_twin(config: LinkConfig, why: str) -> None:
    """Raise if the link has a twin.

    Args:
        config: The file of the link.
        why: What is not done, and why, or what to do instead.

    Raises:
        ConfigError: The link has a twin.
    """
    if config.topics.twin is not None:
        raise ConfigError((ConfigProblem("topics.twin", why),))
