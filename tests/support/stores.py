"""Empty stores of each kind. Those of clouds are played by scripts/soak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.azurite import AzureStore
from tests.support.buckets import Buckets
from tests.support.google import GoogleStore
from towpath.config import StoreConfig

CLOUDS = tuple(pytest.param(kind, marks=pytest.mark.soak) for kind in ("gs", "abfs"))
KINDS = ("file", "s3", *CLOUDS)
_FIXTURES = {"s3": "buckets", "gs": "google", "abfs": "azure"}


def empty_store(request: pytest.FixtureRequest, folder: Path, **more: Any) -> StoreConfig:
    """Return the config of an empty store.

    Args:
        request: What asks for it; its parameter is one of `KINDS`.
        folder: Where a store of files is made.
        more: Further fields of the config.
    """
    if request.param == "file":
        return StoreConfig.model_validate({"url": (folder / "store").as_uri(), **more})
    made: Buckets | GoogleStore | AzureStore = request.getfixturevalue(_FIXTURES[request.param])
    return made.new(**more)
