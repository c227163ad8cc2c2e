"""The section `gateway`: where clients connect while their cluster moves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from towpath.model.nouns import TopicName
from towpath.settings.address import check_address, host_and_port, listen_address
from towpath.settings.problems import not_empty
from towpath.settings.sections.listener_tls import ListenerTls
from towpath.settings.sections.topics import LEGAL, Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.times import LIKE, parse_time
from towpath.settings.units import Duration, Size, between

BATCH = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""Names of batches."""
_ANY = "0.0.0.0", "::"  # noqa: S104, addresses that a file may name

_WAYS = "hand", "auto"
_NAMES = re.compile(r"[A-Za-z0-9-]*\{id\}[A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+")
"""The id is in the first label: certificates have no other wildcard (RFC 9525, section 6.3)."""


def _bootstrap(value: str) -> str:
    return check_address(value, "0.0.0.0:9092")


def _node(value: str) -> str:
    return check_address(value, "kafka.example:9093")


def _topic(value: str) -> str:
    if not LEGAL.fullmatch(value):
        raise ValueError(
            f"{value[:60]!r} is no name of a topic, such as orders.v1; name each topic"
        )
    return value


def _pattern(value: str) -> str:
    if not _NAMES.fullmatch(value):
        raise ValueError(
            f"{value[:60]!r} is no pattern of host names with {{id}} once, such as"
            " b{id}.kafka.example"
        )
    return value.lower()


def _when(value: str) -> str:
    if value in _WAYS:
        return value
    if not value[:1].isdigit():
        raise ValueError(f"{value[:40]!r} is neither {' nor '.join(_WAYS)} nor {LIKE}")
    parse_time(value)
    return value


