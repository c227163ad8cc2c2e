"""Translation of a Redpanda Connect file to an equivalent file of a link. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from towpath.bloblang.nodes import MetadataOf, Node, Statement
from towpath.bloblang.parser import parse_mapping
from towpath.mirror.connect.file import MAPPINGS, ConnectFile
from towpath.mirror.connect.filters import Rule, drops_of, filtered
from towpath.mirror.connect.headers import added_headers
from towpath.mirror.connect.logins import PEM_TEXTS, Logins, Reveal
from towpath.mirror.connect.metadata import NONE_SET, set_by
from towpath.mirror.connect.needless import needless
from towpath.mirror.connect.sides import MigratorInput, MigratorOutput, OutputRegistry
from towpath.mirror.connect.values import whole_name
from towpath.model.secret import Secret
from towpath.settings.naming import template_of
from towpath.settings.secrets import PemFile
from towpath.settings.shape import Place, Placed

_ANY = "0.0.0.0"  # noqa: S104, what Connect means by an address without host
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST_INTERVAL, _MOST_INTERVAL = 1.0, 86_400.0
_TOPIC, _SUBJECT = "kafka_topic", "schema_registry_subject"
_NOT_COPIED = {"latest": "not from their end", "committed": "where Connect would not read them"}
"""By `start_offset`, what Connect does with partitions of which its group has committed nothing."""
_VERSION = "schema_registry_version"


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated file, with its problems and notes.

    Attributes:
        tree: The sections.
        problems: What no link can do, by place in Connect's file.
        notes: What is different from Connect, in sentences.
    """

    tree: dict[str, Any]
    problems: tuple[Placed, ...]
    notes: tuple[str, ...]


def translate(file: ConnectFile, link: str, reveal: Reveal, number: int = 0) -> Translation:
    """Translate a Redpanda Connect file to an equivalent file of a link.

    Args:
        file: Connect's file.
        link: The name of the link.
        reveal: What stands for a secret.
        number: The number of pairs before this one in the file.
    """
    return _Maker(file, reveal, number).made(link)


