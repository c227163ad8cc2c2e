"""A source topic that was made again is restarted beside a run that goes on."""

from __future__ import annotations

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.links import Link

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]


def test_the_mirror_topic_is_kept_while_the_run_goes_on(link: Link, here: Here) -> None:
    topic, file, boot = link.name, str(link.file), link.source.bootstrap
    create_topic(boot, topic)
    produce(boot, topic, [Record(b"k", b"old")] * 5)
    run = link.run_inside()
    link.wait_for(run, topic, 0, 120)
    delete_topic(boot, topic)
    create_topic(boot, topic)
    produce(boot, topic, [Record(b"k", b"new")] * 2)
    advice = f"`towpath restart FILE --topics {topic}` copies the new one"
    wait_until(lambda: advice in " ".join(here("status", file).out.split()), "it stops")
    kept = here("restart", file, "--topics", topic, "--keep", "--yes")
    assert kept.code == 0, kept.said

    def values() -> list[bytes | None]:
        assert run.running, run.said
        return [each.value for each in consume(link.target.bootstrap, topic)]

    wait_until(lambda: len(values()) >= 7, "the new records come behind the old ones")
    assert values() == [*[b"old"] * 5, *[b"new"] * 2]
    wait_until(lambda: here("status", file).code == 0, "nothing is left out any more")
    run.stop()
