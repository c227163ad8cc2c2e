"""`towpath schemas` against registries that want TLS and a login."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.here import Here
from tests.support.registries.registry import ADMIN, LocalRegistry, record, refers

pytestmark = [pytest.mark.broker, pytest.mark.soak]
WORDS = "REGISTRY_WORD"


@pytest.fixture
def sides(
    new_registry: Callable[..., LocalRegistry], vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> tuple[LocalRegistry, LocalRegistry]:
    monkeypatch.setenv(WORDS, ADMIN[1])
    ours, theirs = new_registry(vault=vault), new_registry(vault=vault)
    ours.register("money", record("Money", "cents"))
    of_money = refers(("Money", "money", 1))
    ours.register("orders-value", record("Order", of={"price": "Money"}), references=of_money)
    return ours, theirs


@pytest.fixture
def write(
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    vault: Vault,
    tmp_path: Path,
) -> Callable[..., str]:
    name = new_name("secured-schemas")

    def write(ours: LocalRegistry, theirs: LocalRegistry, user: str = ADMIN[0]) -> str:
        file = tmp_path / "link.yaml"
        login = f"basic: {{username: {user}, password: 'env:{WORDS}'}}, tls: {{ca: '{vault.ca}'}}"
        file.write_text(
            f"source: {{bootstrap: '{source.bootstrap}'}}\n"
            f"target: {{bootstrap: '{target.bootstrap}'}}\n"
            f"link: {name}\n"
            f"topics: {{include: ['{name}.*']}}\n"
            "schemas:\n"
            f"  source: {{url: '{ours.url}', {login}}}\n"
            f"  target: {{url: '{theirs.url}', timeout: 2s, {login}}}\n"
        )
        return str(file)

    return write


def test_all_commands_work_with_tls_and_a_login(
    sides: tuple[LocalRegistry, LocalRegistry], write: Callable[..., str], here: Here
) -> None:
    ours, theirs = sides
    file = write(ours, theirs)
    listed = here("schemas", "ls", file, "-o", "json")
    assert {row["verdict"] for row in listed.json["versions"]} == {"missing"}
    assert here("schemas", "diff", file).code == 3
    synced = here("schemas", "sync", file)
    assert synced.code == 0, synced.said
    assert theirs.schemas() == ours.schemas()
    assert here("schemas", "diff", file).code == 0
    verified = here("schemas", "verify", file)
    assert (verified.code, verified.out) == (0, "2 of 2 versions equal\n")
    for said in (listed.said, synced.said, verified.said):
        assert ADMIN[1] not in said


def test_a_login_that_is_refused_is_named_without_its_password(
    sides: tuple[LocalRegistry, LocalRegistry],
    write: Callable[..., str],
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = write(*sides)
    monkeypatch.setenv(WORDS, "hunter22")
    for command in ("ls", "diff", "sync", "verify"):
        ended = here("schemas", command, file)
        assert ended.code == 3, ended.said
        assert "look at the login under `schemas.source`" in " ".join(ended.said.split())
        assert "hunter22" not in ended.said
        assert "nothing to do" not in ended.said
        assert "Traceback" not in ended.said


def test_a_login_that_may_only_read_is_named_for_each_subject(
    sides: tuple[LocalRegistry, LocalRegistry], write: Callable[..., str], here: Here
) -> None:
    ours, theirs = sides
    for each in sides:
        user = {"username": "reader", "password": ADMIN[1], "role": "readonly"}
        each.ask("POST", "/admin/users", {**user, "email": "r@example.com"})
    file = write(ours, theirs, "reader")
    assert here("schemas", "diff", file).code == 3
    ended = here("schemas", "sync", file)
    assert ended.code == 3, ended.said
    assert "look at the login under `schemas.target`, and at its rights there" in " ".join(
        ended.said.split()
    )
    assert theirs.schemas() == {}
