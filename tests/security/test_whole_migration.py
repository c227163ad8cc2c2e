"""The demo's topics with everything around them, between clusters that ask for TLS and a login."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.clusters.fleet import USERS
from tests.support.clusters.secured import SecuredLink
from tests.support.here import MASTER, Here
from towpath.cluster.admin import Admin
from towpath.dev.load import load
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.alone,
]
ANN = Credential("ann", Mechanism.SHA_512)
QUOTA = Quota((Entity(EntityKind.USER, "ann"),), QuotaKey.CONSUMER_BYTE_RATE)


def acl(operation: Operation, name: str = "orders") -> Acl:
    return Acl(
        resource=Resource.TOPIC,
        name=name,
        pattern=Pattern.LITERAL,
        principal="User:ann",
        host=EVERY,
        operation=operation,
        permission=Permission.ALLOW,
    )


def write(secured: SecuredLink, acls: str) -> str:
    secured.user = {"source": "admin", "target": "admin"}
    file = secured.file
    lines = file.read_text().replace(f"'{secured.name}.*'", "orders, payments, customers, clicks.*")
    more = f"access: {{acls: {acls}, quotas: true, users: {{ann: 'file:{file.parent}/ann'}}}}\n"
    (file.parent / "ann").write_text("ann-secret\n")
    file.write_text(lines + more)
    return str(file)


@pytest.mark.spark(long=True)
def test_from_the_plan_to_the_cutover(
    secured: SecuredLink, here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOURCE_PASSWORD", USERS["admin"].reveal())
    load(secured.source.back_door, scale=0.02)
    source, target = (
        Admin(ClusterConfig.model_validate({"bootstrap": cluster.back_door}), side)
        for cluster, side in ((secured.source, Side.SOURCE), (secured.target, Side.TARGET))
    )
    with source, target:
        source.acls.create([acl(Operation.READ), acl(Operation.WRITE)])
        source.users.set_credential(ANN, 4096, Secret("ann-at-the-source"))
        source.quotas.change(QUOTA, 1_000_000.0)
        file, saved = write(secured, "safe"), str(tmp_path / "plan.json")
        planned = here("plan", file, "--save", saved)
        assert planned.code == 0, planned.said
        assert "5 topics to mirror: 5 to create" in planned.out
        assert planned.out.count("1 broker, login admin") == 2, planned.said
        text = Path(saved).read_text()
        for secret in (*USERS.values(), Secret("ann-secret")):
            assert secret.reveal() not in text + planned.said
        applied = here("apply", saved, "--yes", "--output", "json")
        assert applied.code == 0, applied.said
        assert here("diff", file).code == 0
        found = target.acls.describe()
        assert found is not None
        assert acl(Operation.READ) in found.known
        assert acl(Operation.WRITE) not in found.known, "not before the cutover"
        assert target.users.describe(["ann"]) == {ANN: 4096}
        assert target.quotas.describe().known[QUOTA] == 1_000_000.0
        assert here.run(file, "--until-caught-up").code == 0
        report = tmp_path / "report.json"
        words = ("--quiet", "0", *MASTER, "--report", str(report))
        ended = here("cutover", write(secured, "full"), *words)
        assert ended.code == 0, ended.said
        told = json.loads(report.read_text())
        assert (told["complete"], told["equal_partitions"]) == (True, told["partitions"])
        found = target.acls.describe()
        assert found is not None
        assert acl(Operation.WRITE) in found.known
