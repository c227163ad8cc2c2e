"""What `towpath http` refuses before it listens."""

from __future__ import annotations

import select
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.clusters.certificates import Authority
from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.program import Program
from towpath.dev import ports

LINK = (
    "source: {{bootstrap: 'a:1'}}\ntarget: {{bootstrap: 'b:1'}}\n"
    "link: {name}\ntopics: {{include: [a]}}\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "one.yaml"
    made.write_text(LINK.format(name="one"))
    return made


def test_each_wrong_option_is_named(here: Here, file: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-token")
    right = f"--token=file:{token}"
    for options, said in (
        (("--token=plain-text",), "--token"),
        (("--token=env:NOT_SET_ANYWHERE",), "NOT_SET_ANYWHERE"),
        ((right, "--listen=0.0.0.0:9420"), "the token needs TLS"),
        ((right, "--listen=nowhere"), "--listen"),
        ((right, "--key=key.pem"), "--cert"),
        ((right, "--listen=0.0.0.0:9420", f"--cert={tmp_path}/none.pem"), "cannot be read"),
    ):
        done = here("http", str(file), *options)
        assert done.code == 2, done.said
        assert said in done.said
        assert "plain-text" not in done.said


def test_certificates_that_are_of_no_use_are_named(here: Here, file: Path, tmp_path: Path) -> None:
    token, no_pem = tmp_path / "token", tmp_path / "no.pem"
    token.write_text("secret-token")
    no_pem.write_text("no certificate")
    one, other = (Authority(tmp_path / name).issue(name) for name in ("one", "other"))
    for options in (
        (f"--cert={no_pem}",),
        (f"--cert={one.certificate}",),
        (f"--cert={one.certificate}", f"--key={other.key}"),
    ):
        done = here("http", str(file), f"--token=file:{token}", *options)
        assert done.code == 2, done.said
        assert "no certificate with the key that belongs to it" in done.said


def test_it_listens_with_tls(file: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-token")
    authority, at = Authority(tmp_path), f"127.0.0.1:{ports.reserve(1)[0]}"
    cert = authority.issue("server")
    program = Program(
        tmp_path, "http", str(file), f"--token=file:{token}", f"--listen={at}",
        f"--cert={cert.certificate}", f"--key={cert.key}",
    )  # fmt: skip
    try:
        wait_until(
            lambda: "listening on https" in program.said, lambda: f"it listens: {program.said}", 60
        )
        context = ssl.create_default_context(cafile=authority.certificate)
        right = {"Authorization": "Bearer secret-token"}
        found = httpx.get(f"https://{at}/links", headers=right, verify=context, timeout=60)
        assert found.json() == {"links": [{"link": "one", "file": "one.yaml"}]}
    finally:
        program.stop()


def test_who_waits_for_a_command_is_told_that_it_ended_with_the_service(tmp_path: Path) -> None:
    file, token = tmp_path / "one.yaml", tmp_path / "token"
    token.write_text("secret-token")
    at, right = f"127.0.0.1:{ports.reserve(1)[0]}", {"Authorization": "Bearer secret-token"}
    silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    source, target = (f"127.0.0.1:{each.getsockname()[1]}" for each in silent)
    text = LINK.format(name="one").replace("a:1", source).replace("b:1", target)
    file.write_text(f"{text}gateway: {{listen: '{at}'}}\n")
    program = Program(tmp_path, "http", str(file), f"--token=file:{token}", f"--listen={at}")
    try:
        wait_until(lambda: "listening on" in program.said, "it listens", 60)
        url = f"http://{at}/links/one/promote"
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(httpx.post, url, headers=right, json={}, timeout=100)
            reached, _, _ = select.select(silent, [], [], 60)
            assert program.stop() == 0
            answer = asked.result(60)
    finally:
        if program.running:
            program.kill9()
        for each in silent:
            each.close()
    assert reached, "it asked a cluster, and got no answer"
    assert answer.json()["state"] == "ended", answer.text
    assert answer.json()["exit_code"] != 0
    assert "Traceback" not in program.said


def test_two_files_of_one_link_are_refused_with_all_other_faults(here: Here, file: Path) -> None:
    again, wrong = file.with_name("again.yaml"), file.with_name("wrong.yaml")
    again.write_text(file.read_text())
    wrong.write_text(LINK.format(name="two") + "tpics: {}\n")
    done = here("http", *map(str, (file, again, wrong)), "--token=env:PATH")
    assert done.code == 2
    assert "link one is that of one.yaml already" in done.said
    assert "tpics" in done.said
