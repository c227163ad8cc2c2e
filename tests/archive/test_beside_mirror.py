"""An archive and a mirror of the same cluster run side by side, and neither disturbs the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.chaos import same_records
from tests.support.here import Here
from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror

pytestmark = [pytest.mark.broker, pytest.mark.soak]
NewName = Callable[[str], str]
ROUNDS, EACH = 3, 200


@pytest.mark.spark
def test_both_have_all_that_is_written_while_they_run(
    source: SharedCluster, target: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("both"))
    mirror.create()
    assert mirror.config.topics.include  # the file of the link is written
    link = mirror.folder / f"{mirror.topic}.yaml"
    (folder := tmp_path / "archive").mkdir()
    limits = {"max_messages": 50, "max_age": "1s"}
    archive = Archive(folder, source, mirror.topic, segments=limits)
    run = archive.start()
    try:
        for number in range(ROUNDS):
            records = [Record(b"%d" % n, b"%d" % number) for n in range(EACH)]
            produce(source.bootstrap, mirror.topic, records)
            copied = here.run(str(link), "--until-caught-up")
            assert copied.code == 0, copied.said
            archive.wait_for(run, mirror.topic, (number + 1) * EACH)
        assert "run.trouble" not in run.said, run.said[-6000:]
    finally:
        run.interrupt() if run.running else None
        run.close()
    written = consume(source.bootstrap, mirror.topic)
    assert len(written) == ROUNDS * EACH
    same_records(written, consume(target.bootstrap, mirror.topic), mirror.topic)
    verified = here.on_spark("archive", "verify", str(archive.file), "--against", "source")
    assert verified.code == 0, verified.said
