"""The names of objects in their bucket, and as shown to people."""

from __future__ import annotations

from towpath.settings import StoreConfig


class ObjectNames:
    """Names of the objects of a store, whose keys are relative to its prefix.

    Args:
        config: A store that is a bucket or a container.
    """

    def __init__(self, config: StoreConfig) -> None:
        self._prefix = f"{config.prefix}/" if config.prefix else ""
        self._place = config.url.removesuffix(config.prefix).rstrip("/")

    def name(self, key: str) -> str:
        """Return the name of an object in the bucket."""
        return self._prefix + key

    def key(self, name: str) -> str:
        """Return the key of an object of the bucket."""
        return name.removeprefix(self._prefix)

    def where(self, key: str) -> str:
        """Return the URL of an object, for people."""
        return f"{self._place}/{self._prefix}{key}"
