"""Stores of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.objects.stores import KINDS, empty_store
from towpath.settings import Size, StoreConfig
from towpath.store import Store

SMALLEST = Size.parse("5MiB")
"""The smallest part that S3 takes."""


@pytest.fixture(params=KINDS)
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    """Return the config of an empty store."""
    return empty_store(request, request.param, tmp_path, part_size=SMALLEST)


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    """Return an empty store."""
    with Store(config) as made:
        yield made
