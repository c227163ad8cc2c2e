"""Iceberg tables through pyiceberg; no other module imports it.

Each registration is one commit of the catalog: files that a compaction has replaced go and those
that replace them come in the same snapshot, so no reader of the table sees a record twice or not at
all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from towpath.archive.config.iceberg_catalog import IcebergConfig
from towpath.archive.errors import CatalogError
from towpath.archive.format.schema import ARCHIVED
from towpath.model.errors import ConfigError, ConfigProblem, TowpathError
from towpath.model.foreign import foreign
from towpath.settings import StoreConfig, StoreKind

_ARCHIVE, _TOPIC_ID = "towpath.archive", "towpath.topic-id"
_VERSION, _FILES = "towpath.version", "towpath.files"
_SQL = {"sql", "sqlite", "postgresql"}
_METRICS = {
    "write.metadata.metrics.default": "none",
    **{
        f"write.metadata.metrics.column.{name}": "full"
        for name in ("offset", "timestamp", "partition", "schema_id")
    },
}
"""Columns by whose bounds files are skipped."""


@dataclass(frozen=True, slots=True)
class TableContent:
    """The archive version that a table was made from, kept in the table's properties.

    Attributes:
        archive: The place of the commit log.
        topic_id: Id of the topic.
        version: The version of the commit log.
        digest: A text that is another one if the table gets other files.
    """

    archive: str
    topic_id: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Numbers of files that a registration added and removed."""

    added: int = 0
    removed: int = 0


class IcebergTables:
    """The tables of an Iceberg catalog.

    Args:
        config: The catalog.
        store: The store of the files, for logging in to it.
        location: Where tables of a catalog in a database keep their metadata without a warehouse.

    Raises:
        ConfigError: pyiceberg, or what this kind of catalog needs, is not installed.
        CatalogError: The catalog cannot be used.
    """

    def __init__(self, config: IcebergConfig, store: StoreConfig, location: str) -> None:
        try:
            from pyiceberg.catalog import load_catalog  # noqa: PLC0415  # it may be missing
        except ImportError:
            text = "needs pyiceberg, which is not installed: pip install 'towpath[iceberg]'"
            raise ConfigError((ConfigProblem("iceberg", text),)) from None
        secrets = {name: each.reveal() for name, each in config.secrets.items()}
        self._properties = {**_login(store), **config.properties, **secrets}
        if _is_sql(self._properties):
            self._properties.setdefault("warehouse", location)
        self._config = config
        self._namespace = tuple(config.namespace.split("."))
        with _told(f"opening the catalog {config.catalog}"):
            self._catalog: Any = load_catalog(config.catalog, **self._properties)
            self._catalog.create_namespace_if_not_exists(self._namespace)

    def name_of(self, topic: str) -> str:
        """Return the name of a topic's table, for people."""
        return ".".join(self._identifier(topic))

    def register(
        self, topic: str, made_of: TableContent, files: Callable[[Collection[str]], Sequence[str]]
    ) -> TableChanges:
        """Update a topic's table to consist of exactly the given files.

        Args:
            topic: The topic.
            made_of: What the table has.
            files: Returns the places of the files, and gets the places of those that are there.

        Raises:
            CatalogError: The catalog cannot be used, or the table is another's.
        """
        name = self.name_of(topic)
        with _told(f"registering table {name}"):
            table = self._table(topic, made_of)
            known = int(table.properties.get(_VERSION, 0))
            if known > made_of.version:
                raise CatalogError(
                    f"table {name} was registered as of version {known} of the archive, which now"
                    f" ends at {made_of.version}: its commit log was set back",
                    "drop the table, and register again",
                )
            if table.properties.get(_FILES) == made_of.digest:
                return TableChanges()
            there = {task.file.file_path: task.file for task in table.scan().plan_files()}
            wanted = {*files(there)}
            properties = {_VERSION: str(made_of.version), _FILES: made_of.digest}
            return _changed(table, there, wanted, properties)

    def _identifier(self, topic: str) -> tuple[str, ...]:
        return (*self._namespace, self._config.table.replace("{topic}", topic))

    def _table(self, topic: str, made_of: TableContent) -> Any:
        """Return the table, which is created if there is none."""
        identifier = self._identifier(topic)
        wanted = {_ARCHIVE: made_of.archive, _TOPIC_ID: made_of.topic_id}
        table = self._catalog.create_table_if_not_exists(
            identifier, schema=ARCHIVED, properties={**_METRICS, **wanted}
        )
        found = {key: table.properties.get(key) for key in wanted}
        if found == wanted:
            return table
        of = "not made by Towpath"
        if found[_ARCHIVE] is not None:
            of = f"of topic id {found[_TOPIC_ID]} in {found[_ARCHIVE]}"
        raise CatalogError(
            f"there is a table {self.name_of(topic)} already, which is {of}",
            "rename or drop it, or set `iceberg.table` to another name",
        )


def _changed(
    table: Any, there: Mapping[str, Any], wanted: set[str], properties: Mapping[str, str]
) -> TableChanges:
    """Commit the difference between the files of a table and those that are wanted."""
    new, old = sorted(wanted - there.keys()), sorted(there.keys() - wanted)
    with table.transaction() as change:
        if old:
            _replace(table, change, [there[path] for path in old], new, properties)
        elif new:
            change.add_files(new, snapshot_properties=properties, check_duplicate_files=False)
        change.set_properties(dict(properties))
    return TableChanges(len(new), len(old))


def _replace(
    table: Any, change: Any, old: Sequence[Any], new: Sequence[str], properties: Mapping[str, str]
) -> None:
    """Take files out of a table and add others, in one snapshot and without reading a record."""
    from pyiceberg.io.pyarrow import parquet_files_to_data_files  # noqa: PLC0415  # as above

    with change.update_snapshot(snapshot_properties=properties).overwrite() as snapshot:
        for file in old:
            snapshot.delete_data_file(file)
        made = parquet_files_to_data_files(table.io, change.table_metadata, iter(new))
        for file in made:
            snapshot.append_data_file(file)


def _is_sql(properties: Mapping[str, str]) -> bool:
    """Whether a catalog is a database; a server knows itself where tables keep their metadata."""
    kind = properties.get("type") or properties.get("uri", "").partition(":")[0].partition("+")[0]
    return kind in _SQL


def _login(store: StoreConfig) -> dict[str, str]:
    """Return the properties by which pyiceberg logs in to the store of the files."""
    if store.kind is not StoreKind.S3:
        return {}
    keys = store.keys
    found = {
        "s3.endpoint": store.endpoint,
        "s3.region": store.region,
        "s3.profile-name": store.profile,
        "s3.access-key-id": keys and keys.access_key_id,
        "s3.secret-access-key": keys and keys.secret_access_key.reveal(),
        "s3.session-token": keys and keys.session_token and keys.session_token.reveal(),
    }
    if store.path_style is False:
        found["s3.force-virtual-addressing"] = "true"
    return {name: value for name, value in found.items() if value}


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Translate whatever a catalog raises; its clients share no kind of error.

    Raises:
        CatalogError: Something was raised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns without statistics, which is on purpose
        try:
            yield
        except TowpathError:
            raise
        except Exception as error:  # noqa: BLE001  # see above
            raise CatalogError(f"{what}: {foreign(error)[:500]}", _ADVICE) from None


_ADVICE = "archiving goes on without it; the next registration makes up for this one"
