"""What a plan tells of partitions before a run opens them; a run then does just that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.kafka import Record, commit, consume, create_topic, delete_before, grow, produce
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import LinkIdentity
from towpath.mirror.plan.link_plan import build
from towpath.model.nouns import ClusterId, LinkName, Mode
from towpath.records.trouble import RECREATED
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("forecast"))


def write(cluster: LocalCluster, topic: str, count: int, partition: int = 0) -> None:
    records = [Record(b"k", b"%d" % i, partition=partition) for i in range(count)]
    produce(cluster.bootstrap, topic, records)


def told(mirror: Mirror) -> tuple[int, list[str]]:
    """Return the exit code, notes and problems of a plan, but for configs of others' groups."""
    plan = build(mirror.config)
    notes = [f"{n.about}: {n.text}" for n in plan.notes if n.about != "groups.configs"]
    return plan.exit_code, notes + [f"{each.about}: {each.text}" for each in plan.problems]


def test_partitions_that_will_be_mapped_are_noted(mirror: Mirror) -> None:
    mirror.create(2)
    write(mirror.source, mirror.topic, 10)
    for partition in (0, 1):
        write(mirror.target, mirror.topic, 3, partition)
    why = "partition 0: the target partition ended at offset 3 already, and 1 more"
    assert told(mirror) == (0, [f"{mirror.topic}: offsets will be mapped: {why}"])
    assert [done.mode for done in mirror.catch_up()] == [Mode.MAPPED, Mode.MAPPED]
    assert told(mirror) == (0, [])


def test_a_compacted_topic_that_begins_late_is_noted(mirror: Mirror) -> None:
    create_topic(mirror.source.bootstrap, mirror.topic, 1, {"cleanup.policy": "compact,delete"})
    write(mirror.source, mirror.topic, 10)
    delete_before(mirror.source.bootstrap, mirror.topic, 4)
    text = (
        "offsets stay identical: at most 10 offsets that compaction left empty are filled with"
        " markers on the target, 780 B until its cleaner removes them, in 0.0 s or more"
    )
    assert f"{mirror.topic}: {text}" in told(mirror)[1]
    mirror.records = {"fill": "7"}
    more = "; a partition with more than 7 such offsets (`records.fill`) becomes mapped"
    assert any(note.endswith(more) for note in told(mirror)[1])
    mirror.records = {"fill": "3"}
    why = "partition 0: a compacted topic cannot be made to begin at offset 4"
    assert f"{mirror.topic}: offsets will be mapped: {why}" in told(mirror)[1]


def test_offsets_that_cannot_be_identical_are_a_problem(mirror: Mirror) -> None:
    mirror.create()
    write(mirror.target, mirror.topic, 3)
    mirror.records = {"offsets": "identical"}
    sentence = (
        f"{mirror.topic}: offsets cannot stay identical: partition 0: the target partition ended at"
        " offset 3 already; set `records.offsets: auto` to have such partitions mapped"
    )
    assert told(mirror) == (3, [sentence])
    mirror.records = {"offsets": "mapped"}
    assert told(mirror) == (0, [])


