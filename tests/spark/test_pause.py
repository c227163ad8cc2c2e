"""Topics that are paused while a run goes on, kept over the death of its JVM, and resumed."""

from __future__ import annotations

import pytest

from tests.support.here import MASTER, Here
from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.links import Link, end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(400)]


@pytest.mark.spark(long=True)
def test_a_paused_topic_rests_and_goes_on_where_it_stood(link: Link, here: Here) -> None:
    paused, other = f"{link.name}.paused", f"{link.name}.other"
    source, target, file = link.source, link.target, str(link.file)

    def write() -> None:
        for topic in (paused, other):
            produce(source.bootstrap, topic, [Record(b"k", b"v")] * 10)

    def states() -> dict[str, str]:
        rows = here("status", file, "--output", "json").json["partitions"]
        return {row["topic"]: row["state"] for row in rows}

    for topic in (paused, other):
        create_topic(source.bootstrap, topic)
    write()
    run = link.start("run", "--master", "local[2]")
    for topic in (paused, other):
        link.wait_for(run, topic, 0, 120)
    said = here("pause", file, "--topics", paused)
    assert (said.code, f"topic {paused} is paused by " in said.out) == (0, True), said.said
    wait_until(lambda: f"about={paused}-0" in run.said and "state=paused" in run.said, "it pauses")
    wait_until(lambda: states()[paused] == "paused", "status says so")
    write()
    link.wait_for(run, other)
    assert end(target, paused) == 10
    assert here("resume", file).code == 0
    link.wait_for(run, paused)
    assert here("pause", file).code == 0
    wait_until(lambda: set(states().values()) == {"paused"}, "the whole link pauses")
    run.jvm().kill()
    assert run.wait() == 1, run.said
    assert "Spark's JVM ended all at once (killed, or out of memory:" in run.said
    write()
    for command in (("plan",), ("cutover", "--dry-run", "--quiet", "0", *MASTER)):
        named = here(command[0], file, *command[1:])
        assert "all topics are paused by " in " ".join(named.out.split()), named.said
    ended = here.run(file, "--until-caught-up")
    assert ended.code == 3, ended.said
    assert "all topics are paused by " in ended.out
    refused = here("resume", file, "--topics", paused)
    assert (refused.code, "all topics of link" in refused.err) == (2, True)
    assert here("resume", file).out.startswith(f"nothing of link {link.name} is paused")
    assert here.run(file, "--until-caught-up").code == 0
    assert link.assert_same(paused) == link.assert_same(other) == 30
    told = here("history", file).out
    assert f"topic {paused} was paused" in told
    assert "all topics were resumed" in told
    unknown = here("pause", file, "--topics", "typo")
    assert (unknown.code, "does not mirror a source topic named typo" in unknown.err) == (2, True)
