"""Release of Kafka that a node runs, derived from its ApiVersions answer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from towpath.cluster.connect.exchange import Versions

METADATA_VERSION: Final = "metadata.version"
_LAST_LEVELS: Final = (
    (7, (3, 3)), (8, (3, 4)), (11, (3, 5)), (14, (3, 6)), (19, (3, 7)), (20, (3, 8)), (21, (3, 9)),
    (25, (4, 0)), (27, (4, 1)), (29, (4, 2)), (30, (4, 3)), (33, (4, 4)),
)  # fmt: skip
"""The last metadata.version of each release that is for production (`MetadataVersion.java`)."""
_DELETE_GROUPS, _WITH_MESSAGES = 42, 3
"""The request whose version tells Kafka 4.4 from older releases where levels are not told."""
NEWEST_KNOWN: Final = _LAST_LEVELS[-1][1]


@dataclass(frozen=True, slots=True)
class Release:
    """A minor release of Kafka; nodes do not reveal patch levels.

    Attributes:
        numbers: Such as (4, 4).
        or_newer: Whether it may be a newer release, which this Towpath does not know.
    """

    numbers: tuple[int, ...]
    or_newer: bool = False

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers)) + " or newer" * self.or_newer


def release_of_level(level: int) -> Release:
    """Return the first release whose software supports `metadata.version` `level`."""
    place = bisect_left(_LAST_LEVELS, (level,))
    if place == len(_LAST_LEVELS):
        return Release(NEWEST_KNOWN, or_newer=True)
    return Release(_LAST_LEVELS[place][1])


def release_of(supported: Mapping[str, int], requests: Versions) -> Release:
    """Return the release of a broker, from its supported features and requests.

    The highest level of `metadata.version` that its software supports names the release exactly.
    Brokers in ZooKeeper mode, and services that only speak Kafka's protocol, tell no level, or one
    of their own; then the versions of their requests decide, which tell no release beyond the
    newest known from that one itself.

    Args:
        supported: Highest level of each feature that the software supports.
        requests: Lowest and highest version of each request that it takes.
    """
    level = supported.get(METADATA_VERSION)
    if level is not None and level <= _LAST_LEVELS[-1][0]:
        return release_of_level(level)
    if requests.get(_DELETE_GROUPS, (0, 0))[1] >= _WITH_MESSAGES:
        return Release(NEWEST_KNOWN, or_newer=True)
    # Its table of all versions takes as long to import as most messages together.
    from kafka.protocol.broker_version_data import BrokerVersionData  # noqa: PLC0415

    return Release(tuple(BrokerVersionData(api_versions=dict(requests)).broker_version))