class GatewayConfig(Section):
    """The section `gateway`: where clients connect while their cluster moves."""

    listen: Annotated[str, AfterValidator(_bootstrap)] = Field(
        description="HOST:PORT where `towpath gateway` listens for clients, which name it as their"
        " bootstrap address. The broker N is reached at the same host, at this port + 1 + N."
    )
    advertised: str | None = Field(
        None,
        description="The host that clients are told. Default: that of `listen`.",
    )
    nodes: Mapping[int, Annotated[str, AfterValidator(_node)]] = Field(
        {},
        description="HOST:PORT that clients are told for a broker, by its id on the source, where"
        " it is another than by default. The gateway listens on the same port.",
    )

    adopt: bool = Field(
        False,
        description="Whether the gateway takes over the addresses under which clients know the"
        " source, which `nodes` names for all brokers: it listens there once names or addresses"
        " lead to it, and running clients come to it. `source.bootstrap` must be another listener.",
    )

    targets: Mapping[int, Annotated[str, AfterValidator(_node)]] = Field(
        {},
        description="HOST:PORT that clients are told for a broker of the target, by its id, once"
        " topics are promoted. Default: the host that clients are told, at the port of `listen`"
        " + 1001 + N.",
    )

    names: Annotated[str, AfterValidator(_pattern)] | None = Field(
        None,
        description="Names that clients are told for brokers, such as `b{id}.kafka.example`, all at"
        " the port of `listen`; TLS tells the gateway which of them a client means (SNI). `{id}` is"
        " the id by which clients know the broker. Every such name must lead to the gateway, and"
        " `tls.cert` must be for them, such as for `*.kafka.example`. Default: a port for each.",
    )

    tls: ListenerTls | None = Field(
        None,
        description="Encryption towards clients, on all ports. Default: clients connect in plain"
        " text.",
    )

    hold: Annotated[Duration, between("100ms", "20s")] = Field(
        Duration.parse("2s"),
        description="How long producers wait at most while topics are promoted; after that the"
        " promotion is undone, and they go on at the source.",
    )

    promote: Annotated[str, AfterValidator(_when)] = Field(
        "hand",
        description="When all topics of the link are promoted: `hand` waits for `towpath promote`;"
        " `auto` does it once every member of the groups and every idempotent producer has come to"
        " the gateway, and nothing has forbidden it for a minute; a time such as"
        " 2025-01-31T08:00:00Z does it then, or as soon as nothing forbids it.",
    )

    batches: Mapping[
        Annotated[str, Field(pattern=BATCH)],
        Annotated[
            tuple[Annotated[TopicName, AfterValidator(_topic)], ...], AfterValidator(not_empty)
        ],
    ] = Field(
        {},
        description="Source topics that move together, by a name for `towpath promote --batch NAME`"
        " and `towpath revert --batch NAME`. A topic is in one batch at most.",
    )

    reads: Literal["source", "target"] = Field(
        "source",
        description="Where clients read topics that are not promoted: at the `source`, with their"
        " groups whole on both sides, or from the mirror topics on the `target`, where a group"
        " waits until its last member has left the source and it is promoted. Records go to the"
        " source either way.",
    )

    keep_strays: bool = Field(
        True,
        description="Whether the run of the link keeps aside what clients still write to the source"
        " of a promoted topic, in a salvage topic on the target, until `towpath salvage replay`"
        " brings it in. Where it does not, `towpath salvage keep` does.",
    )

    after: Literal["stay", "leave"] = Field(
        "stay",
        description="What clients do once all topics of the link are promoted: `stay` keeps them at"
        " the gateway, from where `towpath revert` can take them back; `leave` shows them the"
        " target's own brokers, which they must reach.",
    )

    processes: Annotated[Count, Field(ge=1, le=64, strict=True)] = Field(
        Count(1),
        description="How many processes serve the clients, all at the same addresses; each is a"
        " gateway of its own. One relays some 300 MB/s.",
    )

    connections: Annotated[Count, Field(ge=1, le=1_000_000, strict=True)] = Field(
        Count(10_000),
        description="The most connections of clients, to each process; more are closed at once.",
    )
    memory: Annotated[Size, between("64MiB", "1024GiB")] = Field(
        Size.parse("1GiB"),
        description="The most bytes of requests and answers that may wait in the gateway for"
        " clients, all together; the connections for which most wait are closed first.",
    )

    metrics: Annotated[str, AfterValidator(listen_address)] | None = Field(
        None,
        description="HOST:PORT where `towpath gateway` serves its metrics under `/metrics`, such as"
        " `127.0.0.1:9405`; another one than `metrics.listen`, where the run serves its own. The"
        " second process has the next port, and so on."
        " Default: not served.",
    )

    def metrics_address(self, process: int = 0) -> tuple[str, int] | None:
        """Return host and port where a process serves its metrics, `None` if they are not served.

        Args:
            process: Which one of several, from 0 on.
        """
        if self.metrics is None:
            return None
        host, port = host_and_port(self.metrics)
        return host, port + process

    @property
    def promote_at(self) -> str | int:
        """`hand`, `auto`, or when topics are promoted, in ms since 1970."""
        return self.promote if self.promote in _WAYS else parse_time(self.promote)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        return host_and_port(self.listen)

    @property
    def host(self) -> str:
        """The host that clients are told."""
        return self.advertised or self.address[0]

    @property
    def named(self) -> dict[int, tuple[str, int]]:
        """Host and port that clients are told, of the brokers that the file names."""
        return {number: host_and_port(address) for number, address in self.nodes.items()}

    @property
    def named_targets(self) -> dict[int, tuple[str, int]]:
        """The same of the brokers of the target."""
        return {number: host_and_port(address) for number, address in self.targets.items()}

    def listener_of(self, shown: tuple[str, int], *, of_source: bool) -> tuple[str, int]:
        """Return where to listen for clients that are told an address of a broker."""
        return shown if self.adopt and of_source else (self.address[0], shown[1])

    @property
    def reads_target(self) -> bool:
        """Whether clients read mirror topics before these are promoted."""
        return self.reads == "target"

    @contradictions
    def _parts_topics(self) -> Iterator[Placed]:
        seen: dict[TopicName, str] = {}
        for name, topics in self.batches.items():
            for index, topic in enumerate(topics):
                if seen.setdefault(topic, name) != name:
                    text = f"topic {topic} is in {seen[topic]} and in {name}; it moves with one"
                    yield Placed(("batches", name, index), f"{text} of them")

    @contradictions
    def _adopts_readers(self) -> Iterator[Placed]:
        if self.adopt and self.reads_target:
            yield Placed(
                ("adopt",),
                "`adopt` and `reads: target` exclude each other: adopted consumers know the"
                " source's brokers, and are members of their groups there; leave `reads` at"
                " `source`",
            )

    @contradictions
    def _adopts_all(self) -> Iterator[Placed]:
        if self.adopt and not self.nodes:
            yield Placed(
                ("adopt",),
                "`adopt` needs `nodes`: name the address of each broker of the source as clients"
                " know it",
            )

    @contradictions
    def _keeps_adopted(self) -> Iterator[Placed]:
        if self.adopt and self.after == "leave":
            yield Placed(
                ("adopt",),
                "`adopt` and `after: leave` exclude each other: adopted consumers may hold leader"
                " epochs of the source, which the target's own brokers would take for their own;"
                " restart the clients at a gateway without `adopt`, then let them leave",
            )

    @contradictions
    def _hears_names(self) -> Iterator[Placed]:
        if self.names is not None and self.tls is None:
            yield Placed(
                ("names",),
                "`names` needs `tls`: without TLS nobody tells which name a client connected to",
            )

    @contradictions
    def _tells_names(self) -> Iterator[Placed]:
        others = ("nodes", "targets", "adopt")
        if self.names is not None and any(getattr(self, each, None) for each in others):
            yield Placed(
                ("names",),
                "`names` names all brokers; leave out `nodes`, `targets` and `adopt`, or `names`",
            )

    @contradictions
    def _shares_answers(self) -> Iterator[Placed]:
        if self.processes > 1 and self.after == "leave":
            yield Placed(
                ("processes",),
                "`processes` and `after: leave` exclude each other: connections of one client come"
                " to several processes, of which none knows whether it has all that it sent"
                " answered; let one process serve",
            )

    @contradictions
    def _shares_adopted(self) -> Iterator[Placed]:
        if self.processes > 1 and self.adopt:
            yield Placed(
                ("processes",),
                "`processes` and `adopt` exclude each other: that was not tried; let one process"
                " serve",
            )

    @contradictions
    def _tells_a_host(self) -> Iterator[Placed]:
        if self.advertised is None and self.address[0] in _ANY:
            yield Placed(
                ("listen",),
                f"has the address {self.address[0]}, which clients cannot connect to; name the"
                " host that they reach under `advertised`",
            )
