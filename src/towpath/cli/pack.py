"""`towpath pack`: make the archive of packages that Spark ships to its workers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from towpath.cli.options import require_writable
from towpath.cli.show.file_shapes import PackedJson
from towpath.cli.show.output import Output, OutputOption, show
from towpath.engine import packing
from towpath.engine.packages import ENDS, OPTION, SUFFIX
from towpath.model.amounts import size
from towpath.model.errors import ConfigError, ConfigProblem


def pack(
    out: Annotated[
        Path, typer.Argument(metavar="OUT.tar.gz", help="The file to write; it is replaced.")
    ],
    *,
    output: OutputOption = Output.TEXT,
) -> int:
    """Pack Towpath and the packages of its slices, for Spark workers with plain Python."""
    del output  # `show` reads it from the arguments
    if not out.name.endswith(ENDS):
        raise _refusal(f"{out} must end in {' or '.join(ENDS)}, else Spark does not unpack it")
    require_writable(out, "OUT.tar.gz")
    try:
        made = packing.pack(out)
    except OSError as error:
        raise _refusal(f"{out} cannot be written: {error.strerror}") from error
    show(_told(made), _report(made))
    return 0


def _told(made: packing.Packed) -> str:
    return (
        f"{made.path}: {size(made.bytes)}, {len(made.packages)} packages, sha256 {made.digest}\n"
        f"The workers need a Python whose modules end in {SUFFIX}, as this one's do. Use it with"
        f" towpath run FILE --master MASTER {OPTION} {made.path}"
    )


def _report(made: packing.Packed) -> PackedJson:
    return {
        "file": str(made.path),
        "bytes": made.bytes,
        "sha256": made.digest,
        "suffix": SUFFIX,
        "packages": dict(made.packages),
    }


def _refusal(text: str) -> ConfigError:
    return ConfigError((ConfigProblem("OUT.tar.gz", text),))
