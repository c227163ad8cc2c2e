"""Keys of Kafka clients, MirrorMaker 2 and Redpanda's migrator, with our equivalents.

Sources: Kafka's client and MirrorMaker 2 configs (kafka.apache.org, 4.1), librdkafka's
CONFIGURATION.md, Redpanda Connect's `redpanda_migrator`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Hint = Callable[[object], str]
"""Returns the value to write, in YAML, from the value that the user wrote; "" if it cannot."""

_ADDRESSES = re.compile(r"[\w.\-\[\]:]+:\d+(\s*,\s*[\w.\-\[\]:]+:\d+)*")
_PATTERNS = re.compile(r"[\w.*+?\-\\|()\[\]^$ ,]{1,200}")
_WORD = re.compile(r"[\w.\-]{1,60}")
_FILE = re.compile(r"[\w./\-~ ]{1,200}\.(pem|crt|cer|key)")
_MECHANISMS = frozenset(
    {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"}
)
_PROTOCOLS = {
    "PLAINTEXT": "remove it: without `tls` and `sasl`, connections are neither",
    "SSL": "write `tls: true`",
    "SASL_PLAINTEXT": "write `sasl: {mechanism: ...}`, and no `tls`",
    "SASL_SSL": "write `tls: true` and `sasl: {mechanism: ...}`",
}
_SIDES = "source or target"
_GROUPS = "write `groups: {}`, which brings over the offsets of all consumer groups"
_NO_REFRESH = "groups are looked for at each sync (`groups.interval`); remove it"
_CHECKPOINTS = "write `groups: {mm2: {alias: TARGET, source_alias: SOURCE}}`"
_NEVER_SET = "the topic has as many replicas as the target's ledger; remove it"
_NEVER = "no other topics are needed for it; remove it"
_PEM = "PEM files need none; remove it"


def _none(value: object) -> str:
    del value
    return ""


def _constant(text: str) -> Hint:
    def hint(value: object) -> str:
        del value
        return text

    return hint


def _matching(pattern: re.Pattern[str]) -> Hint:
    """Quote a value only if it has the form that this key has: anything else may be a secret."""

    def hint(value: object) -> str:
        fits = isinstance(value, str) and pattern.fullmatch(value)
        return f'"{value}"' if fits else ""

    return hint


def _list(value: object) -> str:
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) and _PATTERNS.fullmatch(text) for text in texts):
        return ""
    parts = [part.strip() for text in texts for part in str(text).split(",")]
    # In single quotes a backslash stands for itself.
    quoted = [f"'{part}'" for part in parts if part]
    return f"[{', '.join(quoted)}]"


def _number(value: object) -> int | None:
    text = str(value)
    is_number = isinstance(value, int | str) and not isinstance(value, bool)
    return int(text) if is_number and re.fullmatch(r"\d{1,12}", text) else None


def _plain_number(value: object) -> str:
    number = _number(value)
    return "" if number is None else str(number)


def _with_unit(unit: str) -> Hint:
    return lambda value: "" if _number(value) is None else f"{_number(value)}{unit}"


def _mechanism(value: object) -> str:
    return value if isinstance(value, str) and value in _MECHANISMS else ""


def _either(yes: str, no: str) -> Hint:
    def hint(value: object) -> str:
        word = str(value).lower() if isinstance(value, bool | str) else ""
        return {"true": yes, "false": no}.get(word, "")

    return hint


def _is_hostname_checked(value: object) -> str:
    return "false" if value == "" else "true" if value == "https" else ""


def _rename(value: object) -> str:
    fits = isinstance(value, str) and _WORD.fullmatch(value)
    return f'"{value}.{{topic}}"' if fits else '"PREFIX.{topic}"'


def _policy(value: object) -> str:
    identity = isinstance(value, str) and value.endswith("IdentityReplicationPolicy")
    return '"{topic}"' if identity else '"SOURCE.{topic}"'


@dataclass(frozen=True, slots=True)
class Name:
    """The equivalent of another program's key in our files.

    Attributes:
        ours: Path of our key, "" if there is none; below `source` or `target` if `side` is set.
        hint: Returns what to write as its value.
        why: What to do where no key of ours has the same meaning, or where that needs more words.
        side: Whether our key belongs to a cluster.
    """

    ours: str = ""
    hint: Hint = _none
    why: str = ""
    side: bool = False


def _side(ours: str, hint: Hint = _none, why: str = "") -> Name:
    return Name(ours, hint, why, side=True)


_CLUSTER = {
    "bootstrap.servers": _side("bootstrap", _matching(_ADDRESSES)),
    "bootstrap.server": _side("bootstrap", _matching(_ADDRESSES)),
    "brokers": _side("bootstrap", _matching(_ADDRESSES)),
    "metadata.broker.list": _side("bootstrap", _matching(_ADDRESSES)),
    "seed_brokers": _side("bootstrap", _matching(_ADDRESSES)),
    "client.rack": _side("rack", _matching(_WORD)),
    "rack_id": _side("rack", _matching(_WORD)),
    "request.timeout.ms": _side("request_timeout", _with_unit("ms")),
    "admin.timeout.ms": _side("request_timeout", _with_unit("ms")),
    "sasl.mechanism": _side("sasl.mechanism", _mechanism),
    "sasl.mechanisms": _side("sasl.mechanism", _mechanism),
    "sasl.username": _side("sasl.username", _none),
    "sasl.password": _side("sasl.password", _constant("env:NAME")),
    "sasl.jaas.config": _side(
        "sasl",
        why="write `sasl: {mechanism: ..., username: ..., password: env:NAME}`, with the password"
        " in that environment variable",
    ),
    "sasl.kerberos.service.name": _side("sasl.service_name", _matching(_WORD)),
    "sasl.oauthbearer.token.endpoint.url": _side(
        "sasl.token_command", why="write a command there that prints a token"
    ),
    "sasl.login.callback.handler.class": _side(
        "sasl.token_command", why="write a command there that prints a token"
    ),
    "sasl.client.callback.handler.class": _side("sasl.mechanism", why="name the mechanism alone"),
    "ssl.ca.location": _side("tls.ca", _matching(_FILE)),
    "ssl.certificate.location": _side("tls.cert", _matching(_FILE)),
    "ssl.key.location": _side("tls.key", _matching(_FILE)),
    "ssl.key.password": _side("tls.key_password", _constant("env:NAME")),
    "ssl.truststore.location": _side(
        "tls.ca", _matching(_FILE), "a PEM file of the authorities; `keytool -exportcert -rfc`"
        " makes one of a key store"
    ),
    "ssl.keystore.location": _side(
        "tls.cert", _matching(_FILE), "a PEM file of the certificate and its key; `openssl pkcs12`"
        " makes one of a PKCS#12 key store"
    ),
    "ssl.truststore.certificates": _side("tls.ca", why="name a PEM file there"),
    "ssl.keystore.certificate.chain": _side("tls.cert", why="name a PEM file there"),
    "ssl.keystore.key": _side("tls.key", why="name a PEM file there"),
    "ssl.truststore.password": Name(why=_PEM),
    "ssl.keystore.password": Name(why=_PEM),
    "ssl.truststore.type": Name(why=_PEM),
    "ssl.keystore.type": Name(why=_PEM),
    "ssl.endpoint.identification.algorithm": _side("tls.verify_hostname", _is_hostname_checked),
    "schema_registry": Name(why="schemas are not mirrored yet; remove it"),
}  # fmt: skip

_LINK = {
    "clusters": Name(why="a file has one `source` and one `target`; remove it"),
    "source.cluster.alias": Name("topics.rename", _rename),
    "target.cluster.alias": Name(why="the target needs no name; remove it"),
    "topics": Name("topics.include", _list),
    "topics.regex": Name("topics.include", _list),
    "topics.whitelist": Name("topics.include", _list),
    "regexp_topics_include": Name("topics.include", _list),
    "topics.exclude": Name("topics.exclude", _list),
    "topics.blacklist": Name("topics.exclude", _list),
    "regexp_topics_exclude": Name("topics.exclude", _list),
    "topic_prefix": Name("topics.rename", _constant('"PREFIX{topic}"')),
    "topic.rename.format": Name("topics.rename"),
    "replication.policy.class": Name("topics.rename", _policy),
    "replication.policy.separator": Name("topics.rename", _constant('"SOURCE.{topic}"')),
    "replication.factor": Name("topics.replication_factor", _plain_number),
    "topic_replication_factor": Name("topics.replication_factor", _plain_number),
    "config.properties.exclude": Name("topics.configs.exclude", _list),
    "config.properties.blacklist": Name("topics.configs.exclude", _list),
    "sync.topic.configs.enabled": Name(
        "topics.configs", _either("{}", "{exclude: ['.*']}"), "configs are kept equal by default"
    ),
    "sync.topic.configs.interval.seconds": Name("run.sync_interval", _with_unit("s")),
    "sync.topic.acls.enabled": Name("access.acls", _either("safe", "off")),
    "sync_topic_acls": Name("access.acls", _either("safe", "off")),
    "sync.topic.acls.interval.seconds": Name("run.sync_interval", _with_unit("s")),
    "refresh.topics.interval.seconds": Name("run.discover", _with_unit("s")),
    "refresh.topics.enabled": Name("run.discover", why="new topics are always looked for"),
    "sync_topic_interval": Name("run.discover"),
    "auto.offset.reset": Name("records.start", _matching(re.compile("earliest|latest"))),
    "start_from_oldest": Name("records.start", _either("earliest", "latest")),
    "start_offset": Name("records.start", _matching(re.compile("earliest|latest|committed"))),
    "tasks.max": Name(why="write `towpath run --parallelism N`, or nothing; remove it"),
    "exactly.once.source.support": Name(why="each record is copied exactly once; remove it"),
    "isolation.level": Name(why="only committed records are copied; remove it"),
    "enable.idempotence": Name(why="each record is copied exactly once; remove it"),
    "consumer_groups": Name(why=_GROUPS),
    "groups": Name("groups.include", _list),
    "groups.exclude": Name("groups.exclude", _list),
    "groups.blacklist": Name("groups.exclude", _list),
    "refresh.groups.enabled": Name(why=_NO_REFRESH),
    "refresh.groups.interval.seconds": Name(why=_NO_REFRESH),
    "sync.group.offsets.enabled": Name(why=_GROUPS),
    "sync.group.offsets.interval.seconds": Name("groups.interval", _with_unit("s")),
    "emit.checkpoints.enabled": Name(why=_CHECKPOINTS),
    "emit.checkpoints.interval.seconds": Name("groups.interval", _with_unit("s")),
    "checkpoints.topic.replication.factor": Name(why=_NEVER_SET),
    "consumer_group": Name("records.group", _matching(_WORD), "used with `start: committed` only"),
    "group.id": Name("records.group", _matching(_WORD), "used with `start: committed` only"),
    "emit.heartbeats.enabled": Name(why=_NEVER),
    "emit.heartbeats.interval.seconds": Name(why=_NEVER),
    "heartbeats.topic.replication.factor": Name(why=_NEVER),
    "heartbeats.replication.enabled": Name(why=_NEVER),
    "emit.offset-syncs.enabled": Name(why=_NEVER),
    "offset-syncs.topic.replication.factor": Name(why=_NEVER),
    "offset-syncs.topic.location": Name(why=_NEVER),
    "offset.lag.max": Name(why=_NEVER),
}
_PROTOCOL = "security.protocol"
NAMES: dict[str, Name] = {_PROTOCOL: _side("tls", why="use `tls` and `sasl`"), **_CLUSTER, **_LINK}
"""What the keys of other programs mean here."""

_PLAIN = {key.replace("-", ".").replace("_", "."): key for key in NAMES}
_ROLE = re.compile(r"(consumer|producer|admin)\.(override\.)?")
_OWNER = re.compile(r"(?P<side>source|target)(\.cluster)?\.|[\w-]+(->[\w-]+)?\.")


def name_of(key: str) -> tuple[str, str] | None:
    """Return another program's key in its known form, and the side in its prefix (`us.`, ...).

    The side is "" if the key does not tell it.
    """
    side = ""
    for _ in range(3):  # an owner, a role, and the name
        known = _PLAIN.get(key.lower().replace("_", ".").replace("-", "."))
        if known:
            return known, side
        before = _ROLE.match(key) or _OWNER.match(key)
        if before is None:
            return None
        side = before.groupdict().get("side") or side
        key = key[before.end() :]
    return None


def advice(key: str, value: object, below: str) -> str | None:
    """Return advice for a key of another program, `None` for any other unknown key.

    Args:
        key: The unknown key.
        value: Its value; it is shown only where it has the form of a value that is no secret.
        below: `source` or `target` if the key stands there, "" otherwise.
    """
    found = name_of(key)
    if found is None:
        return None
    known, side = found
    name, side = NAMES[known], side or below
    if known == _PROTOCOL:
        protocol = _PROTOCOLS.get(value.upper(), "") if isinstance(value, str) else ""
        return f"{known} is Kafka's name; {protocol or name.why}, in {side or _SIDES}"
    if not name.ours:
        return f"{known} has no counterpart here: {name.why}"
    place = f"{side or _SIDES}.{name.ours}" if name.side else name.ours
    hint = name.hint(value)
    more = f" ({name.why})" if name.why else ""
    written = f"; write `{_nested(name.ours, hint)}`" if hint else ""
    where = f" in {side or _SIDES}" if name.side and hint else ""
    again = "nested" if known == name.ours else f"called {place}"
    return f"{known} is {again} here{more}{written}{where}"


def _nested(path: str, value: str) -> str:
    """Return YAML that sets a key: `tls: {ca: "x.pem"}`."""
    first, *rest = path.split(".")
    for key in reversed(rest):
        value = f"{{{key}: {value}}}"
    return f"{first}: {value}"
