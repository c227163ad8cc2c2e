"""Quotas of every kind are set, changed and deleted in dual-write, and it goes back then."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.kraft.quotas import QUOTA_KINDS
from tests.support.kraft.runs import arguments, entries, run_whole
from tests.support.kraft.sessions import znodes_of
from tests.support.program import Program
from towpath.cluster.admin import Admin
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.zookeeper.at_start import KRAFT_TOPIC_CONFIGS
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]
_IPV6 = Quota((Entity(EntityKind.IP, "2001:db8::1"),), QuotaKey.CONNECTION_CREATION_RATE)
_IPV6_ZNODE = "/config/ips/2001%3Adb8%3A%3A1"
_TOPIC_ZNODE = "/config/topics/limited"
_CARRIED_OVER = {"user", "users"}
_STRANGE = "/config/brokers/1"
"""The metadata log knows no config of this broker."""


def _set_config(lab: ZooKeeperCluster, value: str | None) -> None:
    """Set or delete a topic config that KRaft takes, and ZooKeeper mode does not."""
    change = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(KRAFT_TOPIC_CONFIGS[0], value or "", incremental_operation=change)
    about = ConfigResource(ConfigResource.Type.TOPIC, "limited", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": lab.back_door})
    admin.incremental_alter_configs([about])[about].result(30)


def ended_while_it_waits(lab: ZooKeeperCluster) -> Program:
    """End a rollback that waits for a znode of somebody else to go; return it."""
    with znodes_of(lab) as znodes:
        znodes.create(_STRANGE, b'{"version":1,"config":{"background.threads":"9"}}', makepath=True)
        program = Program(lab.home, *arguments(lab, "rollback"), name="ended")
        waits = "waiting until ZooKeeper and the metadata log are equal"
        wait_until(lambda: waits in program.said or not program.running, "it waits", 120)
        program.send(signal.SIGTERM)
        began = time.monotonic()
        assert program.wait(60) == 3, program.said
        assert time.monotonic() - began < 10, program.said
        znodes.delete(_STRANGE)
    return program


def test_deleted_quotas_are_told_and_a_new_leader_writes_them(tmp_path: Path, here: Here) -> None:
    def told() -> dict[str, dict[str, object]]:
        found = here("kraft", "status", str(lab.config), "--output", "json").json
        return {each["code"]: each["values"] for each in found["alarms"]}

    def change(value: float | None) -> None:
        for make, key in QUOTA_KINDS.values():
            admin.quotas.change(Quota(make(1), key), value)

    with ZooKeeperCluster(1, 1, home=tmp_path) as lab:
        done = run_whole(lab, "run")
        assert done.wait() == 0, done.said
        create_topic(lab.back_door, "limited")
        with Admin(ClusterConfig(bootstrap=tuple(lab.back_door.split(","))), Side.SOURCE) as admin:
            change(1e6)
            change(2e6)
            wait_until(lambda: not told(), "what was set and changed is in both stores", 60)
            ended = ended_while_it_waits(lab)
            assert "nothing was changed by this step" in ended.said
            change(None)
            admin.quotas.change(_IPV6, 1e6)
            wait_until(lambda: "ENDS_BROKERS" in told(), "ZooKeeper has the quota", 60)
            admin.quotas.change(_IPV6, None)
        _set_config(lab, "true")
        wait_until(
            lambda: told()["ENDS_BROKERS"]["paths"] == [_IPV6_ZNODE, _TOPIC_ZNODE],
            "ZooKeeper has the config that brokers end at", 60,
        )  # fmt: skip
        _set_config(lab, None)
        wait_until(
            lambda: told()["ENDS_BROKERS"]["paths"] == [_IPV6_ZNODE], "the config is gone", 60
        )
        before = len(entries(lab))
        refused = here(*arguments(lab, "rollback"))
        assert refused.code == 3, refused.said
        assert _IPV6_ZNODE in refused.said
        assert not [each for each in entries(lab)[before:] if each["event"] == "step_began"]
        with znodes_of(lab) as znodes:
            znodes.delete(_IPV6_ZNODE)
        wait_until(lambda: "QUOTAS_LEFT" in told(), "quotas are left", 60)
        left = told()["QUOTAS_LEFT"]["quotas"]
        assert isinstance(left, list)
        assert len(left) == len(QUOTA_KINDS) - len(_CARRIED_OVER), left
        back = run_whole(lab, "rollback", "rollback")
        assert back.wait() == 0, back.said
        rewrites = [each for each in entries(lab) if "next leader writes" in str(each.get("what"))]
        assert [each["event"] for each in rewrites] == ["step_began", "step_done"]
        assert not told()
