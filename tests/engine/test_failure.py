"""What a failed Spark job says. Pure."""

from __future__ import annotations

from towpath.engine.failure import of_spark
from towpath.model.errors import ClusterError


def test_our_own_sentence_is_found_in_the_text_of_spark() -> None:
    text = """[STREAM_FAILED] Query terminated with exception: Traceback (most recent call last):
  File "copy.py", line 1, in copy
towpath.cluster.connect.login.SecurityError: source: localhost:9 did not take the login"""
    error = of_spark(RuntimeError(text))
    assert isinstance(error, ClusterError)
    assert str(error) == "source: localhost:9 did not take the login"


def test_what_is_none_of_ours_is_told_by_its_first_line() -> None:
    error = of_spark(RuntimeError("Job aborted.\n  at org.apache.spark"))
    assert (type(error).__name__, str(error)) == ("TowpathError", "Spark failed: Job aborted.")
    assert str(of_spark(RuntimeError(""))) == "Spark failed: RuntimeError"
