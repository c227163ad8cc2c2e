"""Stores for logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.objects.stores import KINDS, empty_store
from towpath.settings import StoreConfig
from towpath.store import Store


@pytest.fixture(params=KINDS)
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    """Return the config of an empty store."""
    return empty_store(request, request.param, tmp_path)


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    """Return an empty store."""
    with Store(config) as made:
        yield made
