"""Each kind of reason has its sentence, and a reason is the same after a way through JSON."""

from __future__ import annotations

import ast
import json
import pickle
from collections.abc import Iterator
from inspect import Parameter, signature
from pathlib import Path

import pytest

import towpath
from tests.support.ledger.reason_texts import TEXTS
from towpath.model import errors
from towpath.model.reasons import SENTENCES, Reason, ReasonCode, as_data, from_data, sentence


@pytest.mark.parametrize(("reason", "text"), TEXTS.items(), ids=lambda each: str(each)[:30])
def test_each_reason_says_its_sentence_wherever_it_went(reason: Reason, text: str) -> None:
    assert str(reason) == text
    assert from_data(json.loads(json.dumps(as_data(reason)))) == reason
    assert pickle.loads(pickle.dumps(reason)) == reason  # noqa: S301


def test_each_code_has_a_sentence_that_is_shown_above() -> None:
    assert set(SENTENCES) == set(ReasonCode) == {reason.code for reason in TEXTS}


def test_reasons_are_equal_in_whatever_order_their_values_are_given() -> None:
    one = Reason.of(ReasonCode.OFFSET_TAKEN, found=11, expected=10)
    assert one == Reason.of(ReasonCode.OFFSET_TAKEN, expected=10, found=11)
    assert len({one, Reason.of(ReasonCode.OFFSET_TAKEN, expected=10, found=11)}) == 1


def test_several_reasons_are_one_sentence() -> None:
    assert sentence(()) == ""
    both = (Reason.of(ReasonCode.ASKED_FOR), Reason.of(ReasonCode.TARGET_NOT_EMPTY, end=7))
    assert sentence(both) == f"{both[0]}; {both[1]}"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"code": "LATER"},
        {"code": "SOURCE_CUT"},
        {"code": "SOURCE_CUT", "end": 5, "later": 6},
        {"code": "GAP", "first": 1, "last": 2, "why": {"code": "LATER"}},
    ],
)
def test_what_another_version_knows_more_of_is_none(data: dict[str, object]) -> None:
    assert from_data(data) is None


def test_every_error_that_can_be_a_reason_keeps_its_code() -> None:
    def below(cls: type[errors.TowpathError]) -> Iterator[type[errors.TowpathError]]:
        yield cls
        for each in cls.__subclasses__():
            yield from below(each)

    assert {each.code for each in below(errors.UnreachableError)} <= set(ReasonCode)
    for error in (
        errors.TargetLostError("a-0", 10, 5),
        errors.DoubledError("a-0", 10, 20, 7),
        errors.TargetReplacedError("orders"),
    ):
        assert (str(error.reason.code), str(error.reason)) == (error.code, str(error))


def uses() -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of `Reason.of` in the source, with the name of its code."""
    for path in Path(towpath.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "Reason.of(" in text else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(ast.Name("Reason"), "of"),
                    args=[ast.Attribute(ast.Name("ReasonCode"), name), *_],
                ):
                    yield name, node
                case _:
                    pass


def test_reasons_are_made_with_the_values_that_their_sentence_takes() -> None:
    found = list(uses())
    assert len(found) >= 4
    for name, call in found:
        taken = signature(SENTENCES[ReasonCode[name]]).parameters.values()
        given = {each.arg for each in call.keywords}
        assert given <= {each.name for each in taken}, ast.unparse(call)
        assert {e.name for e in taken if e.default is Parameter.empty} <= given, ast.unparse(call)
