"""What stores hold encoded or hashed serves on: passwords of brokers, tokens, users."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.kraft.ensembles import znodes
from tests.support.kraft.patients import seed, set_broker_config
from tests.support.kraft.runs import arguments, entries
from tests.support.kraft.secured_labs import restart
from tests.support.kraft.traffic import Traffic
from towpath.dev import distribution
from towpath.dev.process import command
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.dev.zookeeper_configs import MECHANISM

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]

_KEYS = {
    "password.encoder.secret": "encoder-word",
    "delegation.token.secret.key": "token-word",
    "delegation.token.max.lifetime.ms": "864000000",
}
_JAAS = f"listener.name.sasl.{MECHANISM.lower()}.sasl.jaas.config"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def tool(lab: ZooKeeperCluster, *words: str) -> str:
    """Run Kafka's tool for tokens as `admin`, who has logged in; return what it printed."""
    login = lab.home / "admin.properties"
    word = lab.password.reveal()
    login.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={MECHANISM}\n"
        f'sasl.jaas.config={_LOGIN[:-1]} username="admin" password="{word}";\n'
    )
    where = ["--bootstrap-server", lab.bootstrap, "--command-config", str(login)]
    main = "org.apache.kafka.tools.DelegationTokenCommand"
    jars = distribution.fetch_tools()
    line = command(jars, main, [*where, *words], heap="128m", work=lab.home)
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tokens(lab: ZooKeeperCluster) -> list[str]:
    """Return the tokens with their HMACs, by which clients log in."""
    lines = tool(lab, "--describe", "--owner-principal", "User:admin").splitlines()
    return [line for line in lines if "User:admin" in line and "owners" not in line]


def test_tokens_and_encoded_passwords_go_there_and_back(tmp_path: Path, here: Here) -> None:
    lab = ZooKeeperCluster(2, 1, home=tmp_path)
    try:
        lab.start()
        restart(lab, lambda *_: _KEYS)
        seed(lab)
        for broker in lab.brokers:
            set_broker_config(lab, broker, _JAAS, _LOGIN)
        tool(lab, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
        wait_until(lambda: len(tokens(lab)) == 1, "brokers know the token")
        before = tokens(lab)
        assert b"encryptedPassword" in (znodes(lab.connect, "/config/brokers")[_path(1)][0] or b"")
        with Traffic(lab) as traffic:
            for each in "run", "rollback", "run", "finalize":
                ended = here(*arguments(lab, each))
                assert ended.code == 0, ended.said
                assert tokens(lab) == before
                if each == "rollback":
                    again = znodes(lab.connect, "/config/brokers")[_path(1)][0] or b""
                    assert b"encryptedPassword" in again
                    assert _LOGIN.encode() not in again
                traffic.flowing()
    finally:
        lab.stop(hard=True)
    assert traffic.result().whole, traffic.result()
    assert all(one["equal"] for one in entries(lab) if one["event"] == "compared")


def _path(broker: int) -> str:
    return f"/config/brokers/{broker}"
