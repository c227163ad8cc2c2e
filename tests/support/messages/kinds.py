"""The classes of all messages of Kafka's protocol, by API key."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any

import kafka.protocol

from tests.support.messages import groups
from towpath.cluster import messages


def kinds(end: str) -> dict[int, Any]:
    """Return the classes whose names end so, `Request` or `Response`, by API key."""
    modules = [
        import_module(each.name)
        for each in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol.")
        if each.name.count(".") == 2
    ]
    return {
        kind.API_KEY: kind
        for module in (*modules, messages, groups)
        for name, kind in vars(module).items()
        if name.endswith(end) and inspect.isclass(kind) and hasattr(kind, "API_KEY")
    }
