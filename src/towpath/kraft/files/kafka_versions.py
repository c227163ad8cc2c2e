"""The levels of `metadata.version` that correspond to `inter.broker.protocol.version`.

From Kafka's `MetadataVersion.java`: each level has one name, and a name without `-IV` means the
last level of its release.
"""

from __future__ import annotations

from types import MappingProxyType

_LAST_IV = MappingProxyType({"3.4": (8, 0), "3.5": (11, 2), "3.6": (14, 2), "3.7": (19, 4),
                             "3.8": (20, 0), "3.9": (21, 0)})  # fmt: skip
"""The last level of each release that can migrate, and its IV."""

LOWEST_LEVEL = 14
"""3.6-IV2: the copy is one transaction of the metadata log."""
SEVERAL_LOG_DIRS = 17
"""3.7-IV2: brokers with several log directories can migrate."""


def level_of(version: str) -> int | None:
    """Return the `metadata.version` level of a protocol version such as `3.9-IV0`.

    None for versions that cannot migrate, or that are not known here.
    """
    release, _, iv = version.strip().partition("-IV")
    release = ".".join(release.split(".")[:2])
    level, last = _LAST_IV.get(release, (None, 0))
    if level is None or not iv:
        return level
    return level - last + int(iv) if iv.isdecimal() and int(iv) <= last else None


def version_of(level: int) -> str | None:
    """Return the protocol version of a level, such as `3.9-IV0`; `None` for an unknown level."""
    for release, (highest, last) in _LAST_IV.items():
        if highest - last <= level <= highest:
            return f"{release}-IV{last - (highest - level)}"
    return None
