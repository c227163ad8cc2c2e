"""Mappings that drop records, as drop rules of a link. Pure.

A condition is a function of what is asked of the topic, which decides which entry of `changes`
holds, and of what is asked of the record, which becomes rules: all conditions of a rule must hold,
and one rule is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from towpath.bloblang.nodes import (
    BinaryOperation,
    Call,
    Field,
    If,
    Literal,
    Match,
    MetadataOf,
    Method,
    Node,
    Not,
    Statement,
    This,
    with_metadata,
)
from towpath.mirror.connect.metadata import NONE_SET
from towpath.mirror.connect.values import whole_name

_KEY = "kafka_key"
_TIMES = {"kafka_timestamp_ms": 1, "kafka_timestamp_unix": 1000}
"""Metadata with the time of a record, and its unit in milliseconds."""
_LAST = 253_402_300_799_000
"""The end of the year 9999 in milliseconds since 1970."""
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MOST_TOPICS, _MOST_RULES = 4, 100

Rule = dict[str, Any]
"""What a drop rule of a link's file has; times are in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """Topics with the rules by which their records are dropped.

    Attributes:
        topics: A regular expression for whole names.
        rules: The rules.
        whole: Whether every record is dropped.
    """

    topics: str
    rules: tuple[Rule, ...] = ()
    whole: bool = False


def drops_of(
    statements: Sequence[Statement], known: Mapping[str, Node] = NONE_SET
) -> tuple[Node, ...]:
    """Return the conditions under which a mapping drops records.

    Args:
        statements: The mapping.
        known: The metadata that mappings before it have set.

    Raises:
        ValueError: It does something else than dropping records.
    """
    conditions: list[Node] = []
    for each in statements:
        kind, _, name = each.target.partition(" ")
        if kind == "root":
            conditions += _dropping(each.value)
        elif kind != "meta" or name.startswith("kafka_"):
            text = f"`{each.target} = ...` changes records; see `changes` of our file"
            raise ValueError(text)
    return tuple(with_metadata(each, known) for each in conditions)


def _dropping(value: Node) -> Iterator[Node]:
    """Yield the conditions under which a value for `root` means that the record is dropped."""
    match value:
        case Call("deleted"):
            yield Literal(value=True)
        case If(branches, otherwise):
            yield from _branches(
                [(each.condition, each.then) for each in branches], otherwise or This()
            )
        case Match(None, cases):
            yield from _branches([(each.condition, each.then) for each in cases], This())
        case _:
            _require_kept(value)


def _require_kept(value: Node) -> None:
    if not _keeps(value):
        raise ValueError("`root = ...` changes records; only `deleted()` is known here")


def _branches(branches: Iterable[tuple[Node, Node]], otherwise: Node) -> Iterator[Node]:
    before: list[Node] = []
    for condition, then in (*branches, (Literal(value=True), otherwise)):
        for inner in _dropping(then):
            yield _all((*map(Not, before), condition, inner))
        before.append(condition)


def _all(nodes: Iterable[Node]) -> Node:
    made: Node = Literal(value=True)
    for each in nodes:
        made = each if made == Literal(value=True) else BinaryOperation("&&", made, each)
    return made


def _keeps(value: Node) -> bool:
    is_root = value == Field(This(), "root")
    return isinstance(value, This) or is_root or value == Call("nothing", ())


def filtered(conditions: Sequence[Node]) -> tuple[Filtered, ...]:
    """Return the drop rules by topic for which one of the conditions holds.

    Raises:
        ValueError: A condition asks for something that no rule can.
    """
    asked = list(dict.fromkeys(each for node in conditions for each in _of_topics(node)))
    if len(asked) > _MOST_TOPICS:
        raise ValueError(f"asks for more than {_MOST_TOPICS} things of the topic")
    made = []
    for truths in product((True, False), repeat=len(asked)):
        known = dict(zip(asked, truths, strict=True))
        rules = [rule for node in conditions for rule in _rules(node, known, wanted=True)]
        if len(rules) > _MOST_RULES:
            raise ValueError(f"would take more than {_MOST_RULES} rules")
        if rules:
            whole = any(not rule for rule in rules)
            made.append(Filtered(_names(known), () if whole else _distinct(rules), whole))
    return tuple(made)


def _distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple({repr(rule): rule for rule in rules}.values())


def _names(known: Mapping[Node, bool]) -> str:
    """Return the expression for the names of topics for which the answers are these."""
    looks = (f"(?{'=' if truth else '!'}{_expression_of(node)}$)" for node, truth in known.items())
    return "".join(looks) + ".*"


def _of_topics(node: Node) -> Iterator[Node]:
    """Yield the questions about the topic in a condition."""
    return (each for each in map(_asked, node.parts()) if _expression_of(each) is not None)


def _asked(node: Node) -> Node:
    """Return the question whose answer a comparison is, or the opposite of."""
    if isinstance(node, BinaryOperation) and node.operator == "!=":
        return BinaryOperation("==", node.left, node.right)
    return node


def _expression_of(node: Node) -> str | None:
    """Return the expression for topics for which a question is true, `None` for other nodes."""
    match node:
        case BinaryOperation("==", MetadataOf("kafka_topic"), Literal(str(text))) | BinaryOperation(
            "==", Literal(str(text)), MetadataOf("kafka_topic")
        ):
            return re.escape(text)
        case Method(MetadataOf("kafka_topic"), name, (Literal(str(text)),)):
            forms = {
                "has_prefix": f"{re.escape(text)}.*",
                "has_suffix": f".*{re.escape(text)}",
                "contains": f".*{re.escape(text)}.*",
            }
            return whole_name(text) if name == "re_match" else forms.get(name)
        case _:
            return None


def _rules(node: Node, known: Mapping[Node, bool], *, wanted: bool) -> list[Rule]:
    """Return rules of which one holds just where a condition is `wanted`; `{}` holds always."""
    if node in known:
        return [{}] if known[node] is wanted else []
    match node:
        case Literal(bool(value)):
            return [{}] if value is wanted else []
        case Not(of):
            return _rules(of, known, wanted=not wanted)
        case BinaryOperation("&&" | "||" as sign, left, right):
            both = (sign == "&&") is wanted
            parts = [_rules(each, known, wanted=wanted) for each in (left, right)]
            return _joined(*parts) if both else [*parts[0], *parts[1]]
        case BinaryOperation("!=") if _asked(node) in known:
            return _rules(_asked(node), known, wanted=not wanted)
        case _:
            return [_rule(node, wanted=wanted)]


def _joined(first: Iterable[Rule], second: Sequence[Rule]) -> list[Rule]:
    return [_both(one, two) for one in first for two in second]


def _both(one: Rule, two: Rule) -> Rule:
    """Return the rule for which both hold.

    Raises:
        ValueError: A rule has room for one such condition only.
    """
    made = {**one, **two}
    for key in one.keys() & two.keys():
        if one[key] == two[key]:
            continue
        if key == "before":
            made[key] = min(one[key], two[key])
        elif key == "since":
            made[key] = max(one[key], two[key])
        else:
            raise ValueError(f"asks for two things of one {key} at once, which no rule can")
    return made


def _rule(node: Node, *, wanted: bool) -> Rule:
    """Return the rule for a question about a record.

    Raises:
        ValueError: No rule can ask it.
    """
    match node:
        case MetadataOf("kafka_tombstone_message") if wanted:
            return {"tombstones": True}
        case BinaryOperation("==", MetadataOf("kafka_tombstone_message"), Literal(bool(value))):
            return _rule(node.left, wanted=wanted is value)
        case BinaryOperation(sign, MetadataOf(name), Literal(int(number))) if name in _TIMES:
            return _of_time(sign if wanted else _OPPOSITE.get(sign, ""), number, _TIMES[name])
        case BinaryOperation("!=", MetadataOf(name), Literal(None)) if wanted and _free(name):
            return {"header": {"name": name}}
        case BinaryOperation("==", of, Literal(str(text))) if wanted:
            return _of_bytes(_plain(of), "equals", text)
        case Method(of, "has_prefix", (Literal(str(text)),)) if wanted:
            return _of_bytes(_plain(of), "prefixes", text)
        case _:
            raise ValueError(
                "asks for something that drop rules of a link cannot: known are the topic, the key"
                " or a header equal to a text or with a prefix, a header that is there, a"
                " tombstone, and the timestamp beside a number"
            )


def _plain(node: Node) -> Node:
    """Return what a value without its `or("")` or `string()` is."""
    match node:
        case Method(of, "or", (Literal(""),)) | Method(of, "string", ()):
            return of
        case _:
            return node


def _free(name: str) -> bool:
    return bool(name) and not name.startswith("kafka_")


def _of_bytes(of: Node, how: str, text: str) -> Rule:
    if of == MetadataOf(_KEY):
        return {"key": {how: [text]}}
    if isinstance(of, MetadataOf) and _free(of.name):
        return {"header": {"name": of.name, how: [text]}}
    raise ValueError("compares something else than the key or a header with a text")


def _of_time(sign: str, number: int, unit: int) -> Rule:
    if not 0 <= number * unit < _LAST:
        raise ValueError(f"{number} is no time of this age")
    match sign:
        case "<":
            return {"before": number * unit}
        case "<=":
            return {"before": (number + 1) * unit}
        case ">=":
            return {"since": number * unit}
        case ">":
            return {"since": (number + 1) * unit}
        case _:
            raise ValueError("compares a timestamp by something else than <, <=, > or >=")
