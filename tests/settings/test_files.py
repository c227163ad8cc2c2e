"""Secrets in files that change while we run."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import environment
from towpath.model.secret import Secret, masked
from towpath.settings import ClusterConfig, PasswordSasl, files, stamps, troubles
from towpath.settings.files import FileSecret, Stamp

PEM = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "password"
    made.write_text("first-one\n")
    return made


def of(file: Path, *, pem: bool = False) -> Secret:
    """Return the secret of the link's file, as the driver reads it."""
    if pem:
        return FileSecret(str(file), file.read_text(), Stamp.of(file), pem=True)
    sasl = {"mechanism": "PLAIN", "username": "u", "password": f"file:{file}"}
    config = ClusterConfig.model_validate({"bootstrap": "b:1", "sasl": sasl})
    assert isinstance(config.sasl, PasswordSasl)
    return config.sasl.password


def elsewhere(secret: Secret) -> Secret:
    """Return what a process gets that has seen nothing yet."""
    carried = pickle.dumps(secret)
    files._FILES.forget()
    arrived: Secret = pickle.loads(carried)  # noqa: S301, our own bytes
    return arrived


def replace(file: Path, text: str) -> None:
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def test_a_secret_is_what_its_file_holds_now(file: Path) -> None:
    secret = of(file)
    assert secret.reveal() == "first-one"
    file.write_text("second-one\n")
    assert secret.reveal() == "second-one"
    replace(file, "third-one")
    assert (secret.reveal(), troubles()) == ("third-one", ())
    assert masked("first-one second-one third-one") == "*** *** ***"


def test_a_look_for_trouble_notices_a_change(file: Path) -> None:
    secret = of(file)
    secret.reveal()
    before = stamps()
    assert (troubles(), stamps()) == ((), before)
    replace(file, "second-one")
    assert troubles() == ()
    assert stamps()[str(file)] != before[str(file)]


def test_a_file_that_was_prepared_long_ago_is_new_where_it_is_moved_to(file: Path) -> None:
    secret = of(file)
    new = file.with_suffix(".new")
    new.write_text("prepared!")
    os.utime(new, (1, 1))
    new.replace(file)
    assert secret.reveal() == "prepared!"


def test_a_link_that_points_elsewhere_now_is_a_change(tmp_path: Path) -> None:
    """Kubernetes replaces the files of a mounted secret so."""
    for name in "first-version", "second-version":
        (tmp_path / name).mkdir()
        (tmp_path / name / "password").write_text(name)
    link = tmp_path / "data"
    link.symlink_to("first-version")
    secret = of(link / "password")
    assert secret.reveal() == "first-version"
    other = tmp_path / "new"
    other.symlink_to("second-version")
    other.replace(link)
    assert secret.reveal() == "second-version"


@pytest.mark.parametrize("broken", ["", "\n"])
def test_a_half_written_file_is_not_used_and_told(file: Path, broken: str) -> None:
    secret = of(file)
    file.write_text(broken)
    told = f"{file} changed but cannot be used (it is empty or not whole); what it held before is"
    assert secret.reveal() == "first-one"
    assert [each.startswith(told) for each in troubles()] == [True]
    file.write_text("second-one")
    assert (secret.reveal(), troubles()) == ("second-one", ())


def test_half_of_a_certificate_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(PEM.format("one"))
    secret = of(file, pem=True)
    file.write_text(PEM.format("two")[:-12])
    assert (secret.reveal(), len(troubles())) == (PEM.format("one"), 1)
    file.write_text(PEM.format("two") + PEM.format("three"))
    assert (secret.reveal(), troubles()) == (PEM.format("two") + PEM.format("three"), ())


def test_a_file_that_is_gone_is_told(file: Path) -> None:
    secret = of(file)
    file.unlink()
    assert secret.reveal() == "first-one"
    [told] = troubles()
    assert "No such file or directory" in told


def test_bytes_that_are_no_text_are_told(file: Path) -> None:
    secret = of(file)
    file.write_bytes(b"\xff\xfe")
    assert (secret.reveal(), len(troubles())) == ("first-one", 1)


def test_what_is_pickled_is_what_the_file_holds_then(file: Path) -> None:
    secret = of(file)
    replace(file, "second-one")
    arrived = elsewhere(secret)
    file.unlink()
    assert (arrived.reveal(), troubles()) == ("second-one", ())


def test_a_task_sees_a_file_that_changed_since(file: Path) -> None:
    arrived = elsewhere(of(file))
    replace(file, "second-one")
    assert arrived.reveal() == "second-one"


def test_an_older_file_on_another_machine_does_not_count(file: Path) -> None:
    newest = Stamp(Stamp.of(file).changed + 10**9, 0, 0, 0)
    arrived = elsewhere(FileSecret(str(file), "of the driver", newest, here=False))
    assert (arrived.reveal(), troubles()) == ("of the driver", ())


def test_the_next_round_tells_a_process_that_has_not_the_file(file: Path) -> None:
    secret = of(file)
    first = pickle.dumps(secret)
    replace(file, "second-one")
    second = pickle.dumps(secret)
    file.unlink()
    files._FILES.forget()
    old, new = (pickle.loads(each) for each in (first, second))  # noqa: S301, our own bytes
    assert (old.reveal(), new.reveal()) == ("second-one", "second-one")


def test_secrets_of_files_are_equal_by_what_was_read(file: Path) -> None:
    one, other = of(file), of(file)
    assert (one == other, hash(one) == hash(other)) == (True, True)
    replace(file, "second-one")
    assert one == other


def test_another_process_shows_nothing(file: Path) -> None:
    carried = pickle.dumps(of(file)).hex()
    script = f"import pickle; made = pickle.loads(bytes.fromhex({carried!r})); print(made, [made])"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Secret(***) [Secret(***)]\n"
