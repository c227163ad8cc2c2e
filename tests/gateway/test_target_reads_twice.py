"""Two gateways whose clients read from the target, through TLS: members of a group wait at both."""

from __future__ import annotations

import pytest

from tests.support.clients.gateways import (
    all_read_by,
    another,
    bootstrap_of,
    ends_of,
    go_on,
    promoted,
    served,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clusters.certificates import Vault
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}


@pytest.mark.timeout(900)
def test_members_wait_at_both_gateways_and_go_on_together(
    reading_link: Link, here: Here, vault: Vault
) -> None:
    link, of = reading_link, vault.broker
    tls = f"tls: {{cert: '{of.certificate}', key: '{of.key}'}}"
    link.gateway = link.gateway.replace("reads: target", f"reads: target, {tls}")
    second = another(link)
    secure = {"security.protocol": "SSL", "ssl.ca.location": str(vault.ca)}
    topic = create_topic(link.source.bootstrap, f"{link.name}.both", PARTITIONS)
    run = link.run_inside()
    old = Traffic(link.source.bootstrap, topic)
    both = [Traffic(bootstrap_of(each), topic, security=secure) for each in (link, second)]
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    try:
        wait_for_end(link.target, topic, -1, run)
        old.join(classic, **OFTEN)
        old.join(new, **{"group.protocol": "consumer"})
        served(link)
        served(second)
        for number, each in enumerate(both):
            each.write(number)
        go_on(old, classic, new)
        old.close()
        for each in both:
            each.join(classic, **OFTEN)
            each.join(new, **{"group.protocol": "consumer"})

        def told() -> list[str]:
            names = f"{classic},{new}"
            asked = here("promote", str(link.file), "--groups", names, "--dry-run", "-o", "json")
            return list(asked.json["told"])

        wanted = {f"group {group}: 2 of 2 members wait here" for group in (classic, new)}
        wait_until(lambda: wanted <= {*told()}, "members at both gateways are counted", 60)
        wait_for_end(link.target, topic, 20, run)
        promoted(here, link, "--groups", classic)
        promoted(here, second, "--groups", new)
        for each in both:
            go_on(each, classic, new)
        done = promoted(here, link)
        ends = ends_of(link.source, topic)
        for each in both:
            go_on(each, classic, new)
        for each in both:
            each.end_writing()
        sent = both[0].sent | both[1].sent
        all_read_by([old, *both], sum(sent.values()), classic, new)
    finally:
        for each in (old, *both):
            each.close()
    assert [each.errors for each in (old, *both)] == [[], [], []]
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(Traffic("", topic, sent=sent), link.target.bootstrap)
    print(f"held {done['held_ms']}")  # noqa: T201