class _Maker:
    def __init__(self, file: ConnectFile, reveal: Reveal, number: int) -> None:
        self._in: MigratorInput = file.input.redpanda_migrator
        self._out: MigratorOutput = file.output.redpanda_migrator
        self._file, self._number = file, number
        self._problems: list[Placed] = []
        self._logins = Logins(reveal, self._problems)
        self._notes: list[str] = []
        self._dropped: list[str] = []

    def made(self, link: str) -> Translation:
        place = ("output", "redpanda_migrator")
        tree: dict[str, Any] = {
            "source": self._logins.cluster(self._in, ("input", "redpanda_migrator"))
            | ({"rack": self._in.rack_id} if self._in.rack_id else {}),
            "target": self._logins.cluster(self._out, place)
            | ({"kind": "serverless"} if self._out.serverless else {}),
            "link": link,
            "topics": self._topics(),
            "records": self._records(),
        }
        sections = {
            "groups": self._groups(),
            "schemas": self._schemas(),
            "changes": self._changes(),
            "access": {"acls": "safe"} if self._out.sync_topic_acls else None,
            "metrics": self._metrics(),
        }
        tree |= {key: section for key, section in sections.items() if section is not None}
        if self._dropped:  # no record of them is copied
            tree["topics"]["exclude"] = [*tree["topics"].get("exclude", ()), *self._dropped]
        self._notes += needless(self._file)
        return Translation(tree, tuple(self._problems), tuple(self._notes))

    def _topics(self) -> dict[str, Any]:
        side = self._in
        if side.regexp_topics_include or side.regexp_topics:
            patterns = side.regexp_topics_include or side.topics
            include = [whole_name(each) for each in patterns]
        else:
            include = [re.escape(each) for each in side.topics]
        made: dict[str, Any] = {"include": include}
        if side.regexp_topics_exclude:
            made["exclude"] = [whole_name(each) for each in side.regexp_topics_exclude]
        made |= self._rename("topic", self._out.topic, _TOPIC, "{topic}")
        factor = self._out.topic_replication_factor
        if self._out.serverless and factor is not None:
            self._notes.append("topic_replication_factor has no effect with `serverless: true`")
        elif factor == -1:
            made["replication_factor"] = "broker_default"
        elif factor is not None:
            made["replication_factor"] = factor
        return made

    def _rename(self, key: str, text: str, metadata: str, whole: str) -> dict[str, Any]:
        """Return `rename` for names made by expressions, nothing where names stay."""
        template = template_of(text)
        place = ("output", "redpanda_migrator", *key.split("."))
        for name in sorted(template.metadata - {metadata}):
            shown = f"@{name}" if name else "all metadata"
            why = f"a name is made of @{metadata}"
            if name == _VERSION and metadata == _SUBJECT:
                why = "versions of a subject stay together, or compatibility would mean nothing"
            self._problems.append(Placed(place, f"asks for {shown}; {why}"))
        for_one = metadata == _TOPIC and len(self._in.topics) <= 1  # a plan tells of more
        if not (template.metadata or template.reads_content or for_one):
            why = f"would give everything one name; use ${{! @{metadata} }}"
            self._problems.append(Placed(place, why))
        if template.parts == (MetadataOf(metadata),):
            return {}
        return {"rename": _simple(template.parts, metadata, whole) or text}

    def _records(self) -> dict[str, Any]:
        group, start = self._in.consumer_group, self._in.start_offset
        if group:
            if start in _NOT_COPIED:
                self._notes.append(
                    f"partitions in which {group} has committed nothing are copied from their"
                    f" beginning, {_NOT_COPIED[start]}"
                )
            interval = _seconds(self._in.commit_period)
            return {"start": "committed", "group": group, "commit": interval}
        return {"start": start}

    def _groups(self) -> dict[str, Any] | None:
        groups = self._out.consumer_groups
        if not groups.enabled or not groups.interval:
            return None
        own = [re.escape(self._in.consumer_group)] if self._in.consumer_group else []
        made: dict[str, Any] = {"interval": _seconds(groups.interval)}
        if groups.include:
            made["include"] = [whole_name(each) for each in groups.include if each]
        made["exclude"] = [*own, *(whole_name(each) for each in groups.exclude if each)]
        if groups.only_empty:
            made["states"] = "empty"
        return made

    def _schemas(self) -> dict[str, Any] | None:
        source, target = self._in.schema_registry, self._out.schema_registry
        if source is None or target is None or not target.enabled:
            if source is not None and target is None:
                self._notes.append("the registry of the source alone is named: no schema is copied")
            return None
        place = ("output", "redpanda_migrator", "schema_registry")
        made = {
            "source": self._logins.registry(source, ("input", *place[1:])),
            "target": self._logins.registry(target, place),
            **self._subjects(target),
        }
        if self._out.serverless:
            made["target"]["kind"] = "serverless"
            made |= dict.fromkeys(("metadata", "tags", "rules", "compatibility_groups"), "strip")
        return made

    def _subjects(self, rules: OutputRegistry) -> dict[str, Any]:
        made: dict[str, Any] = {
            "versions": rules.versions,
            "ids": "translate" if rules.translate_ids else "keep",
            "normalize": rules.normalize,
            "strict": rules.strict,
            "max_requests": min(rules.max_parallel_http_requests, 100),
            "interval": _seconds(rules.interval or _MOST_INTERVAL),
        }
        made |= {k: [whole_name(e) for e in v if e] for k, v in _filters(rules).items()}
        if rules.subject is not None:
            made |= self._rename("schema_registry.subject", rules.subject, _SUBJECT, "{subject}")
        if rules.include_deleted:
            self._deleted(made, keeps_ids=not rules.translate_ids)
        return made

    def _deleted(self, made: dict[str, Any], *, keeps_ids: bool) -> None:
        if keeps_ids:
            made["deleted"] = "keep"
            text = "versions that are soft-deleted at the source are soft-deleted on the target too"
            self._notes.append(f"{text}, where Connect leaves them live")
            return
        place = ("output", "redpanda_migrator", "schema_registry", "include_deleted")
        text = "is possible with ids that are kept only; leave it out, or `translate_ids`"
        self._problems.append(Placed(place, text))

    def _metrics(self) -> dict[str, Any] | None:
        """Return where metrics are served, if the file asks for it."""
        file = self._file
        if not file.http.enabled or not {"http", "metrics"} & file.model_fields_set:
            return None
        if file.metrics.none is not None:
            return None
        host, _, port = file.http.address.rpartition(":")
        if self._number and port.isdecimal():  # a server of its own for each pair
            port = str(int(port) + self._number)
            self._notes.append(f"metrics and health of this pair are served at port {port}")
        listen = {"listen": f"{host or _ANY}:{port}"}
        root = file.http.root_path.strip("/")
        return listen | ({"root_path": f"/{root}"} if root else {})

    def _changes(self) -> list[dict[str, Any]] | None:
        made: dict[str, Any] = {}
        out = self._out
        if out.compression is not None:
            made["codec"] = out.compression
        written = out.offset_header if out.consumer_groups.enabled else ""
        if out.provenance_header:
            made["drop"] = [{"name": "from-target", "provenance": out.provenance_header}]
        if out.provenance_header or written:
            made["redpanda"] = {"provenance": out.provenance_header, "offset": written}
            self._notes.append(
                "each record gets headers of the migrator, for which its batch is written anew;"
                ' Towpath itself needs none: with `provenance_header: ""` and `offset_header: ""`'
                " batches are copied as they are, at a fifth of the CPU"
            )
        mappings = [*self._mappings()]
        own = added_headers(out.headers, mappings, {out.provenance_header, written})
        self._problems += own.problems
        self._notes += own.notes
        made |= {"headers": [*own.headers]} if own.headers else {}
        return [
            *self._filtered(made, mappings),
            *([{"topics": [".*"], **made}] if made else []),
        ] or None

    def _mappings(self) -> Iterator[tuple[Statement, ...]]:
        for _, processor in self._file.processors:
            yield from (parse_mapping(processor[name]) for name in MAPPINGS if name in processor)

    def _filtered(
        self, made: dict[str, Any], mappings: Iterable[tuple[Statement, ...]]
    ) -> Iterator[dict[str, Any]]:
        """Yield the changes of topics whose records mappings drop, in part or as a whole."""
        drops: list[Node] = []
        known = NONE_SET
        for mapping in mappings:
            drops += drops_of(mapping, known)
            known = set_by(mapping, known)
        for each in filtered(drops):
            if each.whole:
                self._dropped.append(each.topics)
            else:
                rules = [*made.get("drop", ()), *map(_timed, each.rules)]
                yield {"topics": [each.topics], **made, "drop": rules}


