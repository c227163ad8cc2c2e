"""The storage of a new broker, copied from one of the same version that Kafka's tool formatted.

The tool is a JVM that takes more than a second, for each of two dozen brokers of a session. What it
writes differs in three ids alone.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import uuid
from pathlib import Path

from towpath.runtime.home import home_folder

_META = "meta.properties"


def copy_formatted(version: str, data: Path, cluster_id: str, node: int) -> None:
    """Make the storage of a new broker, if one of its version was kept."""
    kept = _kept(version)
    if data.exists() or not kept.exists():
        return
    shutil.copytree(kept, data)
    lines = (kept / _META).read_text().splitlines()
    meta = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    meta["cluster.id"], meta["node.id"] = cluster_id, str(node)
    meta["directory.id"] = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    (data / _META).write_text("".join(f"{key}={value}\n" for key, value in meta.items()))


def keep_formatted(version: str, data: Path) -> None:
    """Keep the storage of a broker that has just been formatted, if none of its version is kept."""
    kept = _kept(version)
    if kept.exists():
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        made = Path(shutil.copytree(data, Path(scratch) / "data"))
        try:
            made.rename(kept)
        except OSError:  # another process was faster
            assert kept.exists()


def _kept(version: str) -> Path:
    return home_folder() / "formatted" / version
