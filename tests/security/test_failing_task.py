"""A Spark task that fails with secrets in its error and in what caused it."""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import environment
from towpath.model.secret import Secret

MARK = "m4rked-secret"
PAGES = "/jobs/", "/stages/", "/stages/stage/?id=0&attempt=0", "/SQL/", "/environment/"
REST = "/api/v1/applications"


def fail(secret: Secret) -> Iterator[Any]:
    """Raise what a library would that was handed a password."""
    cause = OSError(f"cannot log in with {secret.reveal()}")
    raise RuntimeError(f"no connection by {secret.reveal()}") from cause
    yield


@pytest.mark.soak
@pytest.mark.spark
def test_neither_logs_nor_pages_show_it(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.ui.enabled true\nspark.ui.port 0\nspark.log.level DEBUG\n"
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{events}\n"
        "spark.eventLog.compress false\n"
    )
    line = [sys.executable, "-m", "tests.security.test_failing_task", str(tmp_path)]
    env = environment({"SPARK_CONF_DIR": str(tmp_path)})
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "no connection by ***" in done.stdout
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    shown = {str(each): each.read_text(errors="replace") for each in files}
    shown |= {"out": done.stdout, "err": done.stderr}
    assert any("no connection by ***" in text for name, text in shown.items() if "stages" in name)
    assert [name for name, text in shown.items() if MARK in text] == []


def _main(folder: Path) -> None:
    """Run in a process of its own: start Spark, let a task fail, keep all pages."""
    from towpath.engine.batch import run
    from towpath.engine.session import session, stop_and_wait

    spark = session("local[1,1]", "failing", credentials=True)
    try:
        run(spark, [Secret(MARK)], fail, "a int", lambda *_: None, threading.Event())
    except RuntimeError as error:
        sys.stdout.write(f"{error}\n")
    ours = str(spark.sparkContext.uiWebUrl).replace("localhost", "127.0.0.1")
    app = f"{REST}/{spark.sparkContext.applicationId}"
    for number, page in enumerate((*PAGES, REST, f"{app}/stages?details=true", f"{app}/sql")):
        with urllib.request.urlopen(ours + page, timeout=10) as answer:  # noqa: S310
            (folder / f"page-{number}-{page.strip('/').replace('/', '.')[-30:]}").write_bytes(
                answer.read()
            )
    stop_and_wait(spark)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
