"""A store that is slow, cut off, or away for a while."""

from __future__ import annotations

import random
import threading
import time

import pytest

from tests.support.kafka import wait_until
from tests.support.network.toxiproxy import Toxiproxy
from tests.support.objects.stores import REMOTE, StoreLine
from towpath.model.errors import StoreAwayError
from towpath.settings import Duration, Size, StoreConfig
from towpath.store import Store
from towpath.store.files.files import FilesBackend
from towpath.store.s3.s3 import S3Backend

MIB = 1 << 20
PARTS = Size.parse("5MiB")
PATIENT = {"timeout": "30s"}


@pytest.fixture(params=REMOTE)
def behind(request: pytest.FixtureRequest, line: Toxiproxy) -> StoreLine:
    """Return the line to stores of a kind."""
    return StoreLine(request, request.param, line)


@pytest.mark.soak
def test_a_slow_line_breaks_nothing_that_moves(behind: StoreLine) -> None:
    """No single piece takes longer than the timeout, though all of a part does."""
    behind.spoil("bandwidth", "upstream", rate=4_000)
    behind.spoil("bandwidth", "downstream", rate=8_000)
    behind.spoil("latency", latency=100)
    data = random.Random(1).randbytes(40 * MIB)
    with Store(behind.new(**PATIENT, part_size=Size.parse("32MiB"), request_timeout="4s")) as store:
        begun = time.monotonic()
        with store.writer("large") as writer:
            writer.write(data)
        assert time.monotonic() - begun > 8
        assert store.get("large") == data


@pytest.mark.soak
@pytest.mark.parametrize("size", [2 * MIB, 10 * MIB])
def test_a_line_of_64_kilobytes_each_second_is_used_with_the_patience_of_the_defaults(
    behind: StoreLine, size: int
) -> None:
    """What a request has sent may wait in buffers for longer than an answer may take."""
    behind.spoil("bandwidth", "upstream", rate=64)
    data = random.Random(1).randbytes(size)
    with Store(behind.new(timeout="2m")) as store:
        with store.writer("object") as writer:
            writer.write(data)
        assert store.get("object") == data
        assert store.abort_uploads("", 0) == []


def test_a_line_that_is_cut_in_the_middle_is_tried_again(behind: StoreLine) -> None:
    data = random.Random(1).randbytes(8 * MIB)
    with Store(behind.new(**PATIENT, part_size=PARTS)) as store:
        store.put_new("object", data)
        behind.spoil("limit_data", bytes=3 * MIB)
        healed = threading.Timer(0.5, behind.heal)
        healed.start()
        assert store.get("object") == data
        behind.spoil("limit_data", "upstream", bytes=3 * MIB)
        healed = threading.Timer(0.5, behind.heal)
        healed.start()
        store.put_new("other", data)
        assert store.get("other") == data
        with store.writer("large") as writer:
            writer.write(data)
            behind.spoil("limit_data", "upstream", bytes=3 * MIB)
            healed = threading.Timer(0.5, behind.heal)
            healed.start()
            writer.write(data)
        assert store.get_whole("large") == data * 2


def test_a_store_that_comes_back_is_used_again(behind: StoreLine) -> None:
    with Store(behind.new(**PATIENT)) as store:
        behind.cut()
        done = threading.Event()

        def put() -> None:
            store.put_new("a", b"x")
            done.set()

        thread = threading.Thread(target=put)
        thread.start()
        assert not done.wait(1)
        behind.heal()
        wait_until(done.is_set, "the object is written")
        thread.join()
        assert store.get("a") == b"x"


@pytest.mark.soak
def test_an_answer_that_comes_too_late_is_not_taken_for_another_writer(behind: StoreLine) -> None:
    with Store(behind.new(**PATIENT, request_timeout="500ms")) as store:
        for number in range(3):
            behind.spoil("latency", latency=1500)
            healed = threading.Timer(2.5, behind.heal)
            healed.start()
            made = store.put_new(f"{number}", b"first")
            assert store.head(f"{number}").tag == made.tag
            behind.spoil("latency", latency=1500)
            healed = threading.Timer(2.5, behind.heal)
            healed.start()
            assert store.replace(f"{number}", b"second", made.tag).tag != made.tag
            assert store.get(f"{number}") == b"second"


@pytest.mark.parametrize("how", ["cut", "mute"])
def test_a_store_that_stays_away_is_given_up_in_time(behind: StoreLine, how: str) -> None:
    with Store(behind.new(timeout="2s", request_timeout="500ms")) as store:
        store.put_new("a", b"x")
        if how == "cut":
            behind.cut()
        else:
            behind.spoil("timeout", timeout=0)
        begun = time.monotonic()
        with pytest.raises(StoreAwayError) as caught:
            store.get("a")
        assert time.monotonic() - begun < 30
    assert "/a: read: no usable answer in time (" in str(caught.value)
    assert "look whether the store runs and can be reached" in str(caught.value)


def test_a_writer_of_a_store_that_goes_away_leaves_what_can_be_removed(behind: StoreLine) -> None:
    config = behind.new(timeout="1s", request_timeout="500ms", part_size=PARTS)
    with Store(config) as store:
        writer = store.writer("large")
        writer.write(bytes(6 * MIB))
        behind.cut()
        with pytest.raises(StoreAwayError):
            writer.close()
    with Store(behind.past(config)) as direct:
        assert list(direct.list()) == []
        left = ["large"] if isinstance(direct.backend, (FilesBackend, S3Backend)) else []
        assert [each.key for each in direct.abort_uploads("", 0)] == left


def test_nothing_waits_longer_than_it_should() -> None:
    config = StoreConfig.model_validate(
        {"url": "s3://b", "endpoint": "http://127.0.0.1:9", "timeout": "1s",
         "keys": {"access_key_id": "a", "secret_access_key": "env:HOME"}}
    )  # fmt: skip
    assert config.request_timeout == Duration.parse("30s")
    with Store(config) as store, pytest.raises(StoreAwayError):
        store.get("a")
