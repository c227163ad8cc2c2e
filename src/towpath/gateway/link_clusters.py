"""The check that a file names the clusters of its link, each on its side. Blocking, read-only."""

from __future__ import annotations

from contextlib import suppress

from towpath.ledger.entries import LinkIdentity
from towpath.ledger.link import OpenLink, open_target
from towpath.model.errors import ClusterError, LedgerError


def require_clusters(link: OpenLink) -> None:
    """Raise if a link joins other clusters than its file says, or these the other way round.

    A link that never ran joins none yet. One that ran has no entry on the cluster that was its
    source, so where source and target are exchanged the ledger of the other cluster tells.

    Raises:
        ClusterError: A cluster does not answer, or refuses.
        LedgerError: It joins others.
    """
    link.look()
    if link.books.identity is not None:
        return
    known = _known_at_source(link)
    found = link.target.cluster.id(), link.source.cluster.id()
    if known is not None and (known.source_cluster, known.target_cluster) == found:
        raise LedgerError(
            f"link {link.name} mirrors cluster {found[0]} to {found[1]}, and the file has them the"
            " other way round: exchange `source` and `target`, or take another `link` name"
        )


def _known_at_source(link: OpenLink) -> LinkIdentity | None:
    """Return what the ledger on the source says of the link; nothing where that may not be read."""
    with suppress(ClusterError), open_target(link.name, link.config.source) as other:
        if other.ledger.usable():
            other.read()
            return other.books.identity
    return None
