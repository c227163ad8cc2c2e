"""A side of a run that is in trouble until it does what is asked."""

from __future__ import annotations

import pytest

from towpath.archive.write.run_trouble import Trouble
from towpath.model.errors import StoreAwayError, StoreFullError

AWAY = StoreAwayError("s3://b", "write", "refused")
FULL = StoreFullError("s3://b", "write", "507")


def test_a_trouble_is_told_once_and_tried_again_after_growing_pauses() -> None:
    trouble = Trouble()
    assert not trouble.passed()
    assert [trouble.failed(each, 100.0) for each in (AWAY, AWAY, FULL)] == [True, False, True]
    assert (trouble.why, trouble.failures) == (str(FULL), 3)
    assert trouble.again == pytest.approx(104.0)
    for _ in range(9):
        trouble.failed(FULL, 200.0)
    assert trouble.again == pytest.approx(215.0)
    assert trouble.passed()
    assert (trouble.why, trouble.failures, trouble.again) == ("", 0, 0.0)
    assert not trouble.passed()
