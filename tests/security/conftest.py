"""A link between two clusters that ask for TLS and a login, and hold ACLs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.secured import SecuredLink
from towpath.dev.broker import LocalCluster


@pytest.fixture
def secured(
    tmp_path: Path,
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    vault: Vault,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[SecuredLink]:
    # Rights are given by prefix: no link's name may begin another's.
    name = new_name("secured") + "-link"
    made = SecuredLink(tmp_path, secured_source, secured_target, vault, name)
    monkeypatch.setenv("SOURCE_PASSWORD", USERS[made.user["source"]].reveal())
    yield made
    for each in made.programs:
        each.close()
