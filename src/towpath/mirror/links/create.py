"""`towpath link create`: write a new link to the ledger, and change nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

from towpath.ledger.alive import this_host
from towpath.ledger.entries import Created
from towpath.ledger.link import open_target
from towpath.model.errors import LedgerError
from towpath.runtime.clock import now_ms
from towpath.runtime.user import this_user
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True)
class CreatedLink:
    """The outcome of `towpath link create`.

    Attributes:
        entry: What the ledger says of the link now.
        is_new: The ledger did not know the link before.
        is_changed: It did, and the file says something else since.
    """

    entry: Created
    is_new: bool
    is_changed: bool


def create(config: LinkConfig) -> CreatedLink:
    """Write a new link to the ledger; the source need not be reachable.

    A link that was created before gets what the file says now.

    Raises:
        ClusterError: The target cannot be reached, or refuses the ledger.
        LedgerError: The ledger is of no use, or the link joins another target.
        LinkSealedError: The books of a link of this name were removed.
    """
    with open_target(config.link, config.target) as to:
        to.ledger.create()
        to.read()
        to.books.require_name()
        known, identity, target = to.books.created, to.books.identity, to.target.cluster.id()
        if identity is not None and identity.target_cluster != target:
            raise LedgerError(
                f"link {config.link} mirrors to cluster {identity.target_cluster}, but the file"
                f" names {target}; correct the address, or take another `link` name"
            )
        entry = Created(
            link=config.link,
            source=config.source.bootstrap,
            include=tuple(config.topics.include),
            exclude=tuple(config.topics.exclude),
            user=this_user(),
            host=this_host(),
            at=now_ms(),
        )
        if known is not None and known == replace(
            entry, user=known.user, host=known.host, at=known.at
        ):
            return CreatedLink(known, is_new=False, is_changed=False)
        to.ledger.append([entry])
        is_new = known is None and identity is None
        return CreatedLink(entry, is_new=is_new, is_changed=not is_new)
