"""Calls to a registry: several addresses, logins, one deadline, and what is tried again."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest

from tests.support.kafka import wait_until
from tests.support.network.raw_http import RawServer
from tests.support.network.raw_http import answer as raw
from towpath.dev import ports
from towpath.model.errors import RegistryRefusedError, UnreachableError
from towpath.model.nouns import Side
from towpath.registry.answer import asked_to_wait
from towpath.registry.http import RegistryHttp
from towpath.settings import RegistryConfig

LATE = "Mon, 05 Jan 2015 10:00:00 GMT"
Answer = tuple[int, object] | tuple[int, object, dict[str, str]]
Says = Callable[[str, str, dict[str, str], bytes], Answer]


class Server:
    """A server that answers what a test says."""

    def __init__(self, says: Says) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(handler) -> None:  # noqa: N805
                size = int(handler.headers.get("Content-Length", 0))
                heads = {name.lower(): text for name, text in handler.headers.items()}
                asked = handler.command, handler.path, heads, handler.rfile.read(size)
                self.asked.append(asked)
                status, body, *more = says(*asked)
                data = json.dumps(body).encode()
                handler.send_response(status)
                for name, text in (more[0] if more else {}).items():
                    handler.send_header(name, text)
                handler.send_header("Content-Length", str(len(data)))
                handler.end_headers()
                handler.wfile.write(data)

            do_GET = do_POST = _do  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Callable[[Says], Server]]:
    started: list[Server] = []

    def start(says: Says) -> Server:
        started.append(Server(says))
        return started[-1]

    yield start
    for each in started:
        each.stop()


def ask(*urls: str, side: Side = Side.SOURCE, **config: object) -> object:
    made = RegistryConfig.model_validate({"url": urls, **config})
    http = RegistryHttp(made, side, 2)
    try:
        return http.call("list subjects", "GET", "/subjects")
    finally:
        http.close()


def test_429_and_5xx_are_tried_again(server: Callable[[Says], Server]) -> None:
    answers: list[Answer] = [(429, {}, {"Retry-After": "0.1"}), (503, {}), (200, ["a"])]
    there = server(lambda *_: answers.pop(0))
    assert ask(there.url) == ["a"]
    assert len(there.asked) == 3


def test_other_errors_are_told_at_once_without_secrets(
    server: Callable[[Says], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter22")
    there = server(lambda *_: (403, {"error_code": 40301, "message": "no rights for hunter22"}))
    with pytest.raises(RegistryRefusedError) as caught:
        ask(there.url, token="env:TOKEN")  # noqa: S106, the name of a variable
    assert str(caught.value) == (
        "source: the schema registry: list subjects: no rights for *** (40301); look at the login"
        " under `schemas.source`, and at its rights there (docs/schemas.md)"
    )
    assert len(there.asked) == 1
    assert there.asked[0][2]["authorization"] == "Bearer hunter22"


def test_the_next_address_is_asked_where_one_does_not_answer(
    server: Callable[[Says], Server],
) -> None:
    there = server(lambda *_: (200, []))
    (silent,) = ports.reserve(1)
    assert ask(f"http://127.0.0.1:{silent}", there.url) == []


READ_ONLY: list[Answer] = [
    (403, {"message": "reads only"}),
    (405, {}),
    (422, {"error_code": 42205, "message": "is in read-only mode"}),
    (307, {}, {"Location": "http://leader:8081/subjects"}),
]


@pytest.mark.parametrize("refusal", READ_ONLY)
def test_an_address_that_takes_no_changes_is_left_for_one_that_does(
    server: Callable[[Says], Server], refusal: Answer
) -> None:
    follower = server(lambda method, *_: (200, ["f"]) if method == "GET" else refusal)
    leader = server(lambda method, *_: (200, ["l"]) if method == "GET" else (200, {"id": 1}))
    config = RegistryConfig.model_validate({"url": (follower.url, leader.url)})
    http = RegistryHttp(config, Side.TARGET, 2)
    assert http.call("list subjects", "GET", "/subjects") == ["f"]
    for _ in range(2):
        assert http.call("register", "POST", "/subjects/a/versions", None, {}) == {"id": 1}
    assert http.call("list subjects", "GET", "/subjects") == ["l"], "where the change is"
    assert [asked[0] for asked in follower.asked] == ["GET", "POST"]
    http.close()


def test_a_change_that_every_address_refuses_is_an_error_at_once(
    server: Callable[[Says], Server],
) -> None:
    there = [server(lambda *_: (403, {"message": "no"})) for _ in range(3)]
    (silent,) = ports.reserve(1)
    for urls in ([each.url for each in there], [there[0].url, f"http://127.0.0.1:{silent}"]):
        http = RegistryHttp(RegistryConfig.model_validate({"url": urls}), Side.TARGET, 2)
        with pytest.raises(RegistryRefusedError, match="no \\(403\\)"):
            http.call("register", "POST", "/subjects/a/versions", None, {})
        http.close()
    assert [len(each.asked) for each in there] == [3, 1, 1]


def test_a_wait_may_be_given_as_a_date() -> None:
    """The clock of the registry counts, whatever it shows."""
    after = "Mon, 05 Jan 2015 10:00:01 GMT"
    answers = [raw(b"{}", "429 Slowly", Date=LATE, Retry_After=after), raw(b"[]")]
    there = RawServer(lambda *_: [answers.pop(0)])
    began = time.monotonic()
    assert ask(there.url) == []
    assert time.monotonic() - began >= 1
    there.stop()


@pytest.mark.parametrize(
    ("heads", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "-7"}, 0),
        ({"Retry-After": "nan"}, 0),
        ({"Retry-After": "soon"}, 0),
        ({"Retry-After": "Mon, 05 Jan 2015 10:00:00 GMT"}, 0),
        ({"Retry-After": "Tue, 05 Jan 2294 10:00:00 GMT"}, 60),
        ({"Retry-After": "Mon, 05 Jan 2015 10:00:09 GMT", "Date": "never"}, 0),
        ({"Retry-After": "Monday, 05-Jan-15 10:00:09 GMT", "Date": LATE}, 9),
        ({}, 0),
    ],
)
def test_what_a_registry_says_of_waiting(heads: dict[str, str], seconds: float) -> None:
    assert asked_to_wait(heads) == seconds


def test_one_deadline_holds_for_all_repetitions(server: Callable[[Says], Server]) -> None:
    there = server(lambda *_: (500, {"message": "broken"}))
    began = time.monotonic()
    with pytest.raises(UnreachableError) as caught:
        ask(there.url, side=Side.TARGET, timeout="1s")
    assert time.monotonic() - began < 20
    assert str(caught.value) == (
        f"target: the schema registry at {there.url}: list subjects: HTTP 500: broken; look whether"
        " the registry runs, and at `schemas.target.url`"
    )


def test_a_registry_that_hangs_is_not_waited_for_longer_than_that(
    server: Callable[[Says], Server],
) -> None:
    go_on = threading.Event()

    def hang(*_: object) -> Answer:
        go_on.wait(30)
        return 200, []

    there = server(hang)
    began = time.monotonic()
    with pytest.raises(UnreachableError, match="no answer in time"):
        ask(there.url, timeout="500ms")
    assert time.monotonic() - began < 20
    go_on.set()


def test_what_a_registry_answered_before_it_hung_is_told(
    server: Callable[[Says], Server],
) -> None:
    go_on, asked = threading.Event(), count()

    def breaks_then_hangs(*_: object) -> Answer:
        if next(asked) > 0:
            go_on.wait(30)
        return 503, {"message": "the disk is full"}

    there = server(breaks_then_hangs)
    wanted = "HTTP 503: the disk is full, and then no answer in time"
    with pytest.raises(UnreachableError, match=wanted):
        ask(there.url, timeout="3s")
    go_on.set()


def test_of_thousands_of_calls_to_a_registry_that_is_away_few_wait(
    server: Callable[[Says], Server],
) -> None:
    broken = True

    def says(*_: object) -> Answer:
        return (500, {}) if broken else (200, ["a"])

    there = server(says)
    http = RegistryHttp(
        RegistryConfig.model_validate({"url": there.url, "timeout": "100ms"}), Side.SOURCE, 2
    )
    began = time.monotonic()
    for _ in range(1000):
        with pytest.raises(UnreachableError, match=r"HTTP 500|no answer in time"):
            http.call("list subjects", "GET", "/subjects")
    assert http.away
    assert time.monotonic() - began < 50, "a thousand deadlines would be 100 s"
    assert len(there.asked) < 200
    broken = False

    def is_back() -> bool:
        with suppress(UnreachableError):
            return bool(http.call("list subjects", "GET", "/subjects"))
        return False

    wait_until(is_back, "one call in a second tries again")
    assert not http.away
    http.close()


def test_a_basic_login_is_sent_with_each_request(
    server: Callable[[Says], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "pass:word")
    there = server(lambda *_: (200, []))
    ask(there.url, basic={"username": "ann", "password": "env:WORD"})
    sent = there.asked[0][2]["authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"ann:pass:word"


def test_oauth_gets_a_token_once_and_a_new_one_where_it_is_refused(
    server: Callable[[Says], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIENT_WORD", "client-word")
    made: list[str] = []

    def tokens(_method: str, _path: str, heads: dict[str, str], body: bytes) -> Answer:
        login = base64.b64decode(heads["authorization"].removeprefix("Basic ")).decode()
        assert (login, body) == ("me:client-word", b"grant_type=client_credentials&scope=sr")
        made.append(f"token-{len(made)}")
        return 200, {"access_token": made[-1], "expires_in": 3600}

    valid = ["token-0"]

    def registry(_method: str, _path: str, heads: dict[str, str], _body: bytes) -> Answer:
        return (200, []) if heads["authorization"] == f"Bearer {valid[0]}" else (401, {})

    login = server(tokens)
    config = {"token_url": login.url, "client_id": "me", "client_secret": "env:CLIENT_WORD"}
    there = RegistryConfig.model_validate(
        {"url": server(registry).url, "oauth": {**config, "scope": "sr"}}
    )
    http = RegistryHttp(there, Side.SOURCE, 2)
    for _ in range(3):
        http.call("list subjects", "GET", "/subjects")
    assert made == ["token-0"]
    valid[0] = "token-1"  # the registry forgot the first one
    http.call("list subjects", "GET", "/subjects")
    assert made == ["token-0", "token-1"]
    http.close()
