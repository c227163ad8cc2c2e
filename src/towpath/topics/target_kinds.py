"""Which kind of cluster the target is, as far as it shows that. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.model.target_kinds import TargetKind

_OWN_KEYS = "redpanda."
_OWN_ID = "redpanda."
_CLOUD = ".cloud.redpanda.com"
_SERVERLESS_CELL, _OTHER_CELLS = ".mpx.", (".fmc.", ".byoc.")
"""Parts of host names before `_CLOUD`: of Redpanda Serverless, and of Redpanda's other clouds."""


def kind_of(cluster_id: str, known: Iterable[str], hosts: Iterable[str]) -> TargetKind:
    """Return the kind of a cluster.

    Args:
        cluster_id: The cluster id; that of Redpanda begins with `redpanda.`.
        known: The topic configs that it tells; Redpanda has some of its own.
        hosts: The bootstrap hosts; nothing else identifies Redpanda Serverless.
    """
    hosts = list(hosts)
    if any(host.endswith(_CLOUD) and _SERVERLESS_CELL in host for host in hosts):
        return TargetKind.SERVERLESS
    cloud = any(host.endswith(_CLOUD) for host in hosts)
    own = any(key.startswith(_OWN_KEYS) for key in known)
    return (
        TargetKind.REDPANDA if cloud or own or cluster_id.startswith(_OWN_ID) else TargetKind.KAFKA
    )


def remark(found: TargetKind, said: TargetKind | None, hosts: Iterable[str]) -> str:
    """Return what a person should know of the kind, "" if there is nothing.

    Args:
        found: The kind that the cluster shows.
        said: The kind that the file says.
        hosts: The bootstrap hosts.
    """
    if said is None:
        return _UNCERTAIN if found is TargetKind.REDPANDA and not _is_other_cloud(hosts) else ""
    if said is found or (said, found) == (TargetKind.SERVERLESS, TargetKind.REDPANDA):
        return ""
    text = f"the file says that it is {said}, but it shows itself as {found}"
    return f"{text}: topics are made as {said} takes them; correct `target.kind` if that is wrong"


def _is_other_cloud(hosts: Iterable[str]) -> bool:
    return all(
        host.endswith(_CLOUD) and any(cell in host for cell in _OTHER_CELLS) for host in hosts
    )


_UNCERTAIN = (
    "the target is Redpanda; Redpanda Serverless, which accepts fewer topic configs, is recognised"
    f" only by host names that end with {_CLOUD}; if it is Serverless, say so with"
    " `target.kind: serverless`, and with `target.kind: redpanda` if not"
)
