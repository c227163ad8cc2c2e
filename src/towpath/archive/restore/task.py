"""A restore as requested by a command and the file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from towpath.archive.config import (
    ArchiveConfig,
    FilteredOffsets,
    LostParts,
    RestoreConfig,
    RestoredRange,
    RestoreSource,
)
from towpath.archive.log import AsOf
from towpath.archive.read.feed.late_parts import LatePolicy
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import LinkName
from towpath.settings import ClusterConfig, MetricsConfig, StoreConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTask:
    """A requested restore.

    Attributes:
        name: Its name in the target's ledger.
        store: Where the archive is.
        region: The region whose archive is restored.
        target: The cluster to write to.
        rules: What the file says of restores.
        as_of: As of when.
        source: The name of the region among several that are restored; "" for a single one.
        first_delay: How old the first segment of a partition must be before it is begun, in
            seconds.
        follow: Whether the restore goes on with what is archived meanwhile.
        prove: Whether what was restored is compared with the archive at the end.
        archive: The name of the archive.
        metrics: What the restore tells Prometheus, and where.
        own_region: The region that the file archives.
    """

    name: LinkName
    store: StoreConfig
    region: str
    target: ClusterConfig
    rules: RestoreConfig
    as_of: AsOf = AsOf()  # noqa: RUF009  # it is frozen
    source: str = ""
    first_delay: float = 0.0
    follow: bool = False
    prove: bool = False
    archive: str = ""
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    own_region: str = ""

    @classmethod
    def of(
        cls,
        config: ArchiveConfig,
        as_of: AsOf | None = None,
        part: RestoredRange | None = None,
    ) -> RestoreTask:
        """Return the restore that a file describes.

        Args:
            config: The file.
            as_of: As of when.
            part: Which offsets come back, in place of what the file says.

        Raises:
            ConfigError: The file names no target.
        """
        if config.target is None:
            text = "is missing: name the cluster that the restore writes to"
            raise ConfigError((ConfigProblem("target", text),))
        rules = config.restore
        if rules.filtered is None and (rules.region or config.region) != config.region:
            rules = rules.model_copy(update={"filtered": FilteredOffsets.ACCEPT})
        if part is not None:
            rules = rules.model_copy(update={"range": part})
        return cls(
            name=LinkName(rules.name or f"restore.{config.archive}"),
            own_region=config.region,
            store=config.store,
            region=rules.region or config.region,
            target=config.target,
            rules=rules,
            as_of=as_of or AsOf(),
            archive=config.archive,
            metrics=config.metrics,
        )

    @classmethod
    def each(
        cls,
        config: ArchiveConfig,
        as_of: AsOf | None = None,
        part: RestoredRange | None = None,
        *,
        follow: bool = False,
    ) -> tuple[RestoreTask, ...]:
        """Return one restore for each source in the file.

        Args:
            config: The file.
            as_of: As of when.
            part: Which offsets come back, in place of what the file says.
            follow: Whether they go on with what is archived meanwhile.

        Raises:
            ConfigError: The file names no target, or would take a region that is alive for silent.
        """
        if follow and (text := config.early_silence):
            raise ConfigError((ConfigProblem("restore.follow.silence", text),))
        whole = replace(cls.of(config, as_of, part), follow=follow)
        sources = config.restore.sources
        return tuple(whole.of_source(each) for each in sources) if sources else (whole,)

    def of_source(self, source: RestoreSource) -> RestoreTask:
        """Return the restore of one of several regions."""
        rules, name = self.rules, source.name or source.region
        own = {
            "topics": source.topics or rules.topics,
            "late": source.late or rules.late,
            "lost": source.lost or rules.lost,
            "schemas": source.schemas or rules.schemas,
        }
        if rules.filtered is None and source.region != self.own_region:
            own["filtered"] = FilteredOffsets.ACCEPT
        return replace(
            self,
            name=LinkName(f"{self.name}.{name}"),
            store=source.store or self.store,
            region=source.region,
            rules=rules.model_copy(update=own),
            source=name,
            first_delay=float(source.first_delay),
        )

    @property
    def late(self) -> LatePolicy:
        """The retry policy for missing parts of the archive."""
        late = self.rules.late
        return LatePolicy(late.looks, float(late.timeout), skip=self.rules.lost is LostParts.SKIP)

    @property
    def holds_credentials(self) -> bool:
        """Whether slices carry credentials that others could log in with."""
        return self.target.holds_credentials or self.store.holds_credentials
