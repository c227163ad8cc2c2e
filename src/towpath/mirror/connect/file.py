"""The top level of a Redpanda Connect file: input, output and pipeline."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, model_validator

from towpath.bloblang.nodes import Node
from towpath.bloblang.parser import parse_mapping
from towpath.mirror.connect.beside import Http, Logger, Metrics, refused_beside, without_idle
from towpath.mirror.connect.filters import drops_of, filtered
from towpath.mirror.connect.metadata import NONE_SET, set_by
from towpath.mirror.connect.pairs import DEFAULT_LABEL
from towpath.mirror.connect.sides import MigratorInput, MigratorOutput
from towpath.mirror.connect.values import GoDuration
from towpath.model.foreign import foreign
from towpath.settings.shape import Place, Placed, Section, require_none

_LABEL = re.compile(r"[a-z0-9_]{0,80}")
_MIGRATOR = "redpanda_migrator"
MAPPINGS = ("mapping", "bloblang")
"""Processors that are one mapping."""
_WITHOUT_EFFECT = frozenset({"log", "benchmark", "noop"})
_LEGACY = frozenset(
    f"{begin}{end}"
    for begin in ("redpanda_migrator", "kafka_migrator")
    for end in ("", "_bundle", "_offsets")
) - {_MIGRATOR}
"""Names of the migrator before Connect 4.85."""
_RENAMED = (
    "is a name of the migrator before Connect 4.85; write redpanda_migrator with these names:"
    " topic_prefix is `topic: PREFIX${! @kafka_topic }`, replication_factor and"
    " replication_factor_override are topic_replication_factor, translate_schema_ids is"
    " schema_registry.translate_ids, poll intervals are consumer_groups.interval, subject_filter is"
    " schema_registry.include"
)
_INSTEAD: Mapping[str, str] = {
    "rate_limit": "`towpath rate` and `run.max_rate` of our file limit a link",
    "sleep": "a link waits by itself; `run.max_rate` of our file limits it",
}
"""What does the work of some processors."""
_BESIDE = frozenset({"label", "processors"})


def _label(text: str) -> str:
    if not _LABEL.fullmatch(text):
        raise ValueError(f"must be 1 to 80 lower-case letters, digits or '_', not {text[:90]!r}")
    return text or DEFAULT_LABEL


class InputPart(Section):
    """The section `input`, with its label."""

    label: Annotated[str, AfterValidator(_label)] = DEFAULT_LABEL
    redpanda_migrator: MigratorInput
    processors: tuple[dict[str, Any], ...] = ()


class OutputPart(Section):
    """The section `output`, with its label."""

    label: Annotated[str, AfterValidator(_label)] = DEFAULT_LABEL
    redpanda_migrator: MigratorOutput
    processors: tuple[dict[str, Any], ...] = ()


class Pipeline(Section):
    """The processors between input and output."""

    threads: int = -1
    processors: tuple[dict[str, Any], ...] = ()


class ConnectFile(Section):
    """A file of Redpanda Connect with `redpanda_migrator` as input and output."""

    input: InputPart
    output: OutputPart
    pipeline: Pipeline = Pipeline.model_construct()
    metrics: Metrics = Metrics.model_construct()
    logger: Logger = Logger.model_construct()
    http: Http = Http.model_construct()
    shutdown_delay: GoDuration | Literal[""] = 0.0
    shutdown_timeout: GoDuration = 20.0

    @model_validator(mode="before")
    @classmethod
    def _offered(cls, tree: Any) -> Any:
        if isinstance(tree, dict):
            require_none(_refused(tree))
            return without_idle(tree)
        return tree

    @model_validator(mode="after")
    def _agree(self) -> Self:
        require_none([*self._labels(), *self._registries(), *self._processors()])
        return self

    def _labels(self) -> Iterator[Placed]:
        here, there = self.input.label, self.output.label
        if here != there:
            text = f"is {there}, and that of the input {here}; a pair is one label"
            yield Placed(("output", "label"), text, (("input", "label"),))

    def _registries(self) -> Iterator[Placed]:
        place = ("output", _MIGRATOR, "schema_registry")
        other = ("input", *place[1:])
        source = self.input.redpanda_migrator.schema_registry
        target = self.output.redpanda_migrator.schema_registry
        if target is None or not target.enabled:
            return
        if source is None:
            text = "is required where the output has one: that is where schemas come from"
            yield Placed(other, text, (place,))
        elif source.url.rstrip("/") == target.url.rstrip("/"):
            yield Placed((*place, "url"), "is that of the source, too", ((*other, "url"),))

    @property
    def processors(self) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        """Every processor with its place in the file, in the order of execution."""
        places: Iterable[tuple[Place, tuple[dict[str, Any], ...]]] = (
            (("input",), self.input.processors),
            (("pipeline",), self.pipeline.processors),
            (("output",), self.output.processors),
        )
        for place, processors in places:
            for index, each in enumerate(processors):
                yield (*place, "processors", index), each

    def _processors(self) -> Iterator[Placed]:
        known = NONE_SET
        for place, processor in self.processors:
            name = next((key for key in processor if key != "label"), "")
            if name in MAPPINGS:
                known = yield from _wrong_in(processor[name], (*place, name), known)
            elif name not in _WITHOUT_EFFECT:
                instead = _INSTEAD.get(
                    name,
                    "`changes` of our file has drop rules and headers (docs/changes.md), and its"
                    " `transform` takes a query of Spark SQL (docs/howto/transform.md)",
                )
                about = tuple((*place, each) for each in MAPPINGS)
                yield Placed(place, f"{name or 'it'} is not known here; {instead}", about)


def _wrong_in(
    text: object, place: Place, known: Mapping[str, Node]
) -> Generator[Placed, None, Mapping[str, Node]]:
    """Yield why a mapping cannot become drop rules; return what metadata is set behind it."""
    if not isinstance(text, str):
        yield Placed(place, "must be a text")
        return known
    try:
        statements = parse_mapping(text)
        filtered(drops_of(statements, known))
    except ValueError as error:
        yield Placed(place, foreign(error))
        return known
    return set_by(statements, known)


def _refused(tree: Mapping[str, Any]) -> Iterator[Placed]:
    """Yield what Connect knows and Towpath does not, each with the reason."""
    yield from refused_beside(tree)
    for side in ("input", "output"):
        part = tree.get(side)
        if isinstance(part, dict) and _MIGRATOR not in part:
            other = next((key for key in part if key not in _BESIDE), "nothing")
            text = f"has {other}; Towpath takes the place of {_MIGRATOR} alone"
            yield Placed((side,), f"{other} {_RENAMED}" if other in _LEGACY else text)
