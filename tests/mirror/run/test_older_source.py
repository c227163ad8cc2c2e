"""A link from the oldest Kafka to the newest one takes what present configs would refuse."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, set_config
from tests.support.subjects.topic_sides import Sides
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import TopicName

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_records_that_are_older_than_configs_arrive(
    oldest: LocalCluster,
    target: LocalCluster,
    here: Here,
    tmp_path: Path,
    new_name: Callable[[str], str],
) -> None:
    prefix = new_name("older")
    names = keyless, large, small = [f"{prefix}-{end}" for end in ("keyless", "large", "small")]
    at = oldest.bootstrap
    create_topic(at, keyless, 1)
    produce(at, keyless, [Record(None, b"no key %d" % n) for n in range(20)])
    set_config(at, keyless, "cleanup.policy", "compact")
    produce(at, keyless, [Record(b"k%d" % n, b"v") for n in range(20)])
    create_topic(at, large, 1, {"max.message.bytes": "4194304"})
    produce(at, large, [Record(b"k", os.urandom(2_000_000))], {"message.max.bytes": 4194304})
    set_config(at, large, "segment.bytes", "1048576")
    create_topic(at, small, 1, {"segment.bytes": "65536"})
    produce(at, small, [Record(b"k", b"v", timestamp=4_000_000_000_000)])

    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{at}'}}\ntarget: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {prefix}\ntopics: {{include: ['{prefix}-.*']}}\nrecords: {{start: earliest}}\n"
    )
    planned = here("plan", str(file))
    assert planned.code == 0, planned.said
    assert "what Kafka 4 refuses:" in planned.out
    ran = here.run(str(file), "--until-caught-up")
    assert ran.code == 0, ran.said
    for name in names:
        assert consume(target.bootstrap, name) == consume(at, name)
    with Sides(oldest, target).target as admin:
        configs = admin.configs.describe(map(TopicName, names))
    final = {str(n): {key: e.value for key, e in each.items()} for n, each in configs.items()}
    assert final[keyless]["cleanup.policy"] == "compact"
    assert final[large]["segment.bytes"] == final[small]["segment.bytes"] == "1048576"
    again = here("diff", str(file))
    assert again.code == 0, again.said
