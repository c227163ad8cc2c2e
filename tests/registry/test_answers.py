"""Answers that are none of a schema registry, and those that never end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.support.kafka import wait_until
from tests.support.network.raw_http import RawServer, Says, answer
from towpath.model.errors import ClusterError, RegistryRefusedError, UnreachableError
from towpath.model.nouns import Side
from towpath.model.schemas import Schema, SchemaId, SchemaVersion, SubjectConfig, SubjectName
from towpath.registry.registry import Registry
from towpath.settings import RegistryConfig

A = SubjectName("a")
PAGE = b"<html><head><title>Sign in</title></head><body>Sign in</body></html>"


@pytest.fixture
def server() -> Iterator[Callable[[Says], RawServer]]:
    started: list[RawServer] = []

    def start(says: Says) -> RawServer:
        started.append(RawServer(says))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def registry() -> Iterator[Callable[..., Registry]]:
    opened: list[Registry] = []

    def open_(*urls: str, **config: object) -> Registry:
        made = RegistryConfig.model_validate({"url": urls, "kind": "confluent", **config})
        opened.append(Registry(made, Side.SOURCE, 2))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


ASKED: list[Callable[[Registry], object]] = [
    lambda it: it.subjects(),
    lambda it: it.contexts(),
    lambda it: it.all(lambda each: each.id),
    lambda it: it.versions(A),
    lambda it: it.latest(A),
    lambda it: it.by_id(SchemaId(1)),
    lambda it: it.find(A, Schema('"int"')),
    lambda it: it.register(SchemaVersion(A, 1), Schema('"int"')),
    lambda it: it.settings.mode(A),
    lambda it: it.settings.mode_within("."),
    lambda it: it.settings.compatibility(A),
]


@pytest.mark.parametrize("body", [PAGE, b"", b'[{"subject": "a", "ver', b'"text"', b"7"])
def test_what_no_registry_answers_is_an_error_and_not_an_empty_registry(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry], body: bytes
) -> None:
    there = server(lambda *_: [answer(body)])
    made = registry(there.url)
    for ask in ASKED:
        with pytest.raises(RegistryRefusedError, match=r"the answer .*`schemas\.source\.url`"):
            ask(made)
    assert len(there.asked) == len(ASKED), "none is tried again, as no repetition mends it"


@pytest.mark.parametrize("body", [b'{"message": "ok"}', b'[{"subject": 5, "version": 1}]', b"[7]"])
def test_json_of_something_else_is_an_error_of_its_own(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry], body: bytes
) -> None:
    made = registry(server(lambda *_: [answer(body)]).url)
    told = []
    for ask in ASKED:
        try:
            ask(made)
        except ClusterError as error:
            told.append(str(error))
    assert all("the answer " in each for each in told)
    assert len(told) >= 9


def test_the_text_of_such_a_page_is_told(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry]
) -> None:
    there = server(lambda *_: [answer(PAGE)])
    with pytest.raises(RegistryRefusedError) as caught:
        registry(there.url).subjects()
    assert str(caught.value) == (
        "source: the schema registry: list subjects: the answer is not JSON:"
        " Sign in Sign in (200); look at `schemas.source.url`: it must be that of a schema"
        " registry"
    )


def test_an_address_without_subjects_is_no_empty_registry(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry]
) -> None:
    made = registry(server(lambda *_: [answer(b"{}", "404 Not Found")]).url)
    assert made.contexts() is None
    assert made.all(lambda each: each.id) is None
    with pytest.raises(RegistryRefusedError, match=r"list subjects: .* \(404\)"):
        made.subjects()


def test_the_next_address_is_asked_where_one_answers_a_page(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry]
) -> None:
    page, there = (server(lambda *_, body=body: [answer(body)]) for body in (PAGE, b'["a"]'))
    assert registry(page.url, there.url).subjects() == {A}


def test_a_redirect_is_not_followed_so_the_login_stays_here(
    server: Callable[[Says], RawServer],
    registry: Callable[..., Registry],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOKEN", "hunter22")
    other = server(lambda *_: [answer(b"[]")])
    place = f"{other.url.replace('//', '//ann:word@')}/login?state=abc"
    for status in ("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"):
        there = server(lambda *_, said=status: [answer(PAGE, said, Location=place)])
        made = registry(there.url, token="env:TOKEN")  # noqa: S106, the name of a variable
        with pytest.raises(RegistryRefusedError) as caught:
            made.subjects()
        told = str(caught.value)
        assert f"it redirects to {other.url}/login, which is not followed" in told
        assert "`schemas.source.url`" in told
        assert "word" not in told.replace("password", "")
    assert other.asked == []


def test_an_answer_that_drips_ends_with_the_deadline(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry]
) -> None:
    stop = threading.Event()

    def drip(*_: str) -> Iterator[bytes]:
        yield answer(b"[", length=1_000_000)
        while not stop.wait(0.05):
            yield b" "

    began = time.monotonic()
    made = registry(server(drip).url, timeout="500ms")
    with pytest.raises(UnreachableError, match="no answer in time"):
        made.subjects()
    stop.set()
    assert time.monotonic() - began < 20


def test_answers_that_are_cut_off_are_asked_for_again(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry]
) -> None:
    cut = [answer(b'["a"', length=5), b"HTTP/1.1 200 OK\r\nContent-Le", b"", answer(b'["a"]')]
    there = server(lambda *_: [cut.pop(0)])
    assert registry(there.url).subjects() == {A}
    assert len(there.asked) == 4


def test_the_text_of_a_schema_that_is_refused_is_not_repeated(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry]
) -> None:
    text = '{"type": "record", "doc": "the key is swordfish"}'
    for quoted in (text, text.replace('"', '\\"')):
        said = '{"error_code": 42201, "message": "Invalid schema ' + text.replace('"', '\\"')
        said += ' of a"}' if quoted == text else ': no fields"}'
        there = server(lambda *_, body=said: [answer(body.encode(), "422 Unprocessable")])
        with pytest.raises(RegistryRefusedError) as caught:
            registry(there.url).register(SchemaVersion(A, 1), Schema(text))
        assert "Invalid schema (the schema)" in str(caught.value)
        assert "swordfish" not in str(caught.value)


def test_a_setting_needs_no_answer(
    server: Callable[[Says], RawServer], registry: Callable[..., Registry]
) -> None:
    made = registry(server(lambda *_: [answer(b"", "204 No Content")]).url)
    made.settings.set_mode(A, "IMPORT")
    made.settings.set_config(A, SubjectConfig(compatibility="FULL"), SubjectConfig())
    made.soft_delete(SchemaVersion(A, 1))


@pytest.mark.parametrize("status", ["401 Unauthorized", "400 Bad Request", "302 Found"])
def test_a_token_server_that_refuses_is_not_asked_until_the_deadline(
    server: Callable[[Says], RawServer],
    registry: Callable[..., Registry],
    monkeypatch: pytest.MonkeyPatch,
    status: str,
) -> None:
    monkeypatch.setenv("WORD", "hunter22")
    said = answer(b'{"error": "invalid_client: hunter22"}', status, Location="http://x/?a=b")
    tokens, there = server(lambda *_: [said]), server(lambda *_: [answer(b"[]")])
    oauth = {"token_url": tokens.url, "client_id": "me", "client_secret": "env:WORD"}
    with pytest.raises(RegistryRefusedError) as caught:
        registry(there.url, oauth=oauth).subjects()
    told = str(caught.value)
    assert f"the token server at {tokens.url}: HTTP {status[:3]}" in told
    assert told.endswith("look at `schemas.source.oauth`")
    assert "hunter22" not in told
    assert (len(tokens.asked), there.asked) == (1, [])


@pytest.mark.parametrize("body", [b"access_token=swordfish&expires_in=60", b'["swordfish"]', b"{}"])
def test_what_a_token_server_answers_is_never_repeated(
    server: Callable[[Says], RawServer],
    registry: Callable[..., Registry],
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
) -> None:
    monkeypatch.setenv("WORD", "hunter22")
    tokens = server(lambda *_: [answer(body)])
    oauth = {"token_url": tokens.url, "client_id": "me", "client_secret": "env:WORD"}
    made = registry("http://127.0.0.1:1", oauth=oauth, timeout="300ms")
    wanted = f"the answer of the token server at {tokens.url} has no access_token"

    def is_told() -> bool:
        with pytest.raises(UnreachableError) as caught:
            made.subjects()
        assert "swordfish" not in str(caught.value)
        return wanted in str(caught.value)

    wait_until(is_told, "it was in time at the end of a deadline")
