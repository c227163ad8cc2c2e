"""What is refused for a link with a twin, before anything is connected to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.links import link
from towpath.mirror.failback.failback import failback
from towpath.mirror.failover.failover import failover
from towpath.mirror.quarantine.replay import replay
from towpath.mirror.repair.rebuild import rebuild
from towpath.model.errors import ConfigError
from towpath.model.nouns import LinkName


@pytest.mark.parametrize("command", [failover, failback, replay, rebuild])
def test_what_the_twin_does_already_or_could_not_tell_apart(command: Callable[..., Any]) -> None:
    made = link("127.0.0.1:1", "127.0.0.1:2", "orders")
    twin = made.topics.model_copy(update={"twin": LinkName("back")})
    with pytest.raises(ConfigError, match=r"topics\.twin: .* (twin|both sides)"):
        command(made.model_copy(update={"topics": twin}), None)
