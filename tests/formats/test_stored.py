"""What users have stored keeps its form: each kind of it is read, continued and proven.

`samples/` was written by the code of the commit that `make_samples` names, before the program's
modules were put into other packages. Further samples may join them; none is changed.
"""

from __future__ import annotations

import json
import shutil
import tarfile
import threading
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.support.archive.compacting import compacted, held_records
from tests.support.archive.stored import StoredArchive, old_records
from towpath.archive.read.verify.content import check
from towpath.archive.read.verify.findings import CheckedArchive, VerifyScope
from towpath.archive.read.verify.verify import verify
from towpath.engine import packages
from towpath.kraft.errors import KraftJournalError
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.ledger import entries
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import coding
from towpath.mirror.subjects import SUBJECTS
from towpath.model.nouns import LinkName, TopicName, TopicPartition
from towpath.plan.saved import load_plan, save

SAMPLES = Path(__file__).parent / "samples"
LEDGER = [line.split(b"\t") for line in (SAMPLES / "ledger.tsv").read_bytes().splitlines()]
LINK = LinkName("orders-to-new")
ORDERS = TopicPartition(TopicName("orders"), 0)


def test_the_ledger_has_a_sample_of_each_kind() -> None:
    kinds = {each.kind for each in get_args(coding.Written)}
    assert {json.loads(key)[0] for key, _ in LEDGER} == kinds


@pytest.mark.parametrize(("key", "value"), LEDGER, ids=[json.loads(key)[0] for key, _ in LEDGER])
def test_an_entry_of_the_ledger_is_read_and_written_as_it_was(key: bytes, value: bytes) -> None:
    entry = entries.decode(key, value)
    assert entry is not None
    assert not isinstance(entry, entries.Unreadable)
    sample, (its_key, its_value) = json.loads(value), entries.encode(entry)
    written = json.loads(its_value or b"")
    # Fields that later versions added stand there with their defaults.
    assert (its_key, _as_then(written, sample)) == (key, sample)


def _as_then(written: Any, sample: Any) -> Any:
    """Return what is written now without the fields that the sample does not have."""
    if isinstance(sample, dict):
        return {name: _as_then(written[name], of) for name, of in sample.items()}
    if isinstance(sample, list) and len(written) == len(sample):
        return [_as_then(*pair) for pair in zip(written, sample, strict=True)]
    return written


def test_the_books_of_a_link_go_on_from_its_ledger() -> None:
    books = LinkBooks(LINK)
    for key, value in LEDGER:
        if json.loads(key)[1] == LINK:
            entry = entries.decode(key, value)
            assert entry is not None
            books.take(entry)
    known = books.of(ORDERS)
    assert (known.opened is not None, len(known.gaps), len(known.standing)) == (True, 1, 1)
    assert known.receipt is not None
    assert (known.receipt.source_end, known.receipt.records) == (10, 10)
    assert known.cut is not None
    assert [entry.do for entry in books.journal.values()] == ["SetConfigs"]


