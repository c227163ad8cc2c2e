"""Objects as files: what a kill leaves, and what no key may reach."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.program import environment
from towpath.model.errors import StoreAwayError, StoreLockedError, StoreRefusedError
from towpath.settings import Duration, StoreConfig
from towpath.store import Store
from towpath.store.objects import Put


def config(folder: Path) -> StoreConfig:
    return StoreConfig.model_validate({"url": folder.as_uri()})


def test_a_folder_is_made_but_not_those_above_it(tmp_path: Path) -> None:
    with Store(config(tmp_path / "store")) as store:
        assert list(store.list()) == []
        assert not (tmp_path / "store").exists()
        store.put_new("a/b", b"x")
        assert (tmp_path / "store" / "a" / "b").read_bytes() == b"x"
    with (
        Store(config(tmp_path / "disk" / "store")) as store,
        pytest.raises(StoreRefusedError) as caught,
    ):
        store.put_new("a", b"x")
    assert str(caught.value) == (
        f"file://{tmp_path}/disk/store/: write: there is no folder {tmp_path}/disk; make it, or"
        " look whether its disk is mounted"
    )


def test_a_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """It is no object that others wrote, as it would seem from what the system says."""
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with Store(config(file)) as store, pytest.raises(StoreRefusedError) as caught:
        store.put_new("a", b"x")
    assert str(caught.value).startswith(f"file://{file}/: write: the folder cannot be made (")
    assert str(caught.value).endswith("; name a folder in `store.url`")
    assert file.read_text() == "mine"


@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_folder_that_is_not_mounted_any_more_is_away_and_not_begun_anew(
    tmp_path: Path, how: str
) -> None:
    folder, away = tmp_path / "store", tmp_path / "away"
    hasty = config(folder).model_copy(update={"timeout": Duration(0.1)})
    with Store(hasty) as store, Store(hasty, begun=True) as worker:
        store.put_new("log/1", b"x")
        upload = store.backend.upload("b", Put())
        folder.rename(away)
        if how == "empty":
            folder.mkdir()
        for each in (store, worker):
            for work in (
                lambda each=each: each.get("log/1"),
                lambda each=each: each.head("log/2"),
                lambda each=each: list(each.list()),
                lambda each=each: each.delete(["log/1"]),
                lambda each=each: each.put_new("log/2", b"y"),
                lambda: upload.part(0, b"z"),
            ):
                with pytest.raises(StoreAwayError, match="is its disk mounted"):
                    work()
        assert not (folder / ".towpath").exists()
        if how == "empty":
            folder.rmdir()
        away.rename(folder)
        upload.part(0, b"z")
        upload.complete()
        worker.put_new("log/2", b"y")
        assert [each.key for each in store.list()] == ["b", "log/1", "log/2"]


@pytest.mark.parametrize("key", ["../a", "a/../../b", "/etc/passwd", "a//b", ".", "", "a\0b"])
def test_no_key_leads_out_of_the_folder(tmp_path: Path, key: str) -> None:
    with Store(config(tmp_path / "store")) as store:
        with pytest.raises(StoreRefusedError) as caught:
            store.get(key)
        assert "cannot be the name of a file below it" in str(caught.value)
        with pytest.raises(StoreRefusedError):
            store.put_new(key, b"x")
        with pytest.raises(StoreRefusedError):
            store.delete([key])
        assert store.abort_uploads("", 0) == []


@pytest.mark.parametrize("key", [".towpath/lock", ".towpath/a"])
def test_what_is_ours_is_no_object(tmp_path: Path, key: str) -> None:
    with Store(config(tmp_path / "store")) as store, pytest.raises(StoreRefusedError):
        store.get(key)


FULL = """
import resource, signal, sys
from towpath.model.errors import StoreFullError
from towpath.settings import StoreConfig
from towpath.store import Store

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with Store(StoreConfig(url=sys.argv[1])) as store:
    try:
        store.put_new("a", b"x" * 2000)
    except StoreFullError as error:
        print(error)
    assert list(store.list()) == []
    assert store.abort_uploads("", 0) == []
    store.put_new("a", b"x")
"""
"""The limit binds a whole process, also what its other threads write: it has one of its own."""


def test_a_file_that_cannot_grow_is_a_full_store(tmp_path: Path) -> None:
    url = (tmp_path / "store").as_uri()
    told = subprocess.run(
        [sys.executable, "-c", FULL, url],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "the store has no room left (File too large" in told.stdout
    with Store(config(tmp_path / "store")) as store:
        assert store.get("a") == b"x"


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.support.program import environment
from towpath.settings import Duration, StoreConfig
from towpath.store import Store
from towpath.store.files import files

def counted(name, step, calls):
    true = getattr(files.os, name)
    def call(*args, **more):
        calls.append(name)
        if len(calls) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return true(*args, **more)
    setattr(files.os, name, call)

for step in range(1, 100):
    child = os.fork()
    if child == 0:
        calls = []
        for name in ("fsync", "link", "unlink", "mkdir", "open"):
            counted(name, step, calls)
        url = (Path(sys.argv[1]) / str(step)).as_uri()
        Store(StoreConfig.model_validate({"url": url})).put_new("a/b", b"x" * 100_000)
        os._exit(0)
    print(status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if status != -signal.SIGKILL:
        break
"""


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_all_of_an_object_or_nothing(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    codes = [int(line) for line in run.stdout.split()]
    assert codes == [-signal.SIGKILL] * (len(codes) - 1) + [0]
    seen = [left(tmp_path / str(step)) for step in range(1, len(codes) + 1)]
    first = seen.index({"a/b": 100_000})
    assert seen[:first] == [{}] * first
    assert seen[first:] == [{"a/b": 100_000}] * (len(codes) - first)
    assert 2 < first < len(codes) - 1


HOLDER = """
import sys
from pathlib import Path
from towpath.store.files.locking import locked

with locked(Path(sys.argv[1]), 5, ""):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_frozen_holder_of_the_lock_is_named_and_holds_up_nobody_for_ever(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    hasty = {"url": folder.as_uri(), "timeout": "1s", "request_timeout": "300ms"}
    with Store(StoreConfig.model_validate(hasty)) as store:
        made = store.put_new("lease", b"1")
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder / ".towpath" / "lock")],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(StoreLockedError) as caught:
            store.replace("lease", b"2", made.tag)
        assert time.monotonic() - begun < 20
        assert str(caught.value) == (
            f"file://{folder}/lease: replace: process {holder.pid} on {socket.gethostname()} keeps"
            f" the lock {folder}/.towpath/lock and does not go on, as if it were frozen; let it"
            f" continue, or end it (`fuser -v {folder}/.towpath/lock` shows it)"
        )
        holder.send_signal(signal.SIGCONT)
        holder.communicate()
        made = store.replace("lease", b"2", made.tag)
        assert store.get("lease") == b"2"
        assert store.abort_uploads("", -1) == []


def left(folder: Path) -> dict[str, int]:
    """Return the objects in a folder; what else is there can be removed."""
    with Store(config(folder)) as store:
        found = {each.key: each.size for each in store.list()}
        store.abort_uploads("", -1)
    assert [path.name for path in folder.glob(".towpath/*")] in ([], ["lock"])
    return found
