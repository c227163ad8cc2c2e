"""What release a node runs, from what it says first. `test_admin.py` asks real brokers."""

from __future__ import annotations

import pytest

from towpath.cluster.connect.exchange import Versions
from towpath.cluster.release import METADATA_VERSION, Release, release_of, release_of_level

_OF_4_1: Versions = {0: (0, 13), 1: (4, 18), 2: (1, 10), 42: (0, 2)}
_OF_4_4: Versions = {0: (0, 13), 1: (4, 18), 2: (1, 11), 35: (1, 5), 42: (0, 3)}


@pytest.mark.parametrize(
    ("level", "release"),
    [(21, "3.9"), (22, "4.0"), (25, "4.0"), (27, "4.1"), (30, "4.3"), (31, "4.4"), (33, "4.4")],
)
def test_the_level_that_the_software_supports_names_the_release(level: int, release: str) -> None:
    assert str(release_of_level(level)) == release
    # Whatever the requests look like: 4.3 and 4.4 differ in few of them.
    assert str(release_of({METADATA_VERSION: level}, _OF_4_1)) == release


def test_a_release_that_is_newer_than_known_is_said_to_be_newer() -> None:
    assert str(release_of_level(34)) == "4.4 or newer"
    assert release_of({METADATA_VERSION: 34}, _OF_4_4) == Release((4, 4), or_newer=True)
    assert Release((4, 4), or_newer=True).numbers >= (4, 4)


def test_requests_decide_where_no_level_is_told_or_one_of_a_service() -> None:
    assert str(release_of({}, _OF_4_1)) == "4.1"
    assert str(release_of({METADATA_VERSION: 137}, _OF_4_1)) == "4.1"
    assert str(release_of({}, _OF_4_4)) == "4.4 or newer"
