"""No secret is in a message: a table of the places where texts of others enter our sentences."""

from __future__ import annotations

import ast
import json
import logging
import re
import ssl
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pyspark.errors import PySparkException

import towpath
from tests.support.clusters.certificates import Vault
from towpath.cli.main import main
from towpath.cluster.codes import refused
from towpath.cluster.connect import security
from towpath.cluster.connect.border import broker_errors
from towpath.cluster.connect.login import _our_part
from towpath.cluster.connect.tls_errors import explain
from towpath.engine.border import border
from towpath.engine.desk import Desk
from towpath.engine.java import _major
from towpath.engine.session import cause
from towpath.engine.source import Stream, source_of
from towpath.engine.spark_batch import _source
from towpath.ledger.entries import decode
from towpath.model import foreign as foreign_texts
from towpath.model.foreign import printed
from towpath.model.secret import Secret, masked
from towpath.settings import ClusterConfig, OauthSasl, check, load

MARK = 'm4rked-"s3cret"/with\\all=of it'
"""Quoted by `repr`, by JSON and in a URL it looks different each time."""
FORMS = (MARK, repr(MARK)[1:-1], json.dumps(MARK)[1:-1], quote(MARK, safe=""))


@pytest.fixture(autouse=True)
def known() -> Secret:
    """Return the secret that this process holds, as one that has read the file does."""
    return Secret(MARK)


def clean(text: str) -> bool:
    return not any(form in text for form in FORMS) and "m4rked" not in text


def command(*words: str) -> security._Token:
    sasl: Any = {"mechanism": "OAUTHBEARER", "token_command": list(words)}
    return security._Token(OauthSasl.model_validate(sasl))


class MarkedError(Exception):
    """An error of a library that repeats what it was given."""

    def __init__(self) -> None:
        super().__init__(f"cannot log in with {MARK!r}")


MarkedError.__module__ = "botocore.exceptions"


# What is told to somebody, path by path; each takes a folder and returns all of the text.


def _hanging_command(_: Path) -> str:
    with _our_part("source", "logging in"):
        command("sleep", "60", f"--client-secret={MARK}").token()
    return ""


def _missing_command(_: Path) -> str:
    with _our_part("source", "logging in"):
        command("no-such-program", MARK).token()
    return ""


def _refusing_command(_: Path) -> str:
    with _our_part("source", "logging in"):
        command("sh", "-c", f"echo '{MARK}'; echo '{MARK}' >&2; exit 3").token()
    return ""


def _command_of_bytes(_: Path) -> str:
    with _our_part("source", "logging in"):
        command("sh", "-c", r"printf 'm4rked\377'").token()
    return ""


def _null_in_a_command(_: Path) -> str:
    with _our_part("source", "logging in"):
        command("sh", "-c", f"{MARK}\0").token()
    return ""


def _login_library(_: Path) -> str:
    with _our_part("source", "logging in"):
        raise MarkedError
    return ""


def _token_refused(_: Path) -> str:
    """The broker repeats a token that a command has printed: no text of the file."""
    token = command("echo", "m4rked-token-of-today").token()
    return str(refused("source", "logging in", 58, f"the token {token} is not known"))


def _password_refused(_: Path) -> str:
    return str(refused("target", "logging in", 58, f"no user with password {MARK!r}"))


def _socket(_: Path) -> str:
    with broker_errors("target", "asking"):
        raise OSError(f"no route for {MARK}")
    return ""


def _tls(_: Path) -> str:
    strange = ssl.SSLError(f"[SSL: ODD] {MARK}")
    invalid = ssl.SSLCertVerificationError(f"{MARK}")
    invalid.verify_message, invalid.verify_code = MARK, 99
    return "".join(map(str, (*explain(strange, None, "host"), *explain(invalid, None, "host"))))


def _wrong_key_password(folder: Path) -> str:
    vault = Vault.make(folder)
    (folder / "password").write_text(MARK)
    tls = {"ca": str(vault.ca), "cert": str(vault.client.certificate)}
    text = json.dumps({**tls, "key": str(folder / "password"), "key_password": "file:password"})
    return _problems(folder, f"source: {{bootstrap: 'h:1', tls: {text}}}")


def _literal_password(folder: Path) -> str:
    sasl = json.dumps({"mechanism": "PLAIN", "username": "u", "password": MARK})
    return _problems(folder, f"source: {{bootstrap: 'h:1', sasl: {sasl}}}")


def _strange_yaml(folder: Path) -> str:
    return _problems(folder, f"source: [{MARK}: {{")


def _problems(folder: Path, text: str) -> str:
    file = folder / "link.yaml"
    file.write_text(text)
    (folder / "link.json").unlink(missing_ok=True)
    return "\n".join(map(str, check(file)))


def _spark_call(_: Path) -> str:
    with border():
        raise PySparkException(f"job aborted: {MARK}")
    return ""


def _spark_start(_: Path) -> str:
    log = f"26/11/21 20:09:57 ERROR Client: {MARK}\nException in thread {MARK}\n"
    return cause(log, RuntimeError(MARK)) + cause("", RuntimeError(MARK))


def _planning(folder: Path) -> str:
    def plan(_: int) -> list[Any]:
        raise ValueError(MARK)

    desk = Desk(folder, plan)
    try:
        desk.address.ask(1)
    finally:
        desk.close()
    return ""


def _ledger(_: Path) -> str:
    return repr(decode(b'["receipt", "l"]', json.dumps({"v": 1, MARK: MARK}).encode()))


def _java(folder: Path) -> str:
    java = folder / "java"
    java.write_text(
        f"#!/bin/sh\necho 'Picked up JAVA_TOOL_OPTIONS: -Dp=m4rked-2'\nprintf '%s' '{MARK}'\n"
    )
    java.chmod(0o755)
    return str(_major(java))


