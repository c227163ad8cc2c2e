"""The base of every section of the file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen mapping that refuses unknown keys and never shows its input."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
