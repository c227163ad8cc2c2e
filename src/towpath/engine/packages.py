"""Spark settings for the package archive of `towpath pack`.

Workers need Python, but no Towpath. Spark unpacks the archive as a folder in the working folder of
each executor (`spark.archives`) and starts the program `bin/python` in it, a shell script that adds
the packages to the worker's own Python. As one setting names the program for executors and for the
driver, whose helper processes plan the rounds, Spark's JVM works in a folder that has a program of
the same relative path (`engine/pythons.py`).
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from towpath import __version__
from towpath.model.errors import ConfigError, ConfigProblem

OPTION = "--packages-archive"
FOLDER = "towpath"
"""The folder in an executor's working folder that holds what was unpacked."""
MANIFEST, PYTHON, PACKAGES = "towpath.json", "bin/python", "packages"
PROGRAM = f"./{FOLDER}/{PYTHON}"
"""What Spark takes for Python."""
SUFFIX = EXTENSION_SUFFIXES[0]
"""How the names of compiled modules end: a Python with another suffix cannot load those packed."""
ENDS = ".tar.gz", ".tgz"
"""By the end of its name Spark knows how to unpack an archive."""
_ARCHIVES = "spark.archives"
_LOCATIONS = "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "JAVA_HOME"

_LAUNCHER = """\
#!/bin/sh
# The worker's Python, with the packages beside this file. Made by `towpath pack`.
fail() {
  echo "towpath.model.errors.WorkersError: the worker $(uname -n) cannot run slices: $1" >&2
  exit 1
}
begin() { # a Python, then its arguments
  python=$1
  shift
  found=$("$python" -I -S -c 'import _imp; print(_imp.extension_suffixes()[0])' 2>/dev/null)
  if [ "$found" = "@suffix@" ]; then exec "$python" "$@"; fi
  seen="$seen${seen:+, }$python (${found:-does not run})"
}
if [ "${TOWPATH_VERSION:-@version@}" != "@version@" ]; then
  fail "the archive holds Towpath @version@, the driver is Towpath $TOWPATH_VERSION; make the\\
 archive again with \\`towpath pack\\`"
fi
here=$(cd "$(dirname "$0")/.." && pwd) || fail "the folder of $0 cannot be entered"
PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$here/packages" PYTHONNOUSERSITE=1 seen=
export PYTHONPATH PYTHONNOUSERSITE
if [ -n "$TOWPATH_PYTHON" ]; then
  begin "$TOWPATH_PYTHON" "$@"
else
  for each in python@minor@ python3 /usr/bin/python@minor@ /usr/local/bin/python@minor@; do
    begin "$each" "$@"
  done
fi
fail "the archive needs a Python whose modules end in @suffix@; found: $seen;\\
 install Python @minor@ there, or name one that all workers have in PYSPARK_PYTHON where towpath\\
 starts"
"""


def launcher_text() -> str:
    """Return the launcher script that workers start as Python."""
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    words = {"@suffix@": SUFFIX, "@version@": __version__, "@minor@": minor}
    text = _LAUNCHER
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def check(place: str) -> str:
    """Check a package archive, and return its address for Spark.

    Args:
        place: A file of this machine, or a URL that Spark can read, into which nobody looks here.

    Raises:
        ConfigError: The archive is none, or does not fit this Python and this Towpath.
    """
    if "://" in place:
        return place
    path = Path(place).absolute()
    if not path.is_file():
        raise _refusal(f"{place} does not exist; make it with `towpath pack {place}`")
    _require_fitting(path.name, _manifest(path))
    return str(path)


def settings(place: str, python: str | None, theirs: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark settings for a package archive.

    Args:
        place: Where Spark finds it.
        python: The Python of the workers, if the user names one.
        theirs: Settings of the user's spark-defaults.conf.
    """
    others = [theirs[_ARCHIVES]] if theirs.get(_ARCHIVES) else []
    made = {_ARCHIVES: ",".join([*others, f"{place}#{FOLDER}"])}
    made["spark.executorEnv.TOWPATH_VERSION"] = __version__
    return made | ({"spark.executorEnv.TOWPATH_PYTHON": python} if python else {})


def locate() -> None:
    """Make paths in environment variables absolute, as the JVM works in another folder."""
    for name in _LOCATIONS:
        if os.environ.get(name):
            os.environ[name] = str(Path(os.environ[name]).absolute())


def _manifest(path: Path) -> dict[str, Any]:
    found = None
    with suppress(tarfile.TarError, OSError, EOFError, ValueError), tarfile.open(path) as archive:
        first = archive.next()
        file = archive.extractfile(first) if first and first.name == MANIFEST else None
        found = json.load(file) if file else None
    if not isinstance(found, dict):
        raise _refusal(f"{path} is not an archive of `towpath pack`")
    return found


def _require_fitting(name: str, manifest: Mapping[str, Any]) -> None:
    version, suffix = manifest.get("towpath"), manifest.get("suffix")
    if version != __version__:
        what = f"{name} holds Towpath {version}, this is Towpath {__version__}"
        raise _refusal(f"{what}; make it again with `towpath pack`")
    if suffix != SUFFIX:
        what = f"{name} was made by another Python ({suffix}) than this one ({SUFFIX})"
        raise _refusal(f"{what}; make it again with `towpath pack`")


def _refusal(text: str) -> ConfigError:
    return ConfigError((ConfigProblem(OPTION, text),))
