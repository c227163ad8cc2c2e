"""Clusters in ZooKeeper mode whose nodes log in to ZooKeeper, to each other and to controllers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.support.clusters.certificates import Authority
from towpath.dev import ports
from towpath.dev.broker_configs import properties_text
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.dev.zookeeper_configs import MECHANISM, zookeeper_properties
from towpath.runtime.deadline import Deadline
from towpath.settings.java_properties import change_properties

_DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule required"
_COMMON = "org.apache.kafka.common.security"
_WORD, _PLAIN = "zookeeper-word", "plain-word"
_JAAS = f"""\
Server {{ {_DIGEST} user_kafka="{_WORD}"; }};
Client {{ {_DIGEST} username="kafka" password="{_WORD}"; }};
"""
Changes = Mapping[str, str]


def with_zookeeper(lab: ZooKeeperCluster, changes: Changes) -> None:
    """Write the file of ZooKeeper before its first start."""
    made = zookeeper_properties(lab.ports.zookeeper, lab.home / "data" / "zookeeper")
    (lab.home / "etc").mkdir(parents=True, exist_ok=True)
    file = lab.home / "etc" / "zookeeper.properties"
    file.write_text(properties_text({**made, **changes}))


def restart(lab: ZooKeeperCluster, changes: Callable[[int, str], Changes]) -> None:
    """Give brokers further properties, and restart them."""
    for node, port in zip(lab.brokers, ports.reserve(len(lab.brokers)), strict=True):
        lab.process(node).stop(Deadline.after(60))
        lab.wait_forgotten(node)
        file = lab.files.properties(node)
        file.write_bytes(change_properties(file.read_bytes(), changes(node, f"127.0.0.1:{port}")))
    for node in lab.brokers:
        lab.process(node).start(lab.command(node))
    for node in lab.brokers:
        lab.wait(node)


def in_file(lab: ZooKeeperCluster, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the file of the migration."""
    told: dict[str, Any] = YAML(typ="safe").load(lab.config)
    change(told)
    lab.config.write_text(json.dumps(told))


def _listeners(lab: ZooKeeperCluster, node: int, inner: str, protocol: str) -> dict[str, str]:
    clients, back = lab.ports.clients[node - 1], lab.ports.internal[node - 1]
    told = f"SASL://127.0.0.1:{clients},PLAINTEXT://127.0.0.1:{back},INNER://{inner}"
    return {
        "listeners": told,
        "advertised.listeners": told,
        "inter.broker.listener.name": "INNER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"
        f",INNER:{protocol}",
    }


def jaas(home: Path) -> str:
    """Write the logins of ZooKeeper and its clients; return the option that names them."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "jaas.conf").write_text(_JAAS)
    return f"-Djava.security.auth.login.config={home / 'jaas.conf'}"


def with_logins(lab: ZooKeeperCluster) -> None:
    """Let brokers log in by SCRAM among each other, and by PLAIN to controllers.

    ZooKeeper asks everybody for a login (`jaas`), and znodes have ACLs.
    """
    provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
    needed = {"authProvider.1": provider, "enforce.auth.enabled": "true"}
    with_zookeeper(lab, {**needed, "enforce.auth.schemes": "sasl"})
    lab.start()
    scram = f"{_COMMON}.scram.ScramLoginModule required"
    password = lab.password.reveal()
    restart(lab, lambda node, inner: {
        **_listeners(lab, node, inner, "SASL_PLAINTEXT"),
        "zookeeper.set.acl": "true",
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        f"listener.name.inner.{MECHANISM.lower()}.sasl.jaas.config":
            f'{scram} username="admin" password="{password}";',
        **plain_logins(),
    })  # fmt: skip

    def change(told: dict[str, Any]) -> None:
        word = lab.home / "word"
        word.write_text(_WORD)
        told["zookeeper"] |= {"username": "kafka", "password": f"file:{word}"}
        plain = lab.home / "plain"
        plain.write_text(_PLAIN)
        sasl = {"mechanism": "PLAIN", "username": "admin", "password": f"file:{plain}"}
        served = {"listener.name.controller.sasl.enabled.mechanisms": "PLAIN"}
        told["controllers"] |= {"sasl": sasl, "properties": {**plain_logins(), **served}}

    in_file(lab, change)


def plain_logins() -> dict[str, str]:
    """Return by what nodes log in to controllers, and controllers know them."""
    user = f'username="admin" password="{_PLAIN}" user_admin="{_PLAIN}"'
    module = f"{_COMMON}.plain.PlainLoginModule required"
    return {
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": f"{module} {user};",
    }


def with_certificates(lab: ZooKeeperCluster) -> None:
    """Let everybody show certificates to everybody: brokers, controllers and ZooKeeper."""
    authority = Authority(lab.home / "ca")
    own = authority.issue("node")
    [port] = ports.reserve(1)
    with_zookeeper(lab, {
        "secureClientPort": str(port),
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(own.both),
        "ssl.trustStore.location": str(authority.certificate),
        "ssl.trustStore.type": "PEM",
        "ssl.clientAuth": "need",
    })  # fmt: skip
    lab.start()
    stores = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(own.both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
    }
    restart(lab, lambda node, inner: {
        **_listeners(lab, node, inner, "SSL"),
        **stores,
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/",
        "super.users": "User:ANONYMOUS;User:admin;User:node",
        "zookeeper.connect": f"localhost:{port}",
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        **{f"zookeeper.{key}": value for key, value in stores.items()},
    })  # fmt: skip

    def change(told: dict[str, Any]) -> None:
        tls = {"ca": authority.certificate, "cert": own.certificate, "key": own.key}
        told["zookeeper"] = {
            "connect": f"localhost:{port}",
            "tls": {k: str(v) for k, v in tls.items()},
        }
        told["controllers"] |= {"tls": told["zookeeper"]["tls"]}

    in_file(lab, change)
