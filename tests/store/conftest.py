"""Stores of each kind, and a line to one that can be cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.buckets import Buckets
from tests.support.toxiproxy import Toxiproxy
from towpath.config import Size, StoreConfig
from towpath.dev import ports
from towpath.store import Store

SMALLEST = Size.parse("5MiB")
"""The smallest part that S3 takes."""


@pytest.fixture(params=["file", "s3"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    """Return the config of an empty store."""
    if request.param == "file":
        url = (tmp_path / "store").as_uri()
        return StoreConfig.model_validate({"url": url, "part_size": SMALLEST})
    buckets: Buckets = request.getfixturevalue("buckets")
    return buckets.new(part_size=SMALLEST)


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    """Return an empty store."""
    with Store(config) as made:
        yield made


@pytest.fixture
def line(toxiproxy_program: Path, tmp_path: Path) -> Iterator[Toxiproxy]:
    """Return a proxy that stands before nothing yet."""
    proxy = Toxiproxy(toxiproxy_program, tmp_path / "toxiproxy.log")
    yield proxy
    proxy.stop()


@pytest.fixture
def port() -> int:
    """Return a free port."""
    return ports.reserve(1)[0]
