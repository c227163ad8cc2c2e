"""Configurations of links between clusters of the tests."""

from __future__ import annotations

from typing import Any

from towpath.config import LinkConfig


def link(
    source: str,
    target: str,
    *include: str,
    rename: str = "{topic}",
    exclude: tuple[str, ...] = (),
    records: dict[str, Any] | None = None,
    security: dict[str, Any] | None = None,
    configs: dict[str, Any] | None = None,
    replication_factor: str | int = "source",
    prune: bool = False,
) -> LinkConfig:
    """Return the link between two bootstrap addresses, `security` holding for both."""
    common = {"request_timeout": "10s", **(security or {})}
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": source, **common},
            "target": {"bootstrap": target, **common},
            "link": "test",
            "topics": {
                "include": include,
                "exclude": exclude,
                "rename": rename,
                "replication_factor": replication_factor,
                "configs": configs or {},
            },
            "records": records or {},
            "prune": prune,
        }
    )
