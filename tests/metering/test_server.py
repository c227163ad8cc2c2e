"""The server: what it answers, when it refuses to begin, and that nothing of it stays."""

from __future__ import annotations

import errno
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.support.kafka import wait_until
from tests.support.pages.metrics import ABOUT, STAND, full, served
from tests.support.pages.scrape import Scrape
from towpath import __version__
from towpath.dev import ports
from towpath.metering.measurement import Measurement
from towpath.metering.server import STALLED, MetricsServer
from towpath.mirror.metrics.measure import measured
from towpath.mirror.metrics.meter import LinkMeter
from towpath.model.errors import ConfigError

METER = LinkMeter()


def measure() -> Iterator[Measurement]:
    return measured(METER.read(), ABOUT)


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    before = {*threading.enumerate()}
    yield
    assert {*threading.enumerate()} <= before


def get(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_what_redpanda_connect_serves_is_there_too() -> None:
    with served(LinkMeter()) as address:
        assert get(address, "/ping") == (200, "pong\n")
        assert get(address, "/stats")[1].splitlines()[0].startswith("# HELP")
        assert json.loads(get(address, "/version")[1]) == {"version": __version__}


def test_everything_is_served_below_a_root_as_well() -> None:
    [port] = ports.reserve(1)
    address = f"127.0.0.1:{port}"
    with MetricsServer(("127.0.0.1", port), LinkMeter(), measure, root="/benthos"):
        for path in ("/ping", "/benthos/ping"):
            assert get(address, path) == (200, "pong\n")
        assert get(address, "/benthos/metrics")[1].startswith("# HELP")
        for path in ("/benthos", "/benthosping", "/benthos/benthos/ping", "/other/ping"):
            assert get(address, path)[0] == 404


@pytest.mark.parametrize("root", ["/met", "/metrics", "/ping"])
def test_a_root_that_looks_like_what_is_served_takes_nothing_away(root: str) -> None:
    [port] = ports.reserve(1)
    address = f"127.0.0.1:{port}"
    with MetricsServer(("127.0.0.1", port), LinkMeter(), measure, root=root):
        for path in ("/ping", f"{root}/ping"):
            assert get(address, path) == (200, "pong\n")
        for path in ("/metrics", f"{root}/metrics"):
            assert get(address, path)[1].startswith("# HELP")


def test_metrics_and_ready_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    meter = LinkMeter()
    with served(meter) as address:
        assert Scrape(address).kind == "text/plain; version=0.0.4; charset=utf-8"
        assert get(address, "/metrics?name[]=x")[0] == 200
        assert get(address, "/ready") == (503, "not ready: the clusters were not looked at yet\n")
        meter.looked([STAND])
        assert get(address, "/ready") == (200, "ready\n")
        served_paths = "/metrics, /live, /ready, /ping, /stats and /version"
        for path in ("/", "/metrics/", "/metric", "/ready/x", "/../metrics"):
            assert get(address, path) == (404, f"only {served_paths} are served\n")
        with pytest.raises(urllib.error.HTTPError, match="501"):
            urllib.request.urlopen(f"http://{address}/metrics", b"data", timeout=10)
    assert capfd.readouterr() == ("", "")


def test_a_run_is_alive_while_its_loop_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    meter, ago = LinkMeter(), [0.0]
    real = time.monotonic
    clock = SimpleNamespace(monotonic=lambda: real() + ago[0])
    monkeypatch.setattr("towpath.metering.meter.time", clock)
    with served(meter) as address:
        assert get(address, "/live") == (200, "alive\n")
        ago[0] = STALLED - 60
        assert get(address, "/live") == (200, "alive\n")
        ago[0] = STALLED + 1
        code, said = get(address, "/live")
        assert (code, said.startswith("stalled: nothing was done for 60")) == (503, True)
        meter.turned()
        assert get(address, "/live") == (200, "alive\n")


def test_each_scrape_tells_what_is_now() -> None:
    meter = full()
    with served(meter) as address:
        assert Scrape(address).get("towpath_rounds_total") == 1
        meter.round_ended()
        assert Scrape(address).get("towpath_rounds_total") == 2


def test_the_end_does_not_wait_for_those_who_are_slow(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with served(full()) as address:
        host, _, port = address.partition(":")
        calls = [socket.create_connection((host, int(port)), 10) for _ in range(2)]
        calls[1].sendall(b"GET /metr")
        wait_until(lambda: threading.active_count() >= 4, "both are being answered")
        assert Scrape(address).get("towpath_trouble") == 1, "others are answered meanwhile"
    for call in calls:
        assert call.recv(100) == b""
        call.close()
    assert ports.is_free(int(port))
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken_is_refused_with_its_reason() -> None:
    with served(LinkMeter()) as address:
        port = int(address.rpartition(":")[2])
        with pytest.raises(ConfigError) as refused:
            MetricsServer(("127.0.0.1", port), METER, measure)
    [problem] = refused.value.problems
    assert problem.path == "metrics.listen"
    assert problem.text == (
        f"cannot listen on 127.0.0.1, port {port}: the port is taken; stop what listens there"
        " (another process of the same file?) or write another port"
    )


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("192.0.2.1", "port 9404: this machine has no such address; write 127.0.0.1, or 0.0.0.0"),
        ("no.such.host.invalid", "no.such.host.invalid is no name or address of a machine; write"),
    ],
)
def test_an_address_of_others(host: str, why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)):
        MetricsServer((host, 9404), METER, measure)


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EACCES, "port 80: this user may not listen on that port; write one from 1024 up"),
        (errno.ENOBUFS, "port 80: No buffer space available; write another address"),
    ],
)
def test_other_reasons_not_to_listen_are_told(
    monkeypatch: pytest.MonkeyPatch, number: int, why: str
) -> None:
    """A root user may listen anywhere, so the system's answer is played."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "No buffer space available")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(ConfigError, match=re.escape(why)):
        MetricsServer(("127.0.0.1", 80), METER, measure)


def test_it_listens_on_an_ipv6_address() -> None:
    (port,) = ports.reserve(1)
    try:
        server = MetricsServer(("::1", port), METER, measure)
    except ConfigError:
        pytest.skip("this machine has no IPv6")
    with server:
        assert Scrape(f"[::1]:{port}").get("towpath_trouble") == 0
