"""A link whose clients log in, with a gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.clusters.secured_moves import SecuredMove, secured_move


@pytest.fixture
def move(
    tmp_path: Path,
    secured_source: SharedCluster,
    secured_target: SharedCluster,
    vault: Vault,
    new_name: Callable[[str], str],
) -> Iterator[SecuredMove]:
    made = secured_move(tmp_path, secured_source, secured_target, vault, new_name("logins"))
    yield made
    for program in made.programs:
        program.close()