PATHS = (
    _hanging_command, _missing_command, _refusing_command, _command_of_bytes, _null_in_a_command,
    _login_library, _token_refused, _password_refused, _socket, _tls, _wrong_key_password,
    _literal_password, _strange_yaml, _spark_call, _spark_start, _planning, _ledger, _java,
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__.strip("_"))
def test_no_secret_is_in_a_message(
    path: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "_COMMAND_SECONDS", 0.2)
    try:
        told = path(tmp_path)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is shown
        told = f"{error} {error!r}"
    assert told
    assert clean(told), told


def test_a_command_is_named_by_its_program() -> None:
    with pytest.raises(ChildProcessError) as caught:
        command("no-such-program", "--with", "argument").token()
    assert str(caught.value) == "token_command: No such file or directory: no-such-program"


# What Spark, threads and the program itself show


def failing(_: object) -> Iterator[Any]:
    cause = OSError(f"cannot open {MARK}")
    raise RuntimeError(f"no login with {MARK!r}") from cause
    yield


def refusing(_: object) -> Iterator[Any]:
    cause = OSError(f"cannot open {MARK}")
    raise refused("source", "fetching", 58, MARK) from cause
    yield


@pytest.mark.parametrize("work", [failing, refusing])
def test_what_a_task_raises_is_shown_by_spark_as_a_whole(
    work: Callable[[object], Iterator[Any]],
) -> None:
    stream = Stream(None, f"{__name__}:{work.__name__}", "a int", 1, once=True)  # type: ignore[arg-type]  # nobody asks it
    readers: list[Any] = [
        source_of(stream)({}).streamReader(None),  # type: ignore[arg-type]
        _source("t", [1], work, "a int")({}).reader(None),  # type: ignore[arg-type]
    ]
    for reader in readers:
        partition = type("Partition", (), {"value": b"\x80\x04K\x01."})()
        with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever it is, Spark shows it
            list(reader.read(partition))
        told = "".join(traceback.format_exception(caught.value))
        assert clean(told), told
        assert "***" in told


def test_what_ends_a_thread_is_shown_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    foreign_texts.watch_threads()

    def end() -> None:
        raise ValueError(MARK)

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
    said = capsys.readouterr().err
    assert "ValueError: ***" in said
    assert clean(said), said


@pytest.mark.parametrize("more", [[], ["--output", "json"], ["--debug"]])
def test_a_fault_and_its_traceback(
    more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise ValueError(MARK)

    monkeypatch.setattr("towpath.cli.main.get_command", broken)
    assert main([*more, "status", "link.yaml"]) == 1
    said = "".join(capsys.readouterr())
    assert "a fault in Towpath: ValueError: ***" in said
    assert clean(said), said


def test_variables_of_a_login_are_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENT_SECRET", "m4rked-by-a-variable")
    file = tmp_path / "link.yaml"
    sasl = "{mechanism: OAUTHBEARER, token_command: [get, '--secret=${CLIENT_SECRET}']}"
    file.write_text(
        f"source: {{bootstrap: 'h:1', sasl: {sasl}}}\ntarget: {{bootstrap: 'h:2'}}\nlink: a\n"
        "topics: {include: ['x']}\n"
    )
    config = load(file)
    assert isinstance(config.source, ClusterConfig)
    assert clean(f"{config} {config!r}")
    assert masked("login with m4rked-by-a-variable failed") == "login with *** failed"


def test_a_short_secret_leaves_words_readable() -> None:
    Secret("a")
    assert masked("a broker at a:9092, password 'a'") == "*** broker at ***:9092, password '***'"
    assert "Pick" not in printed(
        "NOTE: Picked up JDK_JAVA_OPTIONS: x\nPicked up _JAVA_OPTIONS: x\n"
    )


def test_kafka_python_logs_nothing() -> None:
    assert not logging.getLogger("kafka.net.sasl").isEnabledFor(logging.CRITICAL)


# No new place: an error that is none of ours is not put into a text but through `foreign`

ERROR_CLASS = re.compile(r"^ *class (\w+Error)\b", re.MULTILINE)
ALLOWED = {"foreign", "printed", "masked", "isinstance", "type", "getattr", "len"}


def _sources() -> list[Path]:
    return sorted(Path(towpath.__file__).parent.rglob("*.py"))


def _our_errors() -> set[str]:
    """Return the names of all error classes that this package defines."""
    return {name for file in _sources() for name in ERROR_CLASS.findall(file.read_text())}


def _caught(handler: ast.ExceptHandler) -> list[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [kind.id if isinstance(kind, ast.Name) else ast.unparse(kind) for kind in kinds if kind]


def _shown(handler: ast.ExceptHandler) -> Iterator[ast.AST]:
    """Yield where the error itself becomes text, outside of the calls that are allowed."""

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ALLOWED:
                return
            if node.func.id in {"str", "repr"} and _names(node.args, handler.name):
                yield node
        if isinstance(node, ast.FormattedValue) and _names([node.value], handler.name):
            yield node
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    for statement in handler.body:
        yield from walk(statement)


def _names(nodes: list[ast.expr], name: str | None) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


def test_no_error_of_others_is_put_into_a_text_as_it_is() -> None:
    known, found = _our_errors(), []
    for file in _sources():
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if "except " in text else ():
            if isinstance(node, ast.ExceptHandler) and node.type is not None:
                if known.issuperset(_caught(node)):
                    continue
                found += [f"{file}:{shown.lineno}" for shown in _shown(node)]  # type: ignore[attr-defined]
    assert found == [], "put errors that are none of ours into texts by `model.foreign.foreign`"
