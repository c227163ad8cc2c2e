"""Secrets stay secret; errors survive a pickle, as Spark hands them on."""

from __future__ import annotations

import pickle

import pytest

from tests.support.ledger.reasons import told
from towpath.model import errors
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline

ERRORS = [
    errors.ConfigError(
        (errors.ConfigProblem("a.b", "is wrong"), errors.ConfigProblem("", "and so is this"))
    ),
    errors.UnreachableError("source", "asking", "no answer", "look at it"),
    errors.RefusedError("target", "creating topic x", 38, "INVALID_REPLICATION_FACTOR", "set it"),
    errors.NewerLedgerError(2, 1),
    errors.NewerLinkError("l", "0.3.0", 2, 1),
    errors.LinkBusyError("l", "on host"),
    errors.CorruptBatchError("why"),
    errors.TargetLostError("orders-0", 10, 5),
    errors.DoubledError("orders-0", 10, 20, 7),
    errors.TargetReplacedError("orders"),
    errors.NotIdenticalError("orders-0", told("why")),
    errors.SparkLostError(),
    errors.SparkStartError("all masters are silent"),
    errors.SparkUnencryptedError("yarn", ("spark.authenticate true", "b true")),
]
SENTENCES = [
    "a.b: is wrong\nand so is this",
    "source: asking: no answer; look at it",
    "target: creating topic x: INVALID_REPLICATION_FACTOR (38); set it",
    "the ledger on the target was written in format 2, this program knows up to 1; use the Towpath"
    " that wrote it, or a newer one",
    "link l was last used by Towpath 0.3.0 and needs feature level 2 of the ledger; this program"
    " knows up to 1; use Towpath 0.3.0 or newer for this link",
    "link l is already running (on host); a link has one run at a time: to run it here instead,"
    " stop that run first (Ctrl-C or SIGTERM), then try again",
    "corrupt record batch: why",
    "target: orders-0 lost records that it had acknowledged: sequence 9 was acknowledged, and the"
    " log ends at sequence 4 (a lost disk, an unclean leader election, a power cut, a restored"
    " snapshot?); stop the run, then `towpath repair` says whether it can copy them again, and what"
    " to do if it cannot",
    "target: orders-0 holds 7 records twice: the second copy lies at offsets 10 to 19; a copier"
    " that had been frozen or cut off wrote it after the target had forgotten the producer id;"
    " nothing more is copied to this partition; delete the topic on the target to have all of it"
    " copied again",
    "target: topic orders was deleted and created again while it was written; the next round or"
    " run copies it again",
    "orders-0: offsets cannot stay identical: why; set `records.offsets: auto` to have this"
    " partition mapped",
    "Spark's JVM ended all at once (killed, or out of memory: look into the system's log); run the"
    " command again, it goes on where this one stood",
    "Spark did not start: all masters are silent; check `--master` and that cluster, Java"
    " (`java -version`), and Spark's own settings",
    "the file holds credentials, and Spark at yarn would not keep them encrypted; set"
    " `spark.authenticate true` and `b true` in spark-defaults.conf, also for the daemons of that"
    " cluster (docs/security.md)",
]


@pytest.mark.parametrize(("error", "sentence"), [*zip(ERRORS, SENTENCES, strict=True)])
def test_errors_say_the_same_after_a_pickle(error: errors.TowpathError, sentence: str) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(error) == str(again) == sentence
    assert type(again) is type(error)


def test_what_a_target_lost_may_be_told_by_offset() -> None:
    lost = pickle.loads(pickle.dumps(errors.TargetLostError("orders-0", 10, 5, "offset")))  # noqa: S301
    assert "offset 9 was acknowledged, and the log ends at offset 4" in str(lost)


def test_codes_are_all_different() -> None:
    codes = [type(error).code for error in ERRORS]
    assert len(set(codes)) == len(codes)


def test_a_secret_shows_nothing_but_to_those_who_ask() -> None:
    secret = Secret("hunter2")
    shown = f"{secret} {secret!r} {secret:>20}" + str([secret])
    assert "hunter2" not in shown
    assert secret.reveal() == "hunter2"
    assert pickle.loads(pickle.dumps(secret)) == secret  # noqa: S301


def test_a_deadline_passes() -> None:
    assert Deadline.after(-1).over
    assert Deadline.after(-1).left() == 0
    assert 0 < Deadline.after(60).left() <= 60