def test_a_saved_plan_is_read_and_saved_as_it_was(tmp_path: Path) -> None:
    written = json.loads((SAMPLES / "plan.json").read_text())
    found = load_plan(SAMPLES / "plan.json", SUBJECTS.kinds)
    assert {type(step) for step in found.plan.steps} == {kind.step for kind in SUBJECTS.kinds}
    assert found.digest == written["digest"]
    yaml = tmp_path / "gold.yaml"
    yaml.write_text(json.dumps(written["config"]))
    save(found.plan, yaml, tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    changing = {"made", "file", "digest", "towpath"}
    assert list(again) == list(written)
    assert [again[name] for name in again if name not in changing] == [
        written[name] for name in written if name not in changing
    ]


@pytest.fixture
def archive(tmp_path: Path) -> StoredArchive:
    """An archive of two topics: both formats, gaps, two histories, a compaction, a checkpoint."""
    made = StoredArchive(tmp_path, "shop", "127.0.0.1:1", {"grace": "0s"})
    with tarfile.open(SAMPLES / "archive.tar.gz") as samples:
        samples.extractall(Path(made.url.removeprefix("file:")), filter="data")
    return made


def proven(archive: StoredArchive) -> CheckedArchive:
    """Read each object, and return what was found."""
    return verify(
        archive.config(),
        VerifyScope(deep=True),
        lambda slices, _: (found for each in slices for found in check(each)),
        lambda *_: None,
        threading.Event(),
    )


def records(archive: StoredArchive) -> dict[str, list[int]]:
    """The offsets of the records of each partition, read from its objects."""
    state = archive.log.state
    return {
        f"{each.topic_id} {each.partition}": [
            found.record.offset for found in held_records(archive.store, state, each)
        ]
        for each in state.partitions
    }


HELD = {
    "id-orders 0": [each for each in range(29) if each not in {12, 13}],
    "id-orders 1": [*range(6)],
    "id-orders~1 1": [*range(3, 12)],
    "id-pay 0": [*range(9)],
}


def test_an_archive_is_read_and_proven(archive: StoredArchive) -> None:
    assert records(archive) == HELD
    found = proven(archive)
    assert (found.problems, found.orphans, found.version) == ([], (0, 0), 11)
    assert (found.unsummed_entries, found.unsummed_checkpoints) == (0, 0)
    assert {
        f"{each.topic_id} {each.partition}": part.records for each, part in found.partitions.items()
    } == {name: len(offsets) for name, offsets in HELD.items()}


def test_an_archive_is_continued_compacted_and_proven_again(archive: StoredArchive) -> None:
    store = archive.store
    before = {each.key: store.get(each.key) for each in store.list("eu/_log/0")}
    archive.put("orders", old_records(7, 30))
    archive.put("pay", old_records(3, 9))
    done = compacted(archive.config())
    assert (done.failed, done.read >= 4) == ({}, True)
    archive.log.checkpoint()
    found = proven(archive)
    assert (found.problems, found.orphans) == ([], (0, 0))
    assert records(archive) == HELD | {
        "id-orders 0": [*HELD["id-orders 0"], *range(30, 37)],
        "id-pay 0": [*range(12)],
    }
    assert {key: store.get(key) for key in before} == before
    assert found.version > 11


def test_a_journal_of_a_migration_to_kraft_is_read_and_continued(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "kraft", tmp_path / "kraft")
    journal = KraftJournal(tmp_path / "kraft")
    told = journal.entries()
    assert {each.event for each in told} == set(KraftEvent)
    assert journal.probes == ("towpath-kraft-probe-2",)
    assert (journal.proven.probed, journal.proven.stopped) == (7, None)
    assert journal.proven.finalizing
    assert journal.proven.equal_since is not None
    with pytest.raises(KraftJournalError, match="of cluster mine, and this is cluster other"):
        journal.belong_to("other")
    journal.belong_to("mine")
    (kept,) = (each.facts for each in told if each.event is KraftEvent.KEPT)
    data = (tmp_path / "kraft" / "kept" / kept["file"]).read_bytes()
    assert journal.keep(1, kept["name"], data) == kept["file"], "it was kept a second time"
    journal.add(KraftEvent.PROBE_GONE, topic="towpath-kraft-probe-2")
    assert KraftJournal(tmp_path / "kraft").probes == ()
    before = (SAMPLES / "kraft" / "journal.jsonl").read_bytes()
    assert (tmp_path / "kraft" / "journal.jsonl").read_bytes().startswith(before)


def test_packages_for_workers_have_the_names_that_they_had(monkeypatch: pytest.MonkeyPatch) -> None:
    path = SAMPLES / "packages.tar.gz"
    with tarfile.open(path) as packed:
        names = packed.getnames()
        manifest = packed.extractfile("towpath.json")
        launcher = packed.extractfile("bin/python")
        assert manifest is not None
        assert launcher is not None
        facts = json.load(manifest)
        text = launcher.read().decode()
    assert names[:2] == [packages.MANIFEST, packages.PYTHON]
    assert {name.split("/")[0] for name in names[2:]} == {packages.PACKAGES}
    monkeypatch.setattr(packages, "SUFFIX", facts["suffix"])  # that of the Python which packed it
    monkeypatch.setattr(packages, "__version__", facts["towpath"])
    assert packages.check(str(path)) == str(path)
    lines, now = text.splitlines(), packages.launcher_text().splitlines()
    assert [line for line in lines if "python3" not in line] == [
        line for line in now if "python3" not in line
    ]