def _simple(parts: tuple[str | Node, ...], metadata: str, whole: str) -> str | None:
    """Return the template of a link for texts around a name, `None` if there is more to it."""
    texts = [whole if part == MetadataOf(metadata) else part for part in parts]
    plain = [each for each in texts if isinstance(each, str)]
    has_braces = any(set("{}") & set(part) for part in parts if isinstance(part, str))
    return "".join(plain) if len(plain) == len(texts) and not has_braces else None


def _timed(rule: Rule) -> Rule:
    """Return a drop rule with its times as texts, which a file takes for every year."""
    times = {key: rule[key] for key in ("before", "since") if key in rule}
    return {**rule, **{key: _moment(time) for key, time in times.items()}}


def _moment(ms: int) -> str:
    return (_BEGINNING + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def _filters(rules: OutputRegistry) -> dict[str, tuple[str, ...]]:
    found = {"include": rules.include, "exclude": rules.exclude}
    return {key: patterns for key, patterns in found.items() if any(patterns)}


def _seconds(interval: float) -> str:
    return f"{min(max(interval, _LEAST_INTERVAL), _MOST_INTERVAL):.10g}s"


def revealed(place: Place, secret: Secret) -> object:
    """Return a secret in plain text, and a PEM text as a file, for use in this process only."""
    return PemFile(str(place[-1]), secret) if place[-1] in PEM_TEXTS else secret
