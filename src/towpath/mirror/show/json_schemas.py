"""JSON schemas of the JSON outputs, generated from their types.

`python -m towpath.mirror.show.json_schemas COMMAND` writes one, for
`docs/output/COMMAND.schema.json`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic import TypeAdapter

from towpath.mirror.show.groups_shapes import GroupsStatusJson
from towpath.mirror.show.history_shapes import HistoryJson
from towpath.mirror.show.status_shapes import StatusJson
from towpath.mirror.show.verify_shapes import VerifyJson

OUTPUTS: dict[str, Any] = {
    "groups": GroupsStatusJson,
    "history": HistoryJson,
    "status": StatusJson,
    "verify": VerifyJson,
}
"""The type of the JSON that each command writes with `--output json`."""


def text(command: str) -> str:
    """Return the schema of a command's output (JSON Schema 2020-12), as text."""
    made = TypeAdapter(OUTPUTS[command]).json_schema(mode="serialization")
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    return json.dumps(whole, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text(sys.argv[1]))