def test_a_group_without_offsets_is_a_fault_of_the_file(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.create(2)
    write(mirror.source, mirror.topic, 10)
    mirror.records = {"start": "committed", "group": mirror.topic}
    sentence = (
        f"group {mirror.topic} has committed no offset on any of the 2 new partitions; correct its"
        " name, or take `start: earliest`"
    )
    assert told(mirror) == (2, [f"records.group: {sentence}"])
    assert main(["plan", str(mirror.folder / f"{mirror.topic}.yaml")]) == 2
    assert sentence in " ".join(capsys.readouterr().out.split())
    mirror.records |= {"commit": "5s"}  # a group of the link itself begins with nothing
    assert told(mirror)[0] == 0
    assert "no offset on 2 of 2 new partitions" in " ".join(told(mirror)[1])
    del mirror.records["commit"]
    commit(mirror.source.bootstrap, mirror.topic, mirror.topic, 0, 4)
    code, notes = told(mirror)
    assert code == 0
    assert (
        f"records.group: group {mirror.topic} has committed no offset on 1 of 2 new partitions,"
        f" such as {mirror.topic}-1; they are copied from earliest"
    ) in notes
    assert [done.records for done in mirror.catch_up()] == [6, 0]
    for cluster in (mirror.source, mirror.target):
        grow(cluster.bootstrap, mirror.topic, 3)
    code, notes = told(mirror)
    assert (code, len(notes)) == (0, 2), "a link that ran goes on beside new partitions"
    assert any("on 1 of 1 new partitions" in note for note in notes)
    assert any(note.startswith("records.start: 4 source offsets in 1 part") for note in notes)


def test_a_commit_beyond_the_end_of_the_log_skips_nothing(mirror: Mirror) -> None:
    mirror.create(2)
    write(mirror.source, mirror.topic, 10)
    mirror.records = {"start": "committed", "group": mirror.topic}
    commit(mirror.source.bootstrap, mirror.topic, mirror.topic, 0, 100)
    commit(mirror.source.bootstrap, mirror.topic, mirror.topic, 1, 0)
    code, notes = told(mirror)
    assert code == 0
    assert (
        f"records.group: group {mirror.topic} stands at offset 100 of {mirror.topic}-0, which ends"
        " at 10, and beyond the end of 1 of 2 new partitions in all: another log was there when it"
        " committed, so they are copied from earliest"
    ) in notes
    assert {done.tp.partition: done.records for done in mirror.catch_up()} == {0: 10, 1: 0}
    write(mirror.source, mirror.topic, 3)
    assert {done.tp.partition: done.records for done in mirror.catch_up()}[0] == 3


def test_what_appears_after_the_link_began_is_copied_from_its_beginning(mirror: Mirror) -> None:
    mirror.create()
    mirror.records = {"start": "latest"}
    write(mirror.source, mirror.topic, 10)
    assert [done.records for done in mirror.catch_up()] == [0]
    for cluster in (mirror.source, mirror.target):
        grow(cluster.bootstrap, mirror.topic, 2)
    write(mirror.source, mirror.topic, 5, partition=1)
    assert {done.tp.partition: done.records for done in mirror.catch_up()} == {0: 0, 1: 5}
    assert len(consume(mirror.target.bootstrap, mirror.topic, (0, 1))) == 5


def test_a_link_of_other_clusters_is_refused(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.create()
    mirror.catch_up()
    link = LinkName(mirror.topic)
    now = (ClusterId(mirror.source.cluster_id), ClusterId(mirror.target.cluster_id))
    mirror.note(LinkIdentity(link, ClusterId("another"), now[1]))
    sentence = (
        f"link {link} mirrors cluster another to {now[1]}, but the file names {now[0]} and"
        f" {now[1]}; correct the addresses, or take another `link` name for other clusters"
    )
    assert told(mirror) == (4, [f"link: {sentence}"])
    for command in ("plan", "status", "verify"):
        assert main([command, str(mirror.folder / f"{link}.yaml")]) == 4
        shown = capsys.readouterr()
        assert sentence in " ".join((shown.out + shown.err).split())


def test_a_topic_that_was_made_again_at_the_source_is_a_problem(mirror: Mirror) -> None:
    mirror.create()
    write(mirror.source, mirror.topic, 10)
    mirror.catch_up()
    delete_topic(mirror.source.bootstrap, mirror.topic)
    create_topic(mirror.source.bootstrap, mirror.topic)
    advice = f"`towpath restart FILE --topics {mirror.topic}` copies the new one"
    assert told(mirror) == (3, [f"{mirror.topic}: source: {RECREATED}; {advice}"])
    assert mirror.slices() == []
    mirror.records = {"on_gap": "record"}
    assert told(mirror)[0] == 0
    assert len(mirror.slices()) == 1


def test_history_that_the_target_forgets_while_it_is_copied_is_noted(mirror: Mirror) -> None:
    day = 86_400_000
    create_topic(mirror.source.bootstrap, mirror.topic, 2)
    write(mirror.source, mirror.topic, 10, 1)
    assert told(mirror) == (0, [])
    old = [Record(b"k", b"v", (), now_ms() - 40 * day, -1, number) for number in (0, 1)]
    produce(mirror.source.bootstrap, mirror.topic, old)
    code, notes = told(mirror)
    assert code == 0
    assert (
        "history is up to 40d 0h old, older than the target's producer.id.expiration.ms"
        in (notes[0])
    )
    assert (notes[0].startswith(f"{mirror.topic}: "), len(notes)) == (True, 1)
    mirror.records = {"start": "latest"}
    code, notes = told(mirror)
    assert (code, len(notes)) == (0, 1), "what is not copied need not be kept"
    assert notes[0].startswith("records.start: 12 source offsets in 2 partitions")
