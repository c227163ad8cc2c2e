"""A store that is slow, cut off, or away for a while."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from tests.support.buckets import Buckets
from tests.support.kafka import wait_until
from tests.support.toxiproxy import Toxiproxy
from towpath.config import Duration, Size, StoreConfig
from towpath.model.errors import StoreAwayError
from towpath.store import Store

MIB = 1 << 20


@pytest.fixture
def behind(buckets: Buckets, line: Toxiproxy, port: int) -> Callable[..., StoreConfig]:
    """Return what makes a bucket that is asked through `line`, by `port`."""
    line.stand_at(f"127.0.0.1:{port}", f"127.0.0.1:{buckets.port}")
    endpoint = f"http://127.0.0.1:{port}"
    return lambda **more: buckets.new(**{"endpoint": endpoint, "timeout": "30s"} | more)


@pytest.mark.soak
def test_a_slow_line_breaks_nothing_that_moves(
    behind: Callable[..., StoreConfig], line: Toxiproxy, port: int
) -> None:
    """No single piece takes longer than the timeout, though all of a part does."""
    line.spoil(port, "bandwidth", "upstream", rate=4_000)
    line.spoil(port, "bandwidth", "downstream", rate=8_000)
    line.spoil(port, "latency", latency=100)
    data = random.Random(1).randbytes(40 * MIB)
    with Store(behind(part_size=Size.parse("32MiB"), request_timeout="4s")) as store:
        begun = time.monotonic()
        with store.writer("large") as writer:
            writer.write(data)
        assert time.monotonic() - begun > 8
        assert store.get("large") == data


@pytest.mark.soak
@pytest.mark.parametrize("size", [2 * MIB, 10 * MIB])
def test_a_line_of_64_kilobytes_each_second_is_used_with_the_patience_of_the_defaults(
    behind: Callable[..., StoreConfig], line: Toxiproxy, port: int, size: int
) -> None:
    """What a request has sent may wait in buffers for longer than an answer may take."""
    line.spoil(port, "bandwidth", "upstream", rate=64)
    data = random.Random(1).randbytes(size)
    with Store(behind(timeout="2m")) as store:
        with store.writer("object") as writer:
            writer.write(data)
        assert store.get("object") == data
        assert store.abort_uploads("", 0) == []


def test_a_line_that_is_cut_in_the_middle_is_tried_again(
    behind: Callable[..., StoreConfig], line: Toxiproxy, port: int
) -> None:
    data = random.Random(1).randbytes(8 * MIB)
    with Store(behind()) as store:
        store.put_new("object", data)
        line.spoil(port, "limit_data", bytes=3 * MIB)
        healed = threading.Timer(0.5, line.reset)
        healed.start()
        assert store.get("object") == data
        line.spoil(port, "limit_data", "upstream", bytes=3 * MIB)
        healed = threading.Timer(0.5, line.reset)
        healed.start()
        store.put_new("other", data)
        assert store.get("other") == data


def test_a_store_that_comes_back_is_used_again(
    behind: Callable[..., StoreConfig], line: Toxiproxy, port: int
) -> None:
    with Store(behind()) as store:
        line.let_through(port, enabled=False)
        done = threading.Event()

        def put() -> None:
            store.put_new("a", b"x")
            done.set()

        thread = threading.Thread(target=put)
        thread.start()
        assert not done.wait(1)
        line.let_through(port, enabled=True)
        wait_until(done.is_set, "the object is written")
        thread.join()
        assert store.get("a") == b"x"


@pytest.mark.parametrize("how", ["cut", "mute"])
def test_a_store_that_stays_away_is_given_up_in_time(
    behind: Callable[..., StoreConfig], line: Toxiproxy, port: int, how: str
) -> None:
    with Store(behind(timeout="2s", request_timeout="500ms")) as store:
        store.put_new("a", b"x")
        if how == "cut":
            line.let_through(port, enabled=False)
        else:
            line.spoil(port, "timeout", timeout=0)
        begun = time.monotonic()
        with pytest.raises(StoreAwayError) as caught:
            store.get("a")
        assert time.monotonic() - begun < 30
    assert "/a: read: no usable answer in time (" in str(caught.value)
    assert "look whether the store runs and can be reached" in str(caught.value)


def test_a_writer_of_a_store_that_goes_away_leaves_what_can_be_removed(
    buckets: Buckets, behind: Callable[..., StoreConfig], line: Toxiproxy, port: int
) -> None:
    config = behind(timeout="1s", request_timeout="500ms", part_size=Size.parse("5MiB"))
    with Store(config) as store:
        writer = store.writer("large")
        writer.write(bytes(6 * MIB))
        line.let_through(port, enabled=False)
        with pytest.raises(StoreAwayError):
            writer.close()
    with Store(config.model_copy(update={"endpoint": buckets.url})) as direct:
        assert list(direct.list()) == []
        assert [each.key for each in direct.abort_uploads("", 0)] == ["large"]


def test_nothing_waits_longer_than_it_should() -> None:
    config = StoreConfig.model_validate(
        {"url": "s3://b", "endpoint": "http://127.0.0.1:9", "timeout": "1s",
         "keys": {"access_key_id": "a", "secret_access_key": "env:HOME"}}
    )  # fmt: skip
    assert config.request_timeout == Duration.parse("30s")
    with Store(config) as store, pytest.raises(StoreAwayError):
        store.get("a")
