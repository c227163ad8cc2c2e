"""The names of all metrics of a gateway."""

from __future__ import annotations

from towpath.metering.metric import Metric, counter, gauge, summary

INFO = gauge(
    "towpath_gateway_info",
    "1",
    "Always 1; the labels tell the version of Towpath, the link, and the gateway's own name, as"
    " `towpath link show` has it.",
    labels=("version", "link", "gateway"),
)
CONNECTIONS = gauge("towpath_gateway_connections", "connections", "Connections of clients now.")
ALL_CONNECTIONS = counter(
    "towpath_gateway_connections_total", "connections", "Connections that clients opened."
)
ENDED = counter(
    "towpath_gateway_ended_connections_total",
    "connections",
    "Connections of clients that the gateway ended, each with a line in the log.",
)
BROKERS = gauge(
    "towpath_gateway_broker_connections",
    "connections",
    "Connections to brokers of both clusters now.",
)
FRAMES = counter(
    "towpath_gateway_frames_total",
    "frames",
    "Frames by direction: `request` from clients, `answer` to clients.",
    labels=("direction",),
)
BYTES = counter(
    "towpath_gateway_bytes_total", "bytes", "Bytes by direction, likewise.", labels=("direction",)
)
WAITING = gauge(
    "towpath_gateway_waiting_connections",
    "connections",
    "Connections of clients whose next request is held, as topics or groups move.",
)
PROMOTED = gauge(
    "towpath_gateway_promoted_topics", "topics", "Topics that the target serves, of this link."
)
MOVES = counter(
    "towpath_gateway_moves_total",
    "moves",
    "Requests to `promote` and to `revert` (`way`) by what became of them: `done`, `undone` or"
    " `refused`; rehearsals are not counted.",
    labels=("way", "outcome"),
)
HELD = summary(
    "towpath_gateway_held_seconds",
    "seconds",
    "How long producers were held by moves that were done.",
    labels=("way",),
)
SILENT = summary(
    "towpath_gateway_silent_seconds",
    "seconds",
    "How long consumers were held by moves that were done.",
    labels=("way",),
)
TROUBLES = counter(
    "towpath_gateway_troubles_total",
    "troubles",
    "What somebody must see to, by its code: `PROMOTE_STRAY`, `PROMOTE_GROUP_STRAY`,"
    " `PROMOTE_OTHER_LINK`, `PROMOTE_OPEN`, `PROMOTE_CONFIGS`, `PROMOTE_TRANSACTIONS` for a"
    " transaction of two clusters that was refused, or `ERROR` for a cluster that does not answer."
    " Each has a line in the log.",
    labels=("code",),
)
AWAY = gauge(
    "towpath_gateway_source_away",
    "1",
    "1 while the source does not answer and promoted topics are served without it, else 0.",
)
CLIENTS = gauge(
    "towpath_gateway_clients",
    "clients",
    "Connected clients, by host and client id: `leaving` know the target's own brokers, `staying`"
    " do not. Without either, the gateway can be stopped.",
    labels=("state",),
)
LEFT = counter(
    "towpath_gateway_left_clients_total",
    "clients",
    "Clients that were shown the target's own brokers, and whose last connection here ended.",
)
BUFFERED = gauge(
    "towpath_gateway_buffered_bytes",
    "bytes",
    "Bytes of requests and answers that wait in the gateway, at most `gateway.memory`.",
)
TURNED_AWAY = counter(
    "towpath_gateway_turned_away_connections_total",
    "connections",
    "Connections of clients that were closed by a limit: their number, the memory, or the time for"
    " a first request and a login. Each has a line in the log.",
)

ALL: tuple[Metric, ...] = (
    INFO,
    CONNECTIONS,
    ALL_CONNECTIONS,
    ENDED,
    BROKERS,
    FRAMES,
    BYTES,
    WAITING,
    PROMOTED,
    MOVES,
    HELD,
    SILENT,
    TROUBLES,
    AWAY,
    CLIENTS,
    LEFT,
    BUFFERED,
    TURNED_AWAY,
)
