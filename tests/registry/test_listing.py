"""Lists of all schemas, as makes of registries give them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.registries.registry import LocalRegistry
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from towpath.model.nouns import Side
from towpath.registry.registry import Registry
from towpath.settings import RegistryConfig

COUNT = 2500
Rows = list[dict[str, Any]]


@pytest.mark.parametrize("make", ["stable", "unstable", "unstable and cut off", "one page only"])
def test_no_version_is_missed_however_a_registry_lists_them(
    new_registry: Callable[..., LocalRegistry],
    new_proxy: Callable[..., RegistryProxy],
    rng: random.Random,
    make: str,
) -> None:
    every = [
        {"subject": f"s{number}", "version": 1, "id": 7, "schema": '"int"'}
        for number in range(COUNT)
    ]

    def listed(_method: str, path: str, body: Body) -> Changed:
        if not path.startswith("/schemas"):
            return body
        asked = {name: int(text[0]) for name, text in parse_qs(urlsplit(path).query).items()}
        rows: Rows = rng.sample(every, COUNT) if make.startswith("unstable") else every
        most = 1000 if make == "unstable and cut off" else COUNT
        first = 0 if make == "one page only" else asked.get("offset", 0)
        return 200, rows[first : first + asked.get("limit", most)]

    proxy = new_proxy(new_registry().url, listed)
    registry = Registry(RegistryConfig.model_validate({"url": proxy.url}), Side.SOURCE, 2)
    found = registry.all(lambda each: each.id)
    registry.close()
    if make == "unstable and cut off":
        assert found is None, "each subject is asked then"
    else:
        assert found is not None
        assert len(found) == COUNT
