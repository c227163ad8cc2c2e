"""Stores for logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.buckets import Buckets
from towpath.config import StoreConfig
from towpath.store import Store


@pytest.fixture(params=["file", "s3"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    """Return the config of an empty store."""
    if request.param == "file":
        return StoreConfig.model_validate({"url": (tmp_path / "store").as_uri()})
    buckets: Buckets = request.getfixturevalue("buckets")
    return buckets.new()


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    """Return an empty store."""
    with Store(config) as made:
        yield made
