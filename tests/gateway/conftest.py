"""A link with a gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clusters.brokers import SharedCluster
from tests.support.links import Link
from towpath.dev import ports


@pytest.fixture
def gateway_link(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Link]:
    of = [
        next(iter(AdminClient({"bootstrap.servers": each.bootstrap}).list_topics().brokers))
        for each in (source, target)
    ]
    first, one, two, metrics = (f"127.0.0.1:{each}" for each in ports.reserve(4))
    gateway = f"{{listen: '{first}', nodes: {{{of[0]}: '{one}'}}, targets: {{{of[1]}: '{two}'}},"
    gateway += f" hold: 15s, metrics: '{metrics}'}}"
    made = Link(tmp_path, source, target, new_name("moves"), gateway=gateway, timeout="10s")
    yield made
    for program in made.programs:
        program.close()


@pytest.fixture
def reading_link(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Link]:
    of = [
        next(iter(AdminClient({"bootstrap.servers": each.bootstrap}).list_topics().brokers))
        for each in (source, target)
    ]
    first, one, two = (f"127.0.0.1:{each}" for each in ports.reserve(3))
    gateway = f"{{listen: '{first}', nodes: {{{of[0]}: '{one}'}}, targets: {{{of[1]}: '{two}'}},"
    gateway += " hold: 15s, reads: target}"
    made = Link(tmp_path, source, target, new_name("reads"), gateway=gateway, timeout="10s")
    yield made
    for program in made.programs:
        program.close()
