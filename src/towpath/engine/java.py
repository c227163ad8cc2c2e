"""The search for the Java that runs Spark, and local brokers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from towpath.model.errors import JavaError
from towpath.model.foreign import foreign, printed

OLDEST = 17
"""Kafka 4 brokers and Spark 4 need Java 17."""

ADVICE = (
    f"install Java {OLDEST} or newer (Debian, Ubuntu: apt install openjdk-17-jre-headless;"
    " Fedora: dnf install java-21-openjdk-headless; macOS: brew install openjdk@17)"
    " and put it on PATH or into JAVA_HOME"
)


def find() -> Path:
    """Return the `java` command of JAVA_HOME, else of PATH.

    Raises:
        JavaError: Java is missing, does not run, or is older than `OLDEST`.
    """
    path = candidate()
    major = _major(path)
    if major < OLDEST:
        raise JavaError(f"{path} is Java {major}, Towpath needs {OLDEST} or newer", ADVICE)
    return path


def candidate() -> Path:
    """Return the `java` command without checking its version.

    Raises:
        JavaError: There is none.
    """
    home = os.environ.get("JAVA_HOME", "")
    if home:
        path = Path(home) / "bin" / "java"
        if not path.exists():
            raise JavaError(f"JAVA_HOME is {home}, but {path} does not exist", ADVICE)
        return path
    found = shutil.which("java")
    if found is None:
        raise JavaError("there is no java command on PATH, and JAVA_HOME is not set", ADVICE)
    return Path(found)


def _major(path: Path) -> int:
    # Every Java understands `-version`, but not `--version`; it writes to stderr.
    try:
        answer = subprocess.run(  # noqa: S603  # the path is that of a java
            [str(path), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(f"{path} does not run: {foreign(error)}", ADVICE) from error
    text = printed(answer.stderr + answer.stdout)
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if answer.returncode or found is None:
        # macOS has a placeholder with this name, which only says that Java is missing.
        raise JavaError(f"{path} -version answered: {text.strip()[:200]}", ADVICE)
    return int(found[1])
