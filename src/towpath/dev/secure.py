"""Certificates, users, rights and link file of `towpath dev up --secure`.

Everything lies in one folder that only this user can enter. One authority signs for both clusters;
its key is deleted as soon as it has signed. The login of the link has the rights of docs/rights.md
and no others; `admin` may do everything. The listener between brokers has neither TLS nor a login,
as in every local cluster here: it is bound to 127.0.0.1, and its port is in no file for clients.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towpath.dev.errors import DevError
from towpath.engine import java
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.foreign import printed
from towpath.model.nouns import Side
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret

ADMIN, LOGIN, LINK = "admin", "towpath", "secure"
MECHANISM = Mechanism.SHA_512
_ITERATIONS = 4096
_DAYS = "3650"
_PATIENCE = 60
_QUICK = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""Options of a JVM that lives for half a second: with one compiler tier it takes half the CPU."""
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_WORDS = re.compile(r'username="(\w+)" password="([^"]+)"')

_TOPIC, _CLUSTER = (Resource.TOPIC, EVERY), (Resource.CLUSTER, "kafka-cluster")
_RIGHTS: Mapping[Side, Mapping[tuple[Resource, str], tuple[Operation, ...]]] = {
    Side.SOURCE: {
        _TOPIC: (Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS),
        _CLUSTER: (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS),
    },
    Side.TARGET: {
        _TOPIC: (
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        ),
        _CLUSTER: (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.ALTER),
        (Resource.GROUP, EVERY): (Operation.DESCRIBE,),
        (Resource.TRANSACTIONAL_ID, f"towpath.{LINK}.:"): (Operation.DESCRIBE, Operation.WRITE),
    },
}
"""What docs/rights.md lists for a link of all topics, without `access`."""

_LINK_FILE = """\
# Written by `towpath dev up --secure`, each time anew: copy this file before you change it.
source:
  bootstrap: "{source}"
  tls: {{ca: ca.pem}}
  sasl: {{mechanism: {mechanism}, username: {login}, password: "file:source-password"}}
target:
  bootstrap: "{target}"
  tls: {{ca: ca.pem}}
  sasl: {{mechanism: {mechanism}, username: {login}, password: "file:target-password"}}
link: {link}
topics: {{include: [".*"]}}
records: {{start: earliest}}
"""


@dataclass(frozen=True, slots=True)
class Strongbox:
    """The folder with certificates, passwords and the file of the link."""

    folder: Path

    @property
    def link(self) -> Path:
        """The path of the link's file."""
        return self.folder / "link.yaml"

    @property
    def authority(self) -> Path:
        """The path of the certificate authority's certificate, as PEM."""
        return self.folder / "ca.pem"

    @property
    def keystore(self) -> Path:
        """The path of the brokers' key and certificate, as PKCS 12."""
        return self.folder / "brokers.p12"

    def admin_properties(self, side: Side) -> Path:
        """Return the path of a login file for Kafka's own clients as `admin`."""
        return self.folder / f"{side}-admin.properties"

    def password(self, name: str) -> Secret:
        """Return a user's password, generated on first use."""
        path = self.folder / f"{name}-password"
        if not path.exists():
            _write(path, secrets.token_urlsafe(24) + "\n")
        return Secret(path.read_text().strip())


