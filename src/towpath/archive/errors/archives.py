"""Errors about an archive as a whole, its catalog, and other processes that write to it."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError
from towpath.model.errors.cluster import ClusterError


class ArchiveHeldError(TowpathError):
    """Another process holds the lease of the archive; the error has its command and host."""

    code = "ARCHIVE_HELD"
    exit_code = 4

    def __init__(self, archive: str, command: str, where: str) -> None:
        super().__init__(archive, command, where)
        self.archive, self.command, self.where = archive, command, where

    def __str__(self) -> str:
        return (
            f"another process ({self.command}, {self.where}) works on archive {self.archive} now;"
            " an archive has one at a time in each region: to work here instead, stop that one"
            " first (Ctrl-C or SIGTERM), then try again"
        )


class OtherClusterError(ClusterError):
    """The source is not the cluster that this region of the archive was made from.

    Args:
        region: The region; `url`, its store.
        archived: The clusters that the region has.
        cluster: The id of the source's cluster.
        named: The id that the file gives, "" if it gives none.
    """

    code = "ARCHIVE_CLUSTER"

    def __init__(
        self, region: str, url: str, archived: tuple[str, ...], cluster: str, named: str = ""
    ) -> None:
        super().__init__(region, url, archived, cluster, named)
        self.region, self.url = region, url
        self.archived, self.cluster, self.named = archived, cluster, named

    def __str__(self) -> str:
        if self.named:
            return (
                f"the file says `cluster: {self.named}`, and the source is cluster {self.cluster};"
                " look at `source.bootstrap`"
            )
        kind = "clusters" if len(self.archived) > 1 else "cluster"
        return (
            f"region {self.region} in {self.url} has the archive of {kind}"
            f" {', '.join(self.archived)}, and the source is cluster {self.cluster}; if the source"
            " is another one than you meant, look at `source.bootstrap`; give each cluster a"
            " `region` of its own; or, if this cluster has taken the place of the archived one, say"
            f" `cluster: {self.cluster}` in the file"
        )


class CatalogError(TowpathError):
    """An Iceberg catalog cannot be used, or has another table with the same name."""

    code = "CATALOG"
    exit_code = 4

    def __init__(self, said: str, advice: str = "") -> None:
        super().__init__(said, advice)
        self.said, self.advice = said, advice

    def __str__(self) -> str:
        return f"{self.said}; {self.advice}" if self.advice else self.said
