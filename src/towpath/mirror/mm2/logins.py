"""The sections `source` and `target`, made from a cluster's properties in MirrorMaker 2's file.

A secret is never taken over: the file of ours refers to an environment variable or a file, and the
user is told what belongs there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from towpath.mirror.mm2.flows import Fate, Mm2File
from towpath.settings.jaas import login_options
from towpath.settings.java_properties import Property

_JAAS = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b")
_PROVIDED = re.compile(r"\$\{([^}:]*):(?:([^}]*):)?([^}:]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PEM = re.compile(r".*\.(pem|crt|cer)", re.IGNORECASE)
_WITH_PASSWORD = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
_NO_SECRET = re.compile(r"[\w.@$/ -]{1,100}")


@dataclass(frozen=True, slots=True)
class WantedSecret:
    """A secret that the user must provide.

    Attributes:
        variable: The environment variable that our file names.
        key: The property that holds the secret in MirrorMaker 2's file.
        what: What it is.
    """

    variable: str
    key: str
    what: str

    def __str__(self) -> str:
        return f"export {self.variable}: {self.what} of {self.key}"


@dataclass
class Login:
    """The section of a cluster.

    Attributes:
        section: What stands below `source` or `target`.
        secrets: The secrets that the user must provide.
    """

    section: dict[str, Any] = field(default_factory=dict)
    secrets: list[WantedSecret] = field(default_factory=list)


def login(file: Mm2File, alias: str, side: str) -> Login:
    """Return the section of a cluster, and record the fates of its properties.

    Args:
        file: MirrorMaker 2's file.
        alias: The cluster.
        side: `source` or `target`, for notes.
    """
    return _Maker(file, alias, side).made()


class _Maker:
    def __init__(self, file: Mm2File, alias: str, side: str) -> None:
        self._file, self._alias, self._side = file, alias, side
        self._login = Login()

    def made(self) -> Login:
        section = self._login.section
        bootstrap = self._find("bootstrap.servers")
        section["bootstrap"] = self._text(bootstrap) if bootstrap else "HOST:9092"
        self._took(bootstrap, "bootstrap")
        protocol = self._find("security.protocol")
        word = protocol.value.strip().upper() if protocol else "PLAINTEXT"
        if word.endswith("SSL"):
            section["tls"] = self._tls() or True
        if word.startswith("SASL"):
            self._sasl()
        self._took(protocol, "tls` and `sasl" if word == "SASL_SSL" else "tls")
        timeout = self._find("request.timeout.ms")
        if timeout and timeout.value.strip().isdigit():
            section["request_timeout"] = f"{timeout.value.strip()}ms"
            self._took(timeout, "request_timeout")
        return self._login

    def _find(self, *names: str) -> Property | None:
        return self._file.of_cluster(self._alias, *names)

    def _took(self, found: Property | None, ours: str) -> None:
        self._file.note(found, Fate.TAKEN, f"`{self._side}.{ours}`")

    def _by_hand(self, found: Property | None, text: str) -> None:
        self._file.note(found, Fate.BY_HAND, text)

    def _text(self, found: Property) -> str:
        """Return a value that is no secret; a variable of the environment stays one."""

        def put_in(match: re.Match[str]) -> str:
            name = self._variable(match)
            return f"${{{name}}}" if name else match[0]

        return _PROVIDED.sub(put_in, found.value.strip())

    def _variable(self, match: re.Match[str]) -> str:
        """Return the environment variable that a `${provider:path:key}` means, "" if none."""
        is_env = self._file.provider(match[1]).endswith("EnvVarConfigProvider")
        return match[3] if is_env and _VARIABLE.fullmatch(match[3]) else ""

    def _secret(self, value: str, found: Property, what: str) -> str:
        """Return a reference to a secret of the file."""
        match = _PROVIDED.fullmatch(value)
        name = self._variable(match) if match else ""
        if name:
            return f"env:{name}"
        if match and self._file.provider(match[1]).endswith("DirectoryConfigProvider"):
            return f"file:{(match[2] or '').rstrip('/')}/{match[3]}"
        word = re.sub(r"\W", "_", f"{self._alias}_{what}".upper())
        word = word if _VARIABLE.fullmatch(word) else f"_{word}"
        self._login.secrets.append(WantedSecret(word, found.key, what))
        return f"env:{word}"

    def _tls(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        trust = self._store("truststore", "ca", self._certificates)
        made |= {"ca": trust} if trust else {}
        cert = self._store("keystore", "client", self._pair)
        made |= {"cert": cert} if cert else {}
        self._key(made)
        named = self._find("ssl.endpoint.identification.algorithm")
        if named is not None:
            made |= {} if named.value.strip() else {"verify_hostname": False}
            self._took(named, "tls.verify_hostname")
        return made

    def _key(self, made: dict[str, Any]) -> None:
        password = self._find("ssl.key.password")
        if password is None or "cert" not in made:
            return
        if made["cert"].endswith(f"{self._alias}-client.pem"):
            self._file.note(password, Fate.NEEDLESS, "the PEM file is made without a password")
            return
        made["key_password"] = self._secret(password.value, password, "key password")
        self._took(password, "tls.key_password")

    def _store(self, kind: str, name: str, how: str) -> str:
        """Return the PEM file for a key store, "" if there is none."""
        ours = "tls.ca" if kind == "truststore" else "tls.cert"
        inline = self._find(f"ssl.{kind}.certificates", f"ssl.{kind}.certificate.chain")
        location, kind_of = self._find(f"ssl.{kind}.location"), self._find(f"ssl.{kind}.type")
        password = self._find(f"ssl.{kind}.password")
        made = f"{self._alias}-{name}.pem"
        if inline is not None:
            key = self._find(f"ssl.{kind}.key")
            text = f"write its text into {made}, `{self._side}.{ours}`"
            for each in (inline, key):
                self._by_hand(each, text)
        elif location is None:
            made = ""
        elif _is_pem(location, kind_of):
            made = self._text(location)
            self._took(location, ours)
        else:
            self._by_hand(location, how.format(store=self._text(location), pem=made, side=ours))
        for each in (kind_of, password):
            self._file.note(each, Fate.NEEDLESS, "PEM files need none")
        return made

    @property
    def _certificates(self) -> str:
        return (
            "make a PEM file of it: keytool -list -rfc -keystore {store} > {pem}"
            f" (`{self._side}.{{side}}`)"
        )

    @property
    def _pair(self) -> str:
        return (
            "make a PEM file of it: openssl pkcs12 -in {store} -nodes -out {pem}, for a JKS after"
            " keytool -importkeystore -srckeystore {store} -destkeystore new.p12 -deststoretype"
            f" pkcs12 (`{self._side}.{{side}}`)"
        )

    def _sasl(self) -> None:
        mechanism, jaas = self._find("sasl.mechanism"), self._find("sasl.jaas.config")
        word = mechanism.value.strip().upper() if mechanism else "GSSAPI"
        if word in _WITH_PASSWORD:
            self._login.section["sasl"] = self._password(word, jaas)
        elif word == "OAUTHBEARER":
            self._oauth(jaas)
        elif word == "AWS_MSK_IAM":
            self._login.section["sasl"] = {"mechanism": word}
            text = "the credentials that botocore finds are used (`pip install 'towpath[s3]'`)"
            self._by_hand(jaas, text)
            handler = self._find("sasl.client.callback.handler.class")
            self._file.note(handler, Fate.NEEDLESS, f"`{self._side}.sasl.mechanism` says it")
        elif word == "GSSAPI":
            self._kerberos(jaas)
        else:
            text = "Towpath does not know this mechanism; write `sasl` by hand"
            self._file.note(mechanism, Fate.NO_EQUAL, text)
            return
        self._took(mechanism, "sasl.mechanism")

    def _password(self, word: str, jaas: Property | None) -> dict[str, Any]:
        options = login_options(jaas.value) if jaas else {}
        user, password = options.get("username", ""), options.get("password", "")
        made: dict[str, Any] = {"mechanism": word}
        if jaas is None or _JAAS.match(jaas.value) is None or not (user and password):
            made |= {"username": "NAME", "password": f"env:{self._alias.upper()}_PASSWORD"}
            text = "it has no username and password; write both into `sasl` by hand"
            self._by_hand(jaas, text)
            return made
        match = _PROVIDED.fullmatch(user)
        name = self._variable(match) if match else ""
        if not name and (match or not _NO_SECRET.fullmatch(user)):
            self._by_hand(jaas, f"write the name into `{self._side}.sasl.username` by hand")
            user = "NAME"
        made["username"] = f"${{{name}}}" if name else user
        made["password"] = self._secret(password, jaas, "password")
        self._took(jaas, "sasl.username` and `sasl.password")
        return made

    def _oauth(self, jaas: Property | None) -> None:
        made = {"mechanism": "OAUTHBEARER", "token_command": ["COMMAND"]}
        self._login.section["sasl"] = made
        text = f"write a command that prints a token into `{self._side}.sasl.token_command`"
        names = ("sasl.login.callback.handler.class", "sasl.oauthbearer.token.endpoint.url")
        for each in (jaas, *map(self._find, names)):
            self._by_hand(each, text)

    def _kerberos(self, jaas: Property | None) -> None:
        service = self._find("sasl.kerberos.service.name")
        made = {"mechanism": "GSSAPI"} | ({"service_name": service.value} if service else {})
        self._login.section["sasl"] = made
        self._took(service, "sasl.service_name")
        self._by_hand(jaas, "get a ticket for the process: kinit -kt KEYTAB PRINCIPAL")


def _is_pem(location: Property, kind: Property | None) -> bool:
    told = kind is not None and kind.value.strip().upper() == "PEM"
    return told or _PEM.fullmatch(location.value.strip()) is not None
