"""What comes to the source of a topic that has moved is kept aside once, and replayed once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from tests.support.copying.chaos import soak_rounds
from tests.support.copying.quarantine import begin
from tests.support.failback import cut
from tests.support.here import Here
from tests.support.kafka import Record, consume, produce, set_config, wait_until
from tests.support.mirror import Mirror
from tests.support.program import Program
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import Promoted, PromotedTopic
from towpath.ledger.link import open_link
from towpath.ledger.states import Mover, begun
from towpath.mirror.failback import stray_loop
from towpath.mirror.failback.salvage.salvage import _pairs
from towpath.mirror.failback.stray_loop import StrayLoop
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.status.partitions import status
from towpath.model.nouns import LinkName, TopicId, TopicName
from towpath.runtime.backoff import BackOff
from towpath.wire import plain

NewName = Callable[[str], str]
BOTH = 10
BY = Mover("ann", "ops-1", 1)


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    """Return a link that has copied ten records to two partitions, and was cut there."""
    made = Mirror(tmp_path, source, target, new_name("strays"))
    made.create(2)
    both = [Record(b"k", b"both %d" % n, partition=n % 2) for n in range(BOTH)]
    produce(source.bootstrap, made.topic, both)
    begin(made)
    cut(made, 2)
    return made


def move(mirror: Mirror) -> None:
    """Let the topic be over for its link, as a promotion does in the end."""
    state = begun(LinkName(mirror.topic), TopicName(mirror.topic))
    mirror.note(state.seal(BY, 0).commit(BY, 0).fail_over(BY).entry)


def file(mirror: Mirror) -> str:
    return str(mirror.folder / f"{mirror.config.link}.yaml")


def delete_at_source(mirror: Mirror) -> None:
    """Delete all that the source has, as its retention would."""
    admin = AdminClient({"bootstrap.servers": mirror.source.bootstrap})
    places = [Place(mirror.topic, n, -1) for n in range(2)]
    for each in admin.delete_records(places).values():
        each.result(30)


@pytest.mark.broker
def test_strays_are_kept_once_outlive_the_source_and_are_replayed_once(
    mirror: Mirror, here: Here
) -> None:
    source, target, topic = mirror.source.bootstrap, mirror.target.bootstrap, mirror.topic
    produce(source, topic, [Record(b"k", b"early")])
    none = here("salvage", "keep", file(mirror), "-o", "json")
    assert (none.code, none.json["records"]) == (0, 0), "nothing has moved, so none is a stray"
    move(mirror)
    produce(target, topic, [Record(b"k", b"client")])
    produce(source, topic, [Record(None, b"x", (("h", None),), 77), Record(b"k", None, (), 78)])
    open_one = Producer({"bootstrap.servers": source, "transactional.id": f"{topic}-open"})
    open_one.init_transactions(30)
    open_one.begin_transaction()
    open_one.produce(topic, b"in a transaction", partition=0)
    assert open_one.flush(30) == 0
    status = here("status", file(mirror))
    assert "of the source, of what failed over, will not be copied" in status.said
    assert "`towpath salvage keep FILE` keeps them aside" in status.said
    held = here("salvage", "keep", file(mirror), "-o", "json")
    assert (held.code, held.json["records"]) == (3, 3), held.said
    assert "a transaction is open at the source from offset" in held.json["left_out"][0]
    open_one.commit_transaction(30)
    last = here("salvage", "keep", file(mirror), "-o", "json")
    assert (last.code, last.json["records"], last.json["left"]) == (0, 1, 4), last.said
    again = here("salvage", "keep", file(mirror), "-o", "json")
    assert (again.code, again.json["records"]) == (0, 0)
    tail = [(each.key, each.value, each.timestamp) for each in consume(source, topic)][5:]
    delete_at_source(mirror)
    listed = here("salvage", "ls", file(mirror), "-o", "json")
    (row,) = listed.json["partitions"]
    assert (row["records"], row["missing"], row["deleted"], row["replayed"]) == (4, 0, 0, 0)
    for _ in range(2):
        done = here("salvage", "replay", file(mirror), "--all", "--yes", "-o", "json")
        assert (done.code, done.json["left"]) == (0, 0), done.said
    after = consume(target, topic)[5:]
    assert [(each.key, each.value, each.timestamp) for each in after[1:]] == tail
    assert after[0].value == b"client"
    produce(source, topic, [Record(b"k", b"later")])
    more = here("salvage", "keep", file(mirror), "-o", "json")
    assert (more.json["records"], more.json["left"]) == (1, 1), more.said
    status = here("status", file(mirror))
    assert f"all of it is kept aside: 5 records of {topic}, replay with `towpath" in status.said
    done = here("salvage", "replay", file(mirror), "--topics", topic, "--yes")
    assert done.code == 0
    assert consume(target, topic)[-1].value == b"later"


def promote(mirror: Mirror) -> None:
    """Let a gateway have moved the topic."""
    move(mirror)
    link, topic = LinkName(mirror.topic), TopicName(mirror.topic)
    moved = PromotedTopic(topic=topic, source_id=TopicId(""), target_id=TopicId(""), partitions=())
    mirror.note(Promoted(link=link, name="p", topics=(moved,), groups=(), at=1))


@contextmanager
def looking(mirror: Mirror, progress: RunProgress) -> Iterator[None]:
    """Look where the link stands, again and again, as a run does."""
    over = threading.Event()

    def look() -> None:
        with open_link(mirror.config) as link:
            while not over.wait(0.2):
                link.read()
                progress.rows = status(link.config, link.books, link.source, link.target)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.broker
def test_a_run_keeps_them_by_itself_and_says_what_hinders_it(
    mirror: Mirror, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stray_loop, "_EVERY", 0.1)
    monkeypatch.setattr(stray_loop, "_AGAIN", BackOff(first=0.5, longest=0.5))
    promote(mirror)
    source, target, topic = mirror.source.bootstrap, mirror.target.bootstrap, mirror.topic
    produce(target, topic, [Record(b"k", b"client")])
    progress = RunProgress()
    loop = StrayLoop(mirror.config, progress, lambda: None)

    def said() -> str:
        return f"{loop.sentences}"

    with looking(mirror, progress):
        loop.start()
        try:
            produce(source, topic, [Record(b"k", b"0"), Record(b"k", b"1", partition=1)])
            wait_until(lambda: "kept aside: 2 records" in said(), said, 60)
            set_config(target, f"{topic}.salvage", "max.message.bytes", "1000")
            produce(source, topic, [Record(b"k", random.Random(1).randbytes(2000))])
            wait_until(lambda: f"not kept aside: {topic}: " in said(), said, 60)
            rows = here("status", file(mirror), "-o", "json").json["partitions"]
            assert [row["stray_offsets_not_kept"] for row in rows] == [1, 0]
            assert [row["stray_records"] for row in rows] == [1, 1]
            set_config(target, f"{topic}.salvage", "max.message.bytes", "100000")
            wait_until(lambda: "not kept" not in said(), said, 60)
            for number in range(5):  # the command and the run fence each other
                produce(source, topic, [Record(b"k", b"more %d" % number)])
                done = here("salvage", "keep", file(mirror), "-o", "json")
                assert done.code == 0, done.said
            last = here("salvage", "keep", file(mirror), "-o", "json").json
            assert (last["partitions"][0]["records"], last["left"]) == (7, 8)
        finally:
            loop.close()
    kept = consume(target, f"{topic}.salvage", (0, 1))
    there = [each.value or b"" for each in consume(source, topic, (0, 1))]
    tail = [each for each in there if not each.startswith(b"both")]
    assert len(tail) == 8
    assert [each.value for each in kept] == tail
    assert [len(mirror.books(n).salvaged) for n in range(2)] == [1, 1]


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_run_that_is_killed_keeps_each_once(mirror: Mirror, rng: random.Random) -> None:
    """kill -9 of the run at any moment, while records go on coming."""
    promote(mirror)
    source, topic, written = mirror.source.bootstrap, mirror.topic, 0
    filler = b"." * 300
    module = "tests.support.copying.light_run"
    for number in range((soak_rounds() or 20) // 2):
        run = Program(mirror.folder, file(mirror), name=f"run-{number}", module=module)
        until = time.monotonic() + rng.uniform(5.0, 25.0)
        while time.monotonic() < until:
            some = [Record(b"k", b"%d " % (written + n) + filler) for n in range(500)]
            produce(source, topic, some)
            written += len(some)
            time.sleep(rng.uniform(0.1, 2.0))
        run.kill9()
    run = Program(mirror.folder, file(mirror), name="run-last", module=module)

    def is_kept() -> bool:
        return sum(each.records for n in range(2) for each in mirror.books(n).salvaged) == written

    try:
        wait_until(is_kept, lambda: run.said, 300)
        assert run.stop() == 0
    except AssertionError:
        run.kill9()
        raise
    kept = [each.value for each in consume(mirror.target.bootstrap, f"{topic}.salvage", (0, 1))]
    assert [int((each or b"-1").split()[0]) for each in kept] == [*range(written)]
    assert len(mirror.books(0).salvaged) == 1


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_each_is_there_once_wherever_it_is_killed(
    mirror: Mirror, here: Here, rng: random.Random
) -> None:
    """kill -9 at any moment, of keeping and of replaying, while records go on coming."""
    move(mirror)
    source, topic, written = mirror.source.bootstrap, mirror.topic, 0
    filler = b"." * 800
    for word, options in (("keep", ()), ("replay", ("--all", "--yes"))):
        for number in range((soak_rounds() or 40) // 2):
            if word == "keep":
                some = [Record(b"k", b"%d " % (written + n) + filler) for n in range(2000)]
                produce(source, topic, some)
                written += len(some)
            command = Program(
                mirror.folder, "salvage", word, file(mirror), *options, name=f"{word}-{number}"
            )
            try:
                command.wait(rng.uniform(0.3, 4.0))
            except AssertionError:
                command.kill9()
        last = here("salvage", word, file(mirror), *options, "-o", "json")
        assert last.code == 0, last.said
    kept = [each.value for each in consume(mirror.target.bootstrap, f"{topic}.salvage", (0, 1))]
    numbers = [int(each.split()[0]) for each in kept if each is not None]
    assert numbers == [*range(written)], "marks have no value"
    there = [each.value or b"" for each in consume(mirror.target.bootstrap, topic)][BOTH // 2 :]
    assert [int(each.split()[0]) for each in there] == [*range(written)]


def records(*offsets: int) -> list[plain.Record]:
    return [plain.Record(b"k", b"%d" % each, (), 1, each) for each in offsets]


def test_what_a_compacted_source_removed_meanwhile_is_no_difference() -> None:
    saved = records(10, 11, 12, 15)
    for left in ((10, 11, 12, 15), (12, 15), (15,), ()):
        pairs = [*_pairs(iter(records(*left)), iter(saved), lone=True)]
        assert [one == other for one, other in pairs] == [True] * 4
    lost = [*_pairs(iter(records(12, 13, 15)), iter(saved), lone=True)]
    assert any(one != other for one, other in lost), "a record that is not salvaged is one"
    more = [*_pairs(iter(records(15, 16)), iter(saved), lone=True)]
    assert more[-1] == (records(16)[0], None)
    plainly = [*_pairs(iter(records(12, 15)), iter(saved), lone=False)]
    assert any(one != other for one, other in plainly), "elsewhere nothing vanishes"
