"""The evaluation of expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from towpath.bloblang.functions import (
    FUNCTIONS,
    METHODS,
    NOTHING,
    BloblangError,
    Value,
    kind_of,
)
from towpath.bloblang.nodes import (
    BinaryOperation,
    Call,
    Field,
    If,
    Items,
    Literal,
    Match,
    MetadataOf,
    Method,
    Node,
    Not,
    This,
)


@dataclass(frozen=True, slots=True)
class MessageScope:
    """The metadata and the value that an expression can read.

    Attributes:
        metadata: The metadata of the message, such as `kafka_topic`.
        this: The value that `this` means.
    """

    metadata: Mapping[str, Value] = field(default_factory=dict)
    this: Value = None


def evaluate(node: Node, scope: MessageScope) -> Value:
    """Return the value of an expression.

    Raises:
        BloblangError: It has none.
    """
    return _KINDS[type(node)](node, scope)


def _metadata(node: MetadataOf, scope: MessageScope) -> Value:
    return scope.metadata.get(node.name) if node.name else dict(scope.metadata)


def _field(node: Field, scope: MessageScope) -> Value:
    of = evaluate(node.of, scope)
    return of.get(node.name) if isinstance(of, dict) else None


def _call(node: Call, scope: MessageScope) -> Value:
    return FUNCTIONS[node.name].made(*(evaluate(each, scope) for each in node.arguments))


def _method(node: Method, scope: MessageScope) -> Value:
    if node.name in {"or", "catch"}:
        return _otherwise(node.of, node.arguments[0], scope, null_too=node.name == "or")
    of = evaluate(node.of, scope)
    return METHODS[node.name].made(of, *(evaluate(each, scope) for each in node.arguments))


def _otherwise(first: Node, second: Node, scope: MessageScope, *, null_too: bool) -> Value:
    try:
        value = evaluate(first, scope)
    except BloblangError:
        return evaluate(second, scope)
    return evaluate(second, scope) if null_too and value is None else value


def _not(node: Not, scope: MessageScope) -> bool:
    return not _truth(node.of, scope)


def _truth(node: Node, scope: MessageScope) -> bool:
    value = evaluate(node, scope)
    if not isinstance(value, bool):
        raise BloblangError(f"true or false is expected, not {kind_of(value)}")
    return value


def _operation(node: BinaryOperation, scope: MessageScope) -> Value:
    match node.operator:
        case "&&":
            return _truth(node.left, scope) and _truth(node.right, scope)
        case "||":
            return _truth(node.left, scope) or _truth(node.right, scope)
        case "|":
            return _otherwise(node.left, node.right, scope, null_too=True)
        case _:
            return _of_values(node, scope)


def _of_values(node: BinaryOperation, scope: MessageScope) -> Value:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if node.operator in {"==", "!="}:
        return _equal(left, right) is (node.operator == "==")
    return _computed(node.operator, left, right)


def _equal(left: Value, right: Value) -> bool:
    left, right = _plain(left), _plain(right)
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _plain(value: Value) -> Value:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


_COMPUTED: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "%": operator.mod, ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip
_OF_TEXTS = frozenset({"+", ">", "<", ">=", "<="})


def _computed(sign: str, left: Value, right: Value) -> Value:
    left, right = _plain(left), _plain(right)
    texts = isinstance(left, str) and isinstance(right, str) and sign in _OF_TEXTS
    if not texts and not (_is_number(left) and _is_number(right)):
        raise BloblangError(f"{sign} between {kind_of(left)} and {kind_of(right)}")
    try:
        return _COMPUTED[sign](left, right)
    except ZeroDivisionError:
        raise BloblangError("division by zero") from None
    except OverflowError:
        raise BloblangError("a number that is too large") from None


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _if(node: If, scope: MessageScope) -> Value:
    for branch in node.branches:
        if _truth(branch.condition, scope):
            return evaluate(branch.then, scope)
    return NOTHING if node.otherwise is None else evaluate(node.otherwise, scope)


def _match(node: Match, scope: MessageScope) -> Value:
    inner = scope if node.of is None else replace(scope, this=evaluate(node.of, scope))
    for case in node.cases:
        if _fits(case.condition, inner):
            return evaluate(case.then, inner)
    return NOTHING


def _fits(case: Node, scope: MessageScope) -> bool:
    if isinstance(case, Literal) and case.value is not True:
        return _equal(scope.this, case.value)
    return _truth(case, scope)


_KINDS: Mapping[type[Node], Callable[..., Value]] = {
    Literal: lambda node, _: node.value,
    Items: lambda node, scope: [evaluate(each, scope) for each in node.items],
    This: lambda _, scope: scope.this,
    MetadataOf: _metadata,
    Field: _field,
    Call: _call,
    Method: _method,
    Not: _not,
    BinaryOperation: _operation,
    If: _if,
    Match: _match,
}
