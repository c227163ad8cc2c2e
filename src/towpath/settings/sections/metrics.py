"""The section `metrics`: the metrics that a run offers to Prometheus, and the address."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from towpath.model.nouns import Detail
from towpath.settings.address import host_and_port, listen_address
from towpath.settings.shape import Section

_ROOT = re.compile(r"(/[\w.~-]+)*")


def _root_path(text: str) -> str:
    if not _ROOT.fullmatch(text):
        raise ValueError("must be a path such as /towpath: parts of letters, digits, or ._~-")
    return text


class MetricsConfig(Section):
    """The section `metrics`: the metrics that a run offers to Prometheus, and the address."""

    listen: Annotated[str, AfterValidator(listen_address)] | None = Field(
        None,
        description="HOST:PORT where `towpath run` serves its metrics under `/metrics`, such as"
        " `127.0.0.1:9404`. Default: not served. Anyone who can connect can read topic names.",
    )
    root_path: Annotated[str, AfterValidator(_root_path)] = Field(
        "",
        description="Path such as `/towpath` below which everything is served as well, for a proxy"
        " that other services share. Default: none.",
    )
    detail: Detail = Field(
        Detail.AUTO,
        description="Whether each `partition`, each `topic` or the `link` as a whole has series of"
        " its own; `auto` is the first of them of which there are at most 1,000.",
    )

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port to listen on, `None` if metrics are not served."""
        return host_and_port(self.listen) if self.listen else None
