"""What is not done for a link with a twin, which copies the same topics in the other direction."""

from __future__ import annotations

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import LinkConfig


def require_no_twin(config: LinkConfig, why: str) -> None:
    """Refuse to do something for a link with a twin.

    Args:
        config: The file of the link.
        why: What is not done, and why, or what to do instead.

    Raises:
        ConfigError: The link has a twin.
    """
    if config.topics.twin is not None:
        raise ConfigError((ConfigProblem("topics.twin", why),))
