"""Certificates, authorities and passwords that are replaced while a slice copies."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.records.test_connections import BackDoor, copier, endless, going
from tests.support.clusters import Clusters
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from towpath.config import ClusterConfig, troubles
from towpath.dev.broker import LocalCluster
from towpath.dev.certificates import Authority, Certificate
from towpath.dev.settings import Security
from towpath.model.secret import Secret
from towpath.records.copy import Copier

pytestmark = pytest.mark.broker
OLD, NEW = Secret("m4rked-old"), Secret("m4rked-new")


class Keys:
    """Everything that is replaced: what the broker has, and what the link finds."""

    def __init__(self, folder: Path) -> None:
        self.ours = folder / "link"
        self.ours.mkdir(parents=True)
        self.authorities = [Authority(folder / name) for name in ("old", "new")]
        self.brokers = [each.issue("broker") for each in self.authorities]
        self.clients = [each.issue("client") for each in self.authorities]
        self.served = Authority(folder / "served").issue("broker")
        self.trusted = folder / "served" / "ca.crt"
        self.serve(0)
        for name in "ca", "cert", "key", "password":
            self.give(name, 0)

    def serve(self, which: int) -> None:
        """Give the broker its certificate, and the authority of its clients."""
        shutil.copy(self.brokers[which].both, self.served.both)
        shutil.copy(self.authorities[which].certificate, self.trusted)

    def give(self, name: str, which: int) -> None:
        """Put a file to where the link finds it."""
        client: Certificate = self.clients[which]
        found = {
            "ca": self.authorities[which].certificate.read_text(),
            "cert": client.certificate.read_text(),
            "key": client.key.read_text(),
            "password": (OLD, NEW)[which].reveal(),
        }
        (self.ours / name).write_text(found[name])

    def config(self, cluster: LocalCluster) -> ClusterConfig:
        """Return how the link comes in, as a task on the same machine gets it."""
        settings: dict[str, Any] = {
            "bootstrap": cluster.addresses,
            "tls": {name: str(self.ours / name) for name in ("ca", "cert", "key")},
            "sasl": {
                "mechanism": "SCRAM-SHA-512", "username": "mirror",
                "password": f"file:{self.ours}/password",
            },
            "request_timeout": "5s",
        }  # fmt: skip
        made: ClusterConfig = pickle.loads(pickle.dumps(ClusterConfig.model_validate(settings)))  # noqa: S301
        return made


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


@pytest.fixture
def rotating(clusters: Clusters, keys: Keys) -> LocalCluster:
    security = Security(
        broker=keys.served, authority=keys.trusted, client_certificate="required",
        users={"mirror": OLD},
    )  # fmt: skip
    return clusters.get("rotating", security=security)


def set_password(cluster: LocalCluster, secret: Secret) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.back_door})
    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion("mirror", how, secret.reveal().encode())
    for done in admin.alter_user_scram_credentials([change]).values():
        done.result(30)


def test_a_slice_outlives_a_rotation(
    tmp_path: Path, source: LocalCluster, rotating: LocalCluster, keys: Keys,
    new_name: Callable[[str], str],
) -> None:  # fmt: skip
    """The broker changes first; then the link's files, one by one, one of them half-written."""
    mirror = BackDoor(tmp_path, source, rotating, new_name("rotation"))
    mirror.create()
    [planned] = mirror.slices()
    target = keys.config(rotating)
    work = replace(endless(planned), target=target)
    count = 0

    def write() -> None:
        nonlocal count
        produce(source.back_door, mirror.topic, [Record(None, b"%d" % i) for i in range(50)])
        count += 50

    def copied(made: Copier) -> bool:
        [lane] = made._lanes.values()
        assert not lane.progress.stopped, lane.progress.error
        return end_offsets(rotating.back_door, mirror.topic)[1] == count

    with copier(work, work.source, target) as made, going(made):
        write()
        wait_until(lambda: made._lanes != {} and copied(made), "what was there is copied")
        set_password(rotating, NEW)
        keys.serve(1)
        rotating.restart(1)
        [lane] = made._lanes.values()
        write()
        wait_until(lambda: lane.progress.error != "", "the broker is not trusted any more")
        said = [lane.progress.error]
        whole = (keys.ours / "ca").read_text()
        (keys.ours / "ca").write_text(whole[: len(whole) // 2])
        assert len(troubles()) == 1
        for name in "ca", "cert", "key":
            keys.give(name, 1)
        wait_until(lambda: "logging in" in lane.progress.error, "the password does not fit")
        said.append(lane.progress.error)
        keys.give("password", 1)
        wait_until(lambda: copied(made), "it goes on with what the files hold now", 60)
        wait_until(lambda: lane.progress.error == "", "nothing is in its way any more")
    assert troubles() == ()
    assert [each for each in said if "m4rked" in each] == []
    assert "signed by none of `tls.ca`" in said[0]
    assert "SASL_AUTHENTICATION_FAILED (58)" in said[1]
    values = [record.value for record in consume(rotating.back_door, mirror.topic)]
    assert values == [b"%d" % i for i in range(50)] * (count // 50)
