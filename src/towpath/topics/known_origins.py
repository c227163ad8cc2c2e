"""The links by which source topics are themselves mirror topics, by the ledger on the source."""

from __future__ import annotations

from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.origins import MirrorOrigins, mirror_origins
from towpath.ledger.query_origins import query_origins
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.findings import Note
from towpath.model.nouns import Side
from towpath.settings import LinkConfig


def origins(config: LinkConfig, source: Admin) -> MirrorOrigins | Note:
    """Return the source topics that are mirror topics, or a note on why that is unknown."""
    try:
        with Client(config.source, Side.SOURCE, source) as client:
            copied = mirror_origins(source, client)
            return _joined(copied, query_origins(source, client))
    except (ClusterError, LedgerError) as error:
        text = f"it is not known which topics are mirror topics of other links: {error}"
        return Note("source", text)


def _joined(copied: MirrorOrigins, queried: MirrorOrigins) -> MirrorOrigins:
    """Return the origins by links that copy, with those by links with a query beside them."""
    joined = dict(copied)
    for key, origin in queried.items():
        known = copied.get(key)
        joined[key] = replace(known, others=(*known.others, origin)) if known else origin
    return joined
