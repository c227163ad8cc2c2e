"""Stores of each kind: empty, behind a line, and in files. scripts/soak plays those of clouds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.network.toxiproxy import Toxiproxy
from tests.support.objects.azurite import AzureStore
from tests.support.objects.buckets import Buckets, StoreFront, at_port
from tests.support.objects.google import GoogleStore
from towpath.dev import ports
from towpath.model.secret import Secret
from towpath.settings import StoreConfig, StoreKind

CLOUDS = tuple(pytest.param(kind, marks=pytest.mark.soak) for kind in ("gs", "abfs"))
REMOTE = ("s3", *CLOUDS)
"""The kinds of stores that are asked over a network."""
KINDS = ("file", *REMOTE)
IN_FILES = ("file", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("s3", "gs", "abfs")))
"""All kinds, for tests of what is the same on each store that keeps the promises of `tests/store`:
each run plays them in files."""
_FIXTURES = {"s3": "buckets", "gs": "google", "abfs": "azure"}
_FRONTS = _FIXTURES | {"gs": "google_front"}
"""What answers as the provider does: fake-gcs-server does not know how far an upload has got."""


def empty_store(
    request: pytest.FixtureRequest, kind: str, folder: Path, **more: Any
) -> StoreConfig:
    """Return the config of an empty store.

    Args:
        request: What asks for it.
        kind: One of `KINDS`.
        folder: Where a store of files is made.
        more: Further fields of the config.
    """
    if kind == "file":
        return StoreConfig.model_validate({"url": (folder / "store").as_uri(), **more})
    made: Buckets | GoogleStore | AzureStore = request.getfixturevalue(_FIXTURES[kind])
    return made.new(**more)


def empty_section(request: pytest.FixtureRequest, kind: str, folder: Path) -> dict[str, Any] | None:
    """Return the section `store` of the file of an archive, for an empty store; None for files."""
    return None if kind == "file" else section(empty_store(request, kind, folder), folder)


class StoreLine:
    """A line to the stores of a kind, which can be cut and slowed.

    Args:
        request: What asks for it.
        kind: One of `REMOTE`.
        proxy: Stands before the stores.
    """

    def __init__(self, request: pytest.FixtureRequest, kind: str, proxy: Toxiproxy) -> None:
        self._request, self._kind, self._proxy = request, kind, proxy
        (self._port,) = ports.reserve(1)
        front: Buckets | AzureStore | StoreFront = request.getfixturevalue(_FRONTS[kind])
        self._front = front.port
        proxy.stand_at(f"127.0.0.1:{self._port}", f"127.0.0.1:{self._front}")

    def new(self, **more: Any) -> StoreConfig:
        """Return the config of an empty store that is asked through this line."""
        return at_port(empty_store(self._request, self._kind, Path(), **more), self._port)

    def past(self, config: StoreConfig) -> StoreConfig:
        """Return the config of a store of this line that is asked past it."""
        return at_port(config, self._front)

    def cut(self) -> None:
        """Close all connections, and refuse new ones."""
        self._proxy.let_through(self._port, enabled=False)

    def spoil(self, kind: str, stream: str = "downstream", **how: int) -> None:
        """Add a toxic, such as `latency` with `latency=300` (milliseconds)."""
        self._proxy.spoil(self._port, kind, stream, **how)

    def heal(self) -> None:
        """Let everything through again."""
        self._proxy.reset()


def section(config: StoreConfig, folder: Path, **more: Any) -> dict[str, Any]:
    """Return the section `store` of the file of an archive, whose secret lies in a folder."""
    path = folder / "secret"
    where = {"url": config.url, "endpoint": config.endpoint}
    path.write_text(_secret(config).reveal())
    return where | _login(config, f"file:{path}") | more


def _secret(config: StoreConfig) -> Secret:
    azure = config.azure.account_key if config.azure else None
    keys = config.keys.secret_access_key if config.keys else None
    secret = keys or config.service_account or azure
    assert secret is not None
    return secret


def _login(config: StoreConfig, secret: str) -> dict[str, Any]:
    if config.keys is not None:
        keys = {"access_key_id": config.keys.access_key_id, "secret_access_key": secret}
        return {"keys": keys, "region": config.region}
    if config.kind is StoreKind.GOOGLE:
        return {"service_account": secret}
    return {"azure": {"account_key": secret}}
