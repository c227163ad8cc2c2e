"""The fates of properties without an equivalent key."""

from __future__ import annotations

import re
from collections.abc import Callable

from towpath.mirror.mm2.flows import Fact, Fate, Mm2File
from towpath.settings.java_properties import Property

_CONNECT = "Kafka Connect is not used"
_CLIENTS = "Towpath sizes its requests itself (docs/howto/tune.md)"
_ONCE = "each record is copied exactly once"
_OWN_TOPICS = "topics that Towpath makes for itself get 3 replicas, or as many as there are brokers"
_PLUGIN = "a Java class cannot run in Towpath"

_NEEDLESS = (
    (r"clusters|enabled", "a file has one `source` and one `target`, and one file is one flow"),
    (r"tasks\.max(\..*)?", "a run uses all cores; `towpath run --parallelism N` says how many"),
    (r"(checkpoints|heartbeats|offset-syncs)\.topic\.replication\.factor", _OWN_TOPICS),
    (r"(offset|status|config)\.storage\..*|offset\.flush\..*|group\.id|worker\..*", _CONNECT),
    (r"dedicated\.mode\..*|listeners|rest\..*|admin\.listeners.*|plugin\..*", _CONNECT),
    (r"scheduled\..*|heartbeat\.interval\.ms|session\.timeout\.ms|rebalance\..*", _CONNECT),
    (r"name|connector\.class|(source|target)\.cluster\.alias", "the name of the link says it"),
    (r"refresh\.groups\..*", "groups are listed at each pass; `groups.interval` says how often"),
    (r"emit\.checkpoints\.interval\.seconds", "`groups.interval` says how often"),
    (r"emit\.heartbeats\.interval\.seconds", "`groups.interval` says how often"),
    (r"offset\.lag\.max", "the ledger maps each offset"),
    (r"exactly\.once\..*|(.*\.)?enable\.idempotence|(.*\.)?(transactional\.id|acks)", _ONCE),
    (r"(.*\.)?compression\.type", "record batches keep the codec that they have on the source"),
    (r"consumer\.poll\.timeout\.ms|admin\.timeout\.ms|(.*\.)?client\.id", _CLIENTS),
    (r"config\.providers(\..*)?", "what the file refers to was taken over, or is listed"),
    (r"replication\.policy\..*", "`topics.rename` says it"),
    (r"ssl\.(protocol|enabled\.protocols|cipher\.suites)", "the newest TLS of both sides is used"),
)
_NO_EQUAL = (
    (r"(topic|group|config\.property)\.filter\.class", f"{_PLUGIN}; list patterns instead"),
    (r"forwarding\.admin\.class", f"{_PLUGIN}; the login of the link makes all changes itself"),
    (
        r"transforms.*|predicates.*|.*interceptor\.classes",
        f"{_PLUGIN}; records are copied unchanged: change them before or behind the mirror",
    ),
    (
        r"metric.*|.*metric\.reporters|.*metrics\..*",
        "there are metrics for Prometheus instead: set `metrics.listen` (docs/metrics.md)",
    ),
    (
        r"use\.defaults\.from",
        "mirror topics get the source's configs where they differ (docs/configuration.md)",
    ),
    (
        r"heartbeats\.replication\.enabled",
        "heartbeats are not mirrored: the link writes its own where `groups.mm2.topics` says so",
    ),
    (
        r"sasl\.(login|client)\..*|sasl\.oauthbearer\..*|sasl\.kerberos\..*",
        "write the login by hand (docs/configuration.md, `sasl`)",
    ),
    (r"ssl\..*", "write `tls` by hand (docs/configuration.md, `tls`)"),
    (r"(key|value|header)\.converter.*", "records are copied as bytes, never converted"),
)
_OF_CLIENTS = r"((source|target)\.)?(cluster\.)?(consumer|producer|admin)\..*"
_OF_ANY_CLIENT = (
    r"(receive|send)\.buffer\.bytes|retries|retry\..*|reconnect\..*|metadata\..*|connections\..*"
    r"|socket\..*|fetch\..*|max\..*|batch\.size|linger\.ms|buffer\.memory|delivery\..*"
    r"|request\.timeout\.ms|default\.api\.timeout\.ms|client\.dns\.lookup"
)


def _isolation(found: Property) -> Fact:
    if found.value.strip() == "read_committed":
        return Fact(found.key, Fate.NEEDLESS, "only committed records are copied")
    text = "aborted records are never copied, which MirrorMaker 2 did with read_uncommitted"
    return Fact(found.key, Fate.NO_EQUAL, text)


def _location(found: Property) -> Fact:
    if found.value.strip().lower() == "target":
        return Fact(found.key, Fate.NEEDLESS, "offset syncs are always on the target")
    text = (
        "nothing is written to the source: offset syncs are on the target; give their readers"
        " `offset-syncs.topic.location=target`"
    )
    return Fact(found.key, Fate.NO_EQUAL, text)


def _switch(text: str) -> Callable[[Property], Fact]:
    def of(found: Property) -> Fact:
        is_off = found.value.strip().lower() == "false"
        why = text if is_off else "it is always so"
        return Fact(found.key, Fate.NO_EQUAL if is_off else Fate.NEEDLESS, why)

    return of


def _bytes(found: Property) -> Fact:
    if found.value.strip().endswith("ByteArrayConverter"):
        return Fact(found.key, Fate.NEEDLESS, "records are copied as bytes")
    return Fact(found.key, Fate.NO_EQUAL, "records are copied as bytes, never converted")


_BY_VALUE: tuple[tuple[str, Callable[[Property], Fact]], ...] = (
    (r"(.*\.)?isolation\.level", _isolation),
    (
        r"refresh\.topics\.enabled",
        _switch("new topics are always looked for; list names without patterns instead"),
    ),
    (r"(key|value|header)\.converter", _bytes),
    (r"offset-syncs\.topic\.location", _location),
)


def leftover(file: Mm2File, found: Property) -> Fact:
    """Return the fate of a property without an equivalent key."""
    prefix, name = file.bare(found.key)
    if "->" in prefix and not file.is_on(f"{prefix}.enabled"):
        return Fact(found.key, Fate.NEEDLESS, f"the flow {prefix} is not enabled")
    for pattern, of in _BY_VALUE:
        if re.fullmatch(pattern, name):
            return of(found)
    for pattern, text in _NEEDLESS:
        if re.fullmatch(pattern, name):
            return Fact(found.key, Fate.NEEDLESS, text)
    for pattern, text in _NO_EQUAL:
        if re.fullmatch(pattern, name):
            return Fact(found.key, Fate.NO_EQUAL, text)
    if re.fullmatch(_OF_CLIENTS, name) or re.fullmatch(_OF_ANY_CLIENT, name):
        return Fact(found.key, Fate.NEEDLESS, _CLIENTS)
    text = "Towpath does not know it; look up what it does, and whether you need that"
    return Fact(found.key, Fate.NO_EQUAL, text)
