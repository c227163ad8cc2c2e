"""Kubernetes objects as YAML for `kubectl` and people."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from towpath.kraft.reach.kubernetes.objects import KubernetesObject

_WIDTH = 4096


def yaml_text(objects: Iterable[KubernetesObject]) -> str:
    """Return objects as one YAML text of several documents.

    Texts are quoted, as `kubectl` reads YAML 1.1, in which a plain `on` is no text.
    """
    yaml = YAML()
    yaml.width, yaml.explicit_start = _WIDTH, True
    stream = io.StringIO()
    yaml.dump_all([_shown(each) for each in objects], stream)
    return stream.getvalue()


def _shown(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _shown(each) for key, each in value.items()}
        case list() | tuple():
            return [_shown(each) for each in value]
        case str() if "\n" in value.rstrip("\n"):
            return LiteralScalarString(value)
        case str():
            return DoubleQuotedScalarString(value)
        case _:
            return value
