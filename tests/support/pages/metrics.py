"""A meter that was told of everything, and a server for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.support.pages.scrape import Scrape
from towpath.dev import ports
from towpath.groups.counts import GroupCounts
from towpath.metering.server import MetricsServer
from towpath.mirror.metrics.measure import About, measured
from towpath.mirror.metrics.meter import LinkMeter, Tried
from towpath.mirror.metrics.stand import Stand
from towpath.model.nouns import Detail, TopicName
from towpath.model.rates import RateLimits

STAND = Stand(
    topic="orders", partition=0, state="behind", mapped=False, incarnation=7, records=10, bytes=100,
    lag_records=5, lag_seconds=1.5, gaps=0, gap_offsets=0,
)  # fmt: skip
ABOUT = About("1.2.3", "eu", Detail.AUTO, ("behind", "stopped"), ("rights", "topic", "step"))


def full() -> LinkMeter:
    """Return a meter each of whose metrics has a series."""
    meter = LinkMeter()
    meter.throttled({"source": 2.5})
    topic = TopicName("clicks")
    meter.limited(RateLimits(2000, {topic: 500.0}), {topic: 1.5, TopicName(""): 0.5})
    meter.looked([STAND])
    meter.looked([
        replace(STAND, records=13, bytes=160),
        replace(
            STAND, partition=1, incarnation=8, state="stopped", mapped=True, gaps=2, gap_offsets=9,
            lag_records=None, lag_seconds=None, quarantined={"ID_ZERO": 4},
            skipped={"RECORD_TOO_LARGE": 1}, dropped={"tombstones": 6},
            rewritten={"ids": 8, "headers": 3}, unchanged={"ID_NONE": 2},
        ),
    ])  # fmt: skip
    for _ in range(3):
        meter.tried(Tried("topics", "CreateTopic"))
    for _ in range(2):  # the third was there already
        meter.created(0.25)
    meter.tried(Tried("topics", "AddPartitions"))
    meter.tried(Tried("topics", "CreateTopic", "CLUSTER_REFUSED"))
    meter.tried(Tried("topics", "AddPartitions", "STEP_OUTDATED"))
    meter.tried(Tried("acls", "CreateAcl", "CLUSTER_REFUSED"))
    meter.left_out({"rights": 2, "file": 1})
    meter.slots(4)
    meter.round_begins()
    meter.round_ended()
    meter.round_failed("CLUSTER")
    meter.in_trouble(True)
    meter.ids(2, {"SCHEMA_ID_ABSENT": 1})
    meter.groups_begin()
    counts = GroupCounts(
        translated=3, translation_errors=1, translation_ns=50, committed=2, commit_errors=1,
        commit_ns=700, syncs=1, writes=1,
    )  # fmt: skip
    for _ in range(2):
        meter.groups_synced({"g": counts}, {"CONFIRMED": 2, "NOT_ATTEMPTED": 1}, good=True)
    seen = {("versions", "there"): 4, ("skipped", "conflict"): 2, ("requests", "source"): 9}
    meter.schemas_seen(seen, time.monotonic())
    # A registry was away then: what is known stays.
    away = {("versions", "there"): 0, ("skipped", "registry"): 1, ("requests", "source"): 12}
    meter.schemas_seen(away, None)
    return meter


@contextmanager
def served(meter: LinkMeter, about: About = ABOUT) -> Iterator[str]:
    """Serve a meter; give its address."""
    (port,) = ports.reserve(1)
    with MetricsServer(("127.0.0.1", port), meter, lambda: measured(meter.read(), about)):
        yield f"127.0.0.1:{port}"


def scrape(meter: LinkMeter, about: About = ABOUT) -> Scrape:
    """Return what Prometheus gets of a meter."""
    with served(meter, about) as address:
        return Scrape(address)
