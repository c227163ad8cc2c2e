"""Records in quarantine on real brokers: listed, shown, and replayed once."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.copying.quarantine import begin, held, set_aside
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, set_config, wait_until
from tests.support.mirror import Mirror
from tests.support.program import Program
from towpath.cluster.codes import TOO_LARGE
from towpath.dev.broker import LocalCluster
from towpath.mirror.quarantine.quarantined import RecordFilter
from towpath.mirror.quarantine.replay import ReplayReport, ReplayRequest, replay
from towpath.mirror.quarantine.writing import ReplayWriter, Written
from towpath.model.errors import RefusedError
from towpath.model.nouns import Mode
from towpath.wire import plain

NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("aside"), records={"offsets": "mapped"})


def numbered(first: int, end: int) -> list[plain.Record]:
    return [plain.Record(b"k", b"aside %d" % n, (), 1000 + n, n) for n in range(first, end)]


def values(mirror: Mirror) -> list[bytes | None]:
    return [each.value for each in consume(mirror.target.bootstrap, mirror.topic)]


@pytest.mark.broker
def test_records_are_listed_shown_and_replayed_once(mirror: Mirror, here: Here) -> None:
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"first")])
    begin(mirror)
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    empty = here("quarantine", "ls", file)
    assert (empty.code, "no record of link" in empty.out) == (0, True), empty.said
    odd = plain.Record(
        b"\x00\xff", None, ((b"h", b"\x1b[31mred"), (b"towpath-quarantine", None)), 77, 5
    )
    set_aside(mirror, [odd, *numbered(10, 12)])
    set_aside(mirror, numbered(10, 11))  # once more, as after a crash
    set_aside(mirror, numbered(3, 4), producer=5)  # of an earlier mirror topic
    seen = here("quarantine", "ls", file, "-o", "json")
    assert seen.code == 3, seen.said
    assert seen.json["counts"] == [
        {
            "topic": mirror.topic,
            "reason": "RECORD_TOO_LARGE",
            "quarantined": 4,
            "replayed": 0,
            "outdated": 1,
            "skipped": 0,
        }
    ]
    name = f"{mirror.topic}-0@5"
    shown = here("quarantine", "show", file, name)
    assert shown.code == 0, shown.said
    assert "00 ff" in shown.out
    assert "\x1b" not in shown.out
    told = here("quarantine", "show", file, name, "-o", "json").json
    assert (told["timestamp"], told["key"], told["value"]) == (
        77, {"base64": "AP8=", "size": 2}, None
    )  # fmt: skip
    assert here("quarantine", "show", file, f"{mirror.topic}-0@6").code == 2
    unsure = here("quarantine", "replay", file, name)
    assert (unsure.code, "add --yes" in unsure.err) == (2, True), unsure.said
    assert here("quarantine", "replay", file).code == 2
    done = here("quarantine", "replay", file, name, "--yes", "-o", "json")
    assert done.code == 0, done.said
    assert done.json["replayed"] == [{"record": name, "target": f"{mirror.topic}-0"}]
    everything = here("quarantine", "replay", file, "--all", "--yes")
    assert (everything.code, "2 records replayed" in everything.out) == (0, True), everything.said
    again = here("quarantine", "replay", file, "--all", "--yes")
    assert (again.code, "0 records replayed" in again.out) == (3, True), again.said
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"last")])
    assert [each.error for each in mirror.catch_up()] == [""]
    found = consume(mirror.target.bootstrap, mirror.topic)
    assert [each.value for each in found] == [b"first", None, b"aside 10", b"aside 11", b"last"]
    assert (found[1].key, found[1].timestamp) == (b"\x00\xff", 77)
    *own, (header, origin) = found[1].headers
    assert own == [("h", b"\x1b[31mred"), ("towpath-quarantine", None)]
    assert (header, json.loads(origin or b"")[1:4]) == ("towpath-replayed", [mirror.topic, 0, 5])
    listed = here("quarantine", "ls", file, "--closed", "-o", "json")
    assert (listed.code, len(listed.json["records"])) == (0, 4), listed.said
    assert here("quarantine", "ls", file, "--open").code == 0
    assert "of the quarantine topic replayed" in here("history", file).out


@pytest.mark.broker
def test_identical_offsets_are_not_shifted_by_accident(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("identical"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"first")])
    begin(mirror)
    set_aside(mirror, numbered(0, 1))
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    kept = here("quarantine", "replay", file, "--all", "--yes")
    assert (kept.code, "name --shift" in kept.out) == (3, True), kept.said
    assert values(mirror) == [b"first"]
    done = here("quarantine", "replay", file, "--all", "--yes", "--shift")
    assert done.code == 0, done.said
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"last")])
    mirror.catch_up()
    assert values(mirror) == [b"first", b"aside 0", b"last"]
    assert mirror.books().mode is Mode.MAPPED


@pytest.mark.broker
def test_a_record_that_is_refused_again_stays(mirror: Mirror, here: Here) -> None:
    create_topic(mirror.source.bootstrap, mirror.topic)
    create_topic(mirror.target.bootstrap, mirror.topic, config={"max.message.bytes": "10000"})
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"first")])
    begin(mirror)
    large = plain.Record(b"k", random.Random(1).randbytes(20_000), (), 1, 50)
    set_aside(mirror, [*numbered(10, 15), large, *numbered(60, 65)])
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    done = here("quarantine", "replay", file, "--all", "--yes", "-o", "json")
    assert done.code == 3, done.said
    assert len(done.json["replayed"]) == 10
    [left] = done.json["left"]
    assert left["record"] == f"{mirror.topic}-0@50"
    assert "MESSAGE_TOO_LARGE" in left["why"]
    set_config(mirror.target.bootstrap, mirror.topic, "max.message.bytes", "100000")
    assert here("quarantine", "replay", file, "--all", "--yes").code == 0
    assert Counter(values(mirror)) == Counter(
        [b"first", large.value, *(each.value for each in (*numbered(10, 15), *numbered(60, 65)))]
    )


@pytest.mark.broker
@pytest.mark.soak
def test_replays_that_are_killed_or_race_write_each_record_once(
    mirror: Mirror, rng: random.Random
) -> None:
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"first")])
    begin(mirror)
    records = numbered(1, 20_001)
    set_aside(mirror, records)
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    for attempt in range(8):
        running = [
            Program(
                mirror.folder, "quarantine", "replay", file, "--all", "--yes",
                name=f"replay-{attempt}-{n}",
            )
            for n in range(1 + attempt % 2)
        ]  # fmt: skip
        begun = "each has shown its plan, behind which it writes"
        wait_until(lambda: all(p.said or not p.running for p in running), begun)  # noqa: B023
        time.sleep(rng.uniform(0.0, 2.0))
        for each in running:
            each.send(9)
        for each in running:
            each.wait()
        if all(each.replay for each in held(mirror)):
            break
    last = Program(mirror.folder, "quarantine", "replay", file, "--all", "--yes", name="last")
    assert last.wait(300) in {0, 3}, last.said
    assert all(each.replay for each in held(mirror))
    assert Counter(values(mirror)) == Counter([b"first", *(each.value for each in records)])


@pytest.mark.broker
@pytest.mark.soak
def test_a_replay_that_another_one_overtook_while_a_record_was_refused_writes_nothing_more(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins again after the refusal, and must not write what the other one has written."""
    create_topic(mirror.source.bootstrap, mirror.topic)
    create_topic(mirror.target.bootstrap, mirror.topic, config={"max.message.bytes": "10000"})
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"first")])
    begin(mirror)
    large = plain.Record(b"k", random.Random(1).randbytes(20_000), (), 1, 50)
    small = [*numbered(10, 15), *numbered(60, 65)]
    set_aside(mirror, [*small, large])
    asked = ReplayRequest(RecordFilter(), shift=False, agreed=lambda *_: True)
    others: list[ReplayReport] = []
    write = ReplayWriter.write

    def overtaken(self: ReplayWriter, records: Sequence[Written]) -> None:
        try:
            write(self, records)
        except RefusedError as error:
            if error.error in TOO_LARGE and not others:
                monkeypatch.setattr(ReplayWriter, "write", write)
                others.append(replay(mirror.config, asked))
            raise

    monkeypatch.setattr(ReplayWriter, "write", overtaken)
    with pytest.raises(RefusedError, match="INVALID_PRODUCER_EPOCH"):
        replay(mirror.config, asked)
    assert [len(each.done) for each in others] == [10]
    assert Counter(values(mirror)) == Counter([b"first", *(each.value for each in small)])
    set_config(mirror.target.bootstrap, mirror.topic, "max.message.bytes", "100000")
    assert [each.key.offset for each in replay(mirror.config, asked).done] == [50]
