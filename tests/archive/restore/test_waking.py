"""Notifications of a real SQS server wake restores; what cannot be read is counted and leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from tests.support.objects import queues
from tests.support.objects.queues import LocalQueues, by_sns, notification
from towpath.archive.config import load_archive
from towpath.archive.restore.progress import RestoreProgress
from towpath.archive.restore.regions import Whole, waking
from towpath.archive.restore.task import RestoreTask
from towpath.archive.restore.waking import Bell, Waker
from towpath.settings import StoreConfig
from towpath.store.s3.events import CreatedObject

STORE = StoreConfig.model_validate({"url": "s3://bucket/data"})


def test_a_bell_hears_what_belongs_to_its_archive() -> None:
    bell = Bell(STORE, "eu")
    ours = ["data/eu/_log/00000000000000000007.json", "data/eu/orders/0/0/x", "data/a0f3/eu/o/1"]
    others = ["eu/orders/0", "data/eus/orders/0", "data/us/_log/1.json", "data/us/orders/eu/0"]
    for key in ours:
        assert bell.hear(CreatedObject("bucket", key)), key
        assert bell.asked()
        assert not bell.asked()
    for key in others:
        assert not bell.hear(CreatedObject("bucket", key)), key
    assert not bell.hear(CreatedObject("other", ours[0]))
    assert not bell.asked()


def test_a_queue_is_told_before_its_first_message(write: Callable[[str], Path]) -> None:
    """Else a counter of it would begin at 1, and no rate would see that."""
    file = write(
        "{kind: archive, archive: a, source: {bootstrap: 'h:1'}, region: eu,"
        " topics: {include: [a]}, store: {url: 's3://bucket/data'}, target: {bootstrap: 'h:2'},"
        " restore: {notify:"
        " {kind: sqs, queue: q, endpoint: 'http://127.0.0.1:1'}}}"
    )
    (task,) = RestoreTask.each(load_archive(file), follow=True)
    told: list[int] = []
    whole = Whole(lambda progress: told.append(counted(progress)), 1)
    with waking(task, [], whole):
        assert told[0] == 0


def counted(progress: RestoreProgress) -> int:
    assert progress.notified is not None
    return progress.notified.messages


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def to_file(text: str) -> Path:
        path = tmp_path / "archive.yaml"
        path.write_text(text)
        return path

    return to_file


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalQueues]:
    jars = queues.fetch()
    if jars is None:
        pytest.skip("ElasticMQ needs Maven")
    made = LocalQueues(jars, tmp_path_factory.mktemp("queues"))
    yield made
    made.stop()


@pytest.mark.soak
def test_messages_ring_and_are_deleted(server: LocalQueues) -> None:
    config = server.new("events", visibility="1s", retries=2)
    bells = Bell(STORE, "eu"), Bell(STORE, "us")
    waker = Waker(config, bells)
    waker.start()
    try:
        server.send("events", notification("bucket", "data/eu/_log/00000000000000000001.json"))
        wait_until(bells[0].asked, "the bell of a region rings")
        assert not bells[1].asked()
        server.send("events", by_sns(notification("bucket", "data/us/orders/0/0/1")))
        wait_until(bells[1].asked, "the bell of the other rings")
        server.send("events", notification("bucket", "data/elsewhere/1"))
        server.send("events", "poison")
        wait_until(lambda: waker.told.poison == 1, "poison is counted")
        wait_until(lambda: server.left("events") == 0, "all were deleted")
        assert (waker.told.messages, waker.told.objects, waker.told.trouble) == (4, 2, "")
        assert (waker.told.lag or 0) > 3600, "the events are of last year"
        assert str(waker.told).startswith("queue events: 4 messages, 1 of them could not be read")
    finally:
        waker.close()
        waker.join(20)


@pytest.mark.soak
def test_a_queue_that_is_missing_is_told_and_asked_again(server: LocalQueues) -> None:
    bell = Bell(STORE, "eu")
    config = server.new("made-later").model_copy(update={"queue": "later"})
    waker = Waker(config, [bell])
    waker.start()
    try:
        wait_until(lambda: bool(waker.told.trouble), "it is missing")
        assert "queue later" in waker.told.trouble
        server.client.create_queue(QueueName="later")
        server.send("later", notification("bucket", "data/eu/orders/0"))
        wait_until(bell.asked, "the bell rings")
        wait_until(lambda: not waker.told.trouble, "the trouble is over")
    finally:
        waker.close()
        waker.join(20)
