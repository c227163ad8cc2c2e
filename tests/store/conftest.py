"""Stores of each kind, and a line to one that can be cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.azurite import AzureFront, AzureStore
from tests.support.azurite import fetch as fetch_azurite
from tests.support.buckets import Buckets
from tests.support.clusters import Clusters
from tests.support.google import GoogleFront, GoogleStore
from tests.support.google import fetch as fetch_google
from towpath.config import Size, StoreConfig
from towpath.dev import ports
from towpath.store import Store

_STORES = {"s3": "buckets", "gs": "google", "abfs": "azure"}
SMALLEST = Size.parse("5MiB")
"""The smallest part that S3 takes."""


@pytest.fixture(
    params=["file", "s3", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("gs", "abfs"))]
)
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    """Return the config of an empty store."""
    if request.param == "file":
        url = (tmp_path / "store").as_uri()
        return StoreConfig.model_validate({"url": url, "part_size": SMALLEST})
    buckets: Buckets | GoogleStore | AzureStore = request.getfixturevalue(_STORES[request.param])
    return buckets.new(part_size=SMALLEST)


@pytest.fixture(scope="session")
def google_program(clusters: Clusters) -> Path:
    program = clusters.once("google-program", fetch_google)
    if program is None:
        pytest.skip("the Google store is built with Go, and there is no go command on PATH")
    return program


@pytest.fixture(scope="session")
def google(google_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleStore]:
    """Return a Google store that the tests of this process share; `.new()` makes a bucket."""
    made = GoogleStore(google_program, tmp_path_factory.mktemp("google"))
    yield made
    made.stop()


@pytest.fixture
def google_front(google: GoogleStore) -> Iterator[GoogleFront]:
    """Return a proxy before `google` that notes requests, and may answer itself."""
    made = GoogleFront(google.port)
    yield made
    made.stop()


@pytest.fixture(scope="session")
def azure(clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureStore]:
    """Return an Azure store that the tests of this process share; `.new()` makes a container."""
    program = clusters.once("azurite-program", fetch_azurite)
    if program is None:
        pytest.skip("Azurite runs with Node.js, and there is no npm command on PATH")
    made = AzureStore(program, tmp_path_factory.mktemp("azure"))
    yield made
    made.stop()


@pytest.fixture
def azure_front(azure: AzureStore) -> Iterator[AzureFront]:
    """Return a proxy before `azure` that notes requests, and may answer itself."""
    made = AzureFront(azure.port)
    yield made
    made.stop()


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    """Return an empty store."""
    with Store(config) as made:
        yield made


@pytest.fixture
def port() -> int:
    """Return a free port."""
    return ports.reserve(1)[0]