def prepare(folder: Path) -> Strongbox:
    """Create the folder with certificates and passwords; existing ones are kept.

    Raises:
        DevError: Java's keytool is missing, or failed.
        JavaError: Java is missing.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    box = Strongbox(folder)
    if not (box.keystore.exists() and box.authority.exists()):
        box.keystore.unlink(missing_ok=True)
        _certify(box)
    return box


def broker_configs(box: Strongbox) -> dict[str, str]:
    """Return the configs of a broker whose clients need TLS, a login and rights."""
    listener = "listener.name.client"
    return {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        f"{listener}.ssl.keystore.type": "PKCS12",
        f"{listener}.ssl.keystore.location": str(box.keystore),
        f"{listener}.ssl.keystore.password": box.password("keystore").reveal(),
        f"{listener}.sasl.enabled.mechanisms": str(MECHANISM),
        f"{listener}.{MECHANISM.lower()}.sasl.jaas.config": f"{_MODULE};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{ADMIN}",
    }


def settle(box: Strongbox, side: Side, back_door: str, bootstrap: str) -> None:
    """Create the users of a running cluster, and the rights of the link's login.

    Args:
        box: Their passwords.
        side: The cluster.
        back_door: Its address without a login.
        bootstrap: Its address for clients.

    Raises:
        ClusterError: The cluster refused.
    """
    from towpath.cluster.admin import Admin  # noqa: PLC0415  # clusters without logins need none
    from towpath.settings import ClusterConfig  # noqa: PLC0415

    with Admin(ClusterConfig(bootstrap=(back_door,)), side) as admin:
        for user, password in ((LOGIN, box.password(side)), (ADMIN, box.password(ADMIN))):
            admin.users.set_credential(Credential(user, MECHANISM), _ITERATIONS, password)
        answers = admin.acls.create(rights(side))
        for error in answers.failed.values():
            raise error
    _write(box.admin_properties(side), _properties(box, bootstrap))


def rights(side: Side) -> tuple[Acl, ...]:
    """Return the rights of the link's login on one side."""
    return tuple(
        Acl(
            resource=kind,
            name=name,
            pattern=Pattern.PREFIXED if kind is Resource.TRANSACTIONAL_ID else Pattern.LITERAL,
            principal=f"User:{LOGIN}",
            host=EVERY,
            operation=operation,
            permission=Permission.ALLOW,
        )
        for (kind, name), operations in _RIGHTS[side].items()
        for operation in operations
    )


def write_link(box: Strongbox, bootstraps: Mapping[Side, str]) -> None:
    """Write the file of a link from the source to the target."""
    addresses = {str(side): bootstraps[side] for side in Side}
    text = _LINK_FILE.format(**addresses, mechanism=MECHANISM, login=LOGIN, link=LINK)
    _write(box.link, text)


def client_options(file: Path) -> dict[str, Any]:
    """Return kafka-python's options for the login in a file of `admin_properties`."""
    lines = (line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    said = dict(lines)
    found = _WORDS.search(said.get("sasl.jaas.config", ""))
    if found is None:
        raise DevError(f"{file} is not an admin.properties file of `towpath dev up --secure`")
    return {
        "security_protocol": said["security.protocol"],
        "ssl_cafile": said["ssl.truststore.location"],
        "sasl_mechanism": said["sasl.mechanism"],
        "sasl_plain_username": found[1],
        "sasl_plain_password": found[2],
    }


def _properties(box: Strongbox, bootstrap: str) -> str:
    password = box.password(ADMIN).reveal()
    return (
        f"bootstrap.servers={bootstrap}\n"
        "security.protocol=SASL_SSL\n"
        "ssl.truststore.type=PEM\n"
        f"ssl.truststore.location={box.authority}\n"
        f"sasl.mechanism={MECHANISM}\n"
        f'sasl.jaas.config={_MODULE} username="{ADMIN}" password="{password}";\n'
    )


def _certify(box: Strongbox) -> None:
    """Make an authority, let it sign the key of the brokers, and delete its key."""
    box.password("keystore")
    for words in _steps(box):
        _keytool(box, words)
    box.keystore.chmod(0o600)


def _steps(box: Strongbox) -> Iterator[list[str]]:
    make = ["-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", _DAYS]
    yield [*make, "-alias", "ca", "-dname", "CN=towpath dev", "-ext", "bc:c=ca:true"]
    names = "san=dns:localhost,ip:127.0.0.1"
    yield [*make, "-alias", "broker", "-dname", "CN=localhost", "-ext", names, "-signer", "ca"]
    yield ["-exportcert", "-rfc", "-alias", "ca", "-file", str(box.authority)]
    yield ["-delete", "-alias", "ca"]


def _keytool(box: Strongbox, words: list[str]) -> str:
    path = java.find()
    tool = next((p for p in (path, path.resolve()) if p.with_name("keytool").exists()), None)
    if tool is None:
        raise DevError(f"{path} has no keytool beside it", "install a whole JRE, which has one")
    store = ["-keystore", str(box.keystore), "-storetype", "PKCS12"]
    password = ["-storepass:file", str(box.folder / "keystore-password")]
    command = [str(tool.with_name("keytool")), *_QUICK, *words, *store, *password]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode:
        raise DevError(f"keytool could not make certificates: {printed(done.stdout).strip()[:300]}")
    return done.stdout


def _write(path: Path, text: str) -> None:
    """Write a file that only this user may read."""
    scratch = path.with_name(f"{path.name}.new")
    scratch.unlink(missing_ok=True)
    number = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w") as file:
        file.write(text)
    scratch.replace(path)
