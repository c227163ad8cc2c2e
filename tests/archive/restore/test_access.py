"""Access in archives: versions of it are kept, and come back with the topics of a version."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archives import CLUSTER, WRITER
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.subjects.access_sides import clear, every_kind, link
from towpath.archive.log import ArchiveState, Capture
from towpath.archive.log.entries import Draft
from towpath.archive.write.capturing_access import AccessCaptures
from towpath.archive.write.source_look import SourceLook
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.acl import Operation
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
NewName = Callable[[str], str]
LOOK = SourceLook(cluster=CLUSTER, topics={})


def described(listing: Any, user: str) -> set[Any]:
    return {each for each in listing.known if user in str(each)}


def test_access_comes_back_as_of_the_restored_version(
    tmp_path: Path,
    secured_source: LocalCluster,
    secured_version: LocalCluster,
    vault: Vault,
    new_name: NewName,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = new_name("person") + "-x"
    quota = Quota((Entity(EntityKind.CLIENT_ID, user),), QuotaKey.PRODUCER_BYTE_RATE)
    config = link(secured_source, secured_version, vault, users={user: Secret("the new one")})
    stored = StoredArchive(tmp_path, new_name("shop"), secured_version.bootstrap)
    acls = every_kind(user, [Operation.READ, Operation.DESCRIBE])
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as target:
        try:
            source.acls.create(acls)
            source.quotas.change(quota, 5000.0)
            source.users.set_credential(Credential(user, Mechanism.SHA_512), 4096, Secret("old"))
            wait_until(lambda: described(source.acls.describe(), user) == acls, "they hold")
            wait_until(lambda: bool(source.users.describe([user])), "the user is there")
            captures = AccessCaptures(source, ArchiveState(), wanted=True)
            found = captures.changed(LOOK)
            assert {each.kind for each in found} == {"acls", "users", "quotas"}
            assert "old" not in json.dumps([each.value for each in found])
            assert captures.changed(LOOK) == []
            stored.log.append(Draft(writer=WRITER, captures=tuple(found)))
            stored.put(user, old_records(5))  # ACLs about a topic come with the topic
            version = stored.log.state.version
            gone = [each for each in found if each.kind == "quotas"]
            stored.log.append(
                Draft(writer=WRITER, captures=tuple(without(each, user) for each in gone))
            )
            monkeypatch.setenv("RESTORED_PASSWORD", "the new one")
            file = secured_file(stored, secured_version, vault, user)
            planned = here("restore", "plan", file, "--version", str(version), "--output", "json")
            assert planned.code == 0, planned.said
            subjects = {step["subject"] for step in planned.json["steps"]}
            assert {"topics", "acls", "users", "quotas"} <= subjects
            assert not described(target.acls.describe(), user)
            ended = here.on_spark("restore", "run", file, "--version", str(version))
            assert ended.code == 0, ended.said
            wait_until(lambda: described(target.acls.describe(), user) == acls, "all ACLs")
            assert target.quotas.describe().known[quota] == 5000.0
            assert Credential(user, Mechanism.SHA_512) in target.users.describe([user])
            again = here("restore", "plan", file, "--version", str(version), "--output", "json")
            mine = [step for step in again.json["steps"] if user in json.dumps(step)]
            assert mine == []
        finally:
            clear(source, user)
            clear(target, user)


def without(capture: Capture, user: str) -> Capture:
    """Return a capture of quotas as it would be after those of a user were removed."""
    kept = [each for each in capture.value["quotas"] if user not in json.dumps(each)]
    return replace(capture, value={**capture.value, "quotas": kept})


def secured_file(stored: StoredArchive, target: LocalCluster, vault: Vault, user: str) -> str:
    path = stored.file(
        access={"acls": "full", "quotas": True, "users": {user: "env:RESTORED_PASSWORD"}}
    )
    told = json.loads(path.read_text())
    (path.parent / "admin.secret").write_text(USERS["admin"].reveal())
    login = {
        "mechanism": "SCRAM-SHA-512",
        "username": "admin",
        "password": f"file:{path.parent / 'admin.secret'}",
    }
    told["target"] = {
        "bootstrap": target.bootstrap,
        "tls": {"ca": str(vault.ca)},
        "sasl": login,
    }
    path.write_text(json.dumps(told))
    return str(path)


def test_a_login_that_may_not_read_access_is_told(
    secured_source: LocalCluster, secured_version: LocalCluster, vault: Vault
) -> None:
    config = link(secured_source, secured_version, vault, logins=("nobody", "admin"))
    with Admin(config.source, Side.SOURCE) as source:
        captures = AccessCaptures(source, ArchiveState(), wanted=True)
        captures.changed(LOOK)
        assert "ACLs" in captures.untold
        assert AccessCaptures(source, ArchiveState(), wanted=False).changed(LOOK) == []
