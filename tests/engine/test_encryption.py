"""Credentials on a Spark cluster: encrypted, or the start is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import Program
from towpath.dev import ports
from towpath.engine.encryption import BY_US, lacking
from towpath.settings import ClusterConfig

FALL_BACK = "spark.network.crypto.saslFallback"
SAFE = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true", **BY_US}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, ()),
        ({"spark.authenticate": "false"}, ("spark.authenticate true",)),
        ({"spark.network.crypto.enabled": ""}, ("spark.network.crypto.enabled true",)),
        ({"spark.network.crypto.enabled": "no", "spark.ssl.rpc.enabled": " TRUE"}, ()),
        ({FALL_BACK: "true"}, (f"{FALL_BACK} false",)),
        ({FALL_BACK: "true", "spark.ssl.rpc.enabled": "true"}, ()),
        ({"spark.io.encryption.enabled": "false"}, ("spark.io.encryption.enabled true",)),
    ],
)
def test_what_must_be_set(more: dict[str, str], wanted: tuple[str, ...]) -> None:
    assert lacking(SAFE | more) == wanted


def test_nothing_is_encrypted_by_itself() -> None:
    assert lacking(BY_US) == ("spark.authenticate true", "spark.network.crypto.enabled true")


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ({}, False),
        ({"tls": True}, False),
        ({"sasl": {"mechanism": "GSSAPI"}}, False),
        ({"sasl": {"mechanism": "OAUTHBEARER", "token_command": "get --secret x"}}, True),
    ],
)
def test_which_files_hold_credentials(more: dict[str, object], holds: bool) -> None:
    config = ClusterConfig.model_validate({"bootstrap": "b:1", **more})
    assert config.holds_credentials is holds


@pytest.mark.spark(own=True)
def test_a_cluster_without_encryption_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither Kafka nor Spark is there: whoever tried to reach them would say so."""
    monkeypatch.setenv("PASSWORD", "m4rked-password")
    sasl = "{mechanism: PLAIN, username: u, password: 'env:PASSWORD'}"
    [port] = ports.reserve(1)
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '127.0.0.1:{port}', sasl: {sasl}}}\n"
        f"target: {{bootstrap: '127.0.0.1:{port}'}}\nlink: a\n"
        "topics: {include: ['x'], rename: 'y.{topic}'}\n"
    )
    (tmp_path / "spark-defaults.conf").write_text("spark.authenticate true\n")
    run = Program(
        tmp_path, "run", str(file), "--master", f"spark://127.0.0.1:{port}", name="run",
        env={"SPARK_CONF_DIR": str(tmp_path)},
    )  # fmt: skip
    try:
        assert run.wait(60) == 4, run.said
    finally:
        run.close()
    assert f"Spark at spark://127.0.0.1:{port} would not keep them encrypted; set" in run.said
    assert "set `spark.network.crypto.enabled true` in spark-defaults.conf" in run.said
    assert "m4rked" not in run.said
