"""Logins to schema registries that repeat in their errors whatever they get."""

from __future__ import annotations

import base64
import json
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, quote

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.program import Program
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import forwarded
from towpath.dev import ports

WORDS = {"SOURCE_WORD": "s0urce/word+1", "TARGET_WORD": "t4rget-word-22"}
TOKEN = "t0ken-of-the-server"  # noqa: S105
pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


class Gate:
    """Stands before a registry, wants a login, and repeats it where it refuses.

    Args:
        url: The registry.
        wants: The header `Authorization` that it lets in.
    """

    def __init__(self, url: str, wants: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(handler) -> None:  # noqa: N805
                body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                said = handler.headers.get("Authorization", "")
                if handler.path == "/token":
                    login = base64.b64decode(said.split()[1]).decode()
                    assert login == f"me:{WORDS['TARGET_WORD']}", parse_qs(body)
                    return handler._answer(200, {"access_token": TOKEN, "expires_in": 3600})
                refused = "bad" in handler.path and handler.command in {"PUT", "POST"}
                if said != wants or refused:
                    return handler._answer(422 if refused else 401, {"message": repeated(said)})
                data = json.loads(body) if body else None
                return handler._answer(*forwarded(url + handler.path, handler.command, data))

            do_GET = do_POST = do_PUT = do_DELETE = _do  # noqa: N815

            def _answer(handler, status: int, said: object) -> None:  # noqa: N805
                data = json.dumps(said).encode()
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(data)))
                handler.end_headers()
                handler.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def repeated(header: str) -> str:
    """Return a header as a careless server would repeat it."""
    word = header.rsplit(" ", maxsplit=1)[-1]
    forms = [header, quote(word, safe=""), repr(word)]
    with suppress(ValueError):
        forms += [login := base64.b64decode(word).decode(), quote(login, safe="")]
    return f"refused: {', '.join(forms)}"


@pytest.fixture
def gates() -> Iterator[Callable[[str, str], Gate]]:
    opened: list[Gate] = []

    def open_(url: str, wants: str) -> Gate:
        opened.append(Gate(url, wants))
        return opened[-1]

    yield open_
    for each in opened:
        each.stop()


def page(address: str) -> bytes:
    with suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310
        return bytes(answer.read())
    return b""


def linked(name: str, clusters: tuple[str, str], registries: tuple[str, str]) -> str:
    """Return the file of a link between two clusters whose registries ask for logins."""
    source, target = clusters
    front, back = registries
    login = f"{{token_url: '{back}/token', client_id: me, client_secret: 'env:TARGET_WORD'}}"
    return (
        f"source: {{bootstrap: '{source}'}}\n"
        f"target: {{bootstrap: '{target}'}}\n"
        f"link: {name}\n"
        f"topics: {{include: ['{name}.*']}}\n"
        "schemas:\n"
        f"  source: {{url: '{front}', basic: {{username: ann, password: 'env:SOURCE_WORD'}}}}\n"
        f"  target: {{url: '{back}', oauth: {login}}}\n"
        "  ids: translate\n"
        f"  include: ['{name}.*']\n"
    )


def watched(run: Program, port: int, pages: Iterable[str]) -> dict[str, bytes]:
    """Return what Spark's pages showed last while a program ran."""
    seen: dict[str, bytes] = {}
    while run.running:
        for address in pages:
            seen[address] = page(f"http://127.0.0.1:{port}{address}") or seen.get(address, b"")
        time.sleep(0.3)
    return seen


def test_no_login_reaches_a_log_a_plan_the_ledger_or_a_page(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: Callable[[str], str],
    gates: Callable[[str, str], Gate],
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    name = new_name("gates")
    for each in ("good", "bad"):
        ours.register(f"{name}-{each}", record("A", "x"))
    create_topic(source.bootstrap, name, 1)
    produce(source.bootstrap, name, [Record(None, b"\0\0\0\0\x01one")])
    word = base64.b64encode(f"ann:{WORDS['SOURCE_WORD']}".encode()).decode()
    front = gates(ours.url, f"Basic {word}")
    back = gates(theirs.url, f"Bearer {TOKEN}")
    file = tmp_path / "link.yaml"
    file.write_text(linked(name, (source.bootstrap, target.bootstrap), (front.url, back.url)))
    [port] = ports.reserve(1)
    events = tmp_path / "events"
    events.mkdir()
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.ui.enabled true\nspark.ui.port {port}\nspark.log.level DEBUG\n"
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{events}\n"
        "spark.eventLog.compress false\n"
    )
    env = {**WORDS, "SPARK_CONF_DIR": str(tmp_path)}

    def towpath(step: str, *arguments: str) -> Program:
        return Program(tmp_path, *arguments, env=env, name=step)

    plan = str(tmp_path / "plan.json")
    codes = {}
    for step, *arguments in (
        ("plan", "plan", str(file), "--save", plan),
        ("apply", "apply", plan, "--yes"),
        ("ls", "schemas", "ls", str(file), "-o", "json"),
        ("diff", "schemas", "diff", str(file)),
        ("sync", "schemas", "sync", str(file)),
        ("verify", "schemas", "verify", str(file)),
    ):
        codes[step] = towpath(step, *arguments).wait(120)
    run = towpath("run", "run", str(file), "--until-caught-up", "--master", "local[2]")
    pages = "/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/StreamingQuery/"
    seen = watched(run, port, pages)
    codes["run"] = run.wait(1)
    codes["proof"] = towpath("proof", "verify", str(file), "--schemas").wait(180)
    codes["status"] = towpath("status", "status", str(file), "-o", "json").wait(120)
    said = "".join(each.read_text() for each in tmp_path.glob("*.out")) + "".join(
        each.read_text() for each in tmp_path.glob("*.err")
    )
    assert "refused: " in said, codes
    assert "***" in said
    assert set(theirs.schemas()) == {(f"{name}-good", 1)}, said
    ledger = consume(target.bootstrap, "__towpath_ledger", range(5))
    seen["ledger"] = b"".join((r.key or b"") + (r.value or b"") for r in ledger)
    assert b"refused: " in seen["ledger"], "the journal has the errors"
    seen |= {str(each): each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    assert [each for each in pages if not seen[each]] == []
    forms = {
        form
        for each in (*WORDS.values(), TOKEN)
        for form in (each, quote(each, safe=""), base64.b64encode(each.encode()).decode())
    } | {word}
    shown = {at: form for at, text in seen.items() for form in forms if form.encode() in text}
    assert shown == {}
    assert codes["diff"] == codes["sync"] == codes["verify"] == 3
