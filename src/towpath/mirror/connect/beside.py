"""The sections beside input and output of a Redpanda Connect file: metrics, logging and HTTP.

Files that `connect create` writes have all fields with their defaults, so each of them is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, field_validator, model_validator

from towpath.mirror.connect.values import Hidden
from towpath.model.secret import Secret
from towpath.settings.problems import placed_error
from towpath.settings.shape import Placed, Section, require_none

_SCRAPED = "is not offered: metrics are served for Prometheus, which scrapes them"
_NO_TLS = "is not offered: metrics are served as plain text; put a proxy in front of them"


def _unused(why: str) -> AfterValidator:
    """Return the validation of a text that must be empty."""

    def check(text: str) -> str:
        if text:
            raise ValueError(why)
        return text

    return AfterValidator(check)


class Prometheus(Section):
    """The settings of Prometheus metrics."""

    use_histogram_timing: StrictBool = False
    histogram_buckets: tuple[float, ...] = ()
    summary_quantiles_objectives: tuple[dict[str, float], ...] = ()
    add_process_metrics: StrictBool = False
    add_go_metrics: StrictBool = False
    push_url: Annotated[str, _unused(_SCRAPED)] = ""
    push_interval: str = ""
    push_job_name: str = "benthos_push"
    push_basic_auth: dict[str, Hidden] = Field(default_factory=dict)
    file_output_path: Annotated[str, _unused(_SCRAPED)] = ""


class Metrics(Section):
    """The section `metrics`."""

    prometheus: Prometheus | None = None
    none: dict[str, Any] | None = None
    mapping: Literal[""] = ""

    @model_validator(mode="before")
    @classmethod
    def _offered(cls, tree: Any) -> Any:
        if isinstance(tree, dict):
            require_none(_other_metrics(tree))
        return tree


def _other_metrics(tree: Mapping[str, Any]) -> Iterator[Placed]:
    for key, value in tree.items():
        if key == "mapping" and value:
            why = "is not known here: metrics have their names; let Prometheus rename them"
            yield Placed((key,), f"{why} (metric_relabel_configs)")
        elif key not in Metrics.model_fields:
            yield Placed((key,), f"{_SCRAPED}; write `prometheus: {{}}`")


class LogFile(Section):
    """Where logs are written instead of standard output."""

    path: Annotated[
        str, _unused("is not offered: logs go to standard error; redirect them to the file")
    ] = ""
    rotate: StrictBool = False
    rotate_max_age_days: int = 0


class Logger(Section):
    """The section `logger`."""

    level: Literal["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL", "NONE"] = (
        "INFO"
    )
    format: Literal["json", "logfmt"] = "logfmt"
    add_timestamp: StrictBool = False
    level_name: str = "level"
    timestamp_name: str = "time"
    message_name: str = "msg"
    static_fields: dict[str, Any] = Field(default_factory=dict)
    file: LogFile = LogFile.model_construct()

    @field_validator("level", mode="before")
    @classmethod
    def _any_case(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level


class HttpLogin(Section):
    """A login of those who ask for metrics."""

    enabled: StrictBool = False
    realm: str = "restricted"
    username: str = ""
    password_hash: Hidden = Secret("")
    algorithm: str = "sha256"
    salt: Hidden = Secret("")


class Http(Section):
    """The section `http`, which serves metrics and health."""

    enabled: StrictBool = True
    address: str = "0.0.0.0:4195"
    root_path: str = "/benthos"
    debug_endpoints: StrictBool = False
    cert_file: Annotated[str, _unused(_NO_TLS)] = ""
    key_file: Annotated[str, _unused(_NO_TLS)] = ""
    cors: dict[str, Any] = Field(default_factory=dict)
    basic_auth: HttpLogin = HttpLogin.model_construct()

    @model_validator(mode="after")
    def _open(self) -> Self:
        if self.basic_auth.enabled:
            text = "is not offered: who can connect reads metrics; put a proxy in front of them"
            raise placed_error(text, "basic_auth", "enabled")
        return self


_NOT_OFFERED: Mapping[str, str] = {
    "redpanda": "is Redpanda's enterprise block; Towpath has `towpath status` and its ledger",
    "cache_resources": "is for processors that Towpath does not have; see `changes` of our file",
    "rate_limit_resources": "is not known here; `towpath rate` limits a link",
    "input_resources": "is not known here; write the input itself under `input`",
    "output_resources": "is not known here; write the output itself under `output`",
    "processor_resources": "is for processors that Towpath does not have",
    "tracer": "is not known here; metrics and events tell how a link goes",
    "tests": "are tests of mappings for Connect itself",
    "buffer": "would lose the order and the positions of records; leave it out",
}


def refused_beside(tree: Mapping[str, Any]) -> Iterator[Placed]:
    """Yield sections that Connect knows and Towpath does not, each with the reason."""
    for key, why in _NOT_OFFERED.items():
        if key in tree and not _does_nothing(tree[key]):
            yield Placed((key,), why)


def without_idle(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file without the sections that Towpath does not know, where they do nothing."""
    return {key: value for key, value in tree.items() if key not in _NOT_OFFERED}


def _does_nothing(value: object) -> bool:
    """Whether a section is empty, or says `none`, as in files that `connect create` writes."""
    if isinstance(value, dict) and set(value) == {"none"}:
        return not value["none"]
    return not value
