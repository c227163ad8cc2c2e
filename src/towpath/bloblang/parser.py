"""The parser of expressions and mappings.

Operators bind as in Connect (benthos, internal/bloblang/query/arithmetic.go): `|` as tightly as
`*`, all comparisons alike, and `&&` and `||` alike, each from left to right.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, UnexpectedToken, VisitError

from towpath.bloblang.functions import FUNCTIONS, METHODS
from towpath.bloblang.nodes import (
    BinaryOperation,
    Branch,
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
    Statement,
    This,
)

_GRAMMAR = r"""
mapping: statement+
statement: "root" "=" query                  -> root
         | "meta" (NAME | STRING) "=" query  -> metadata_of
         | "let" NAME "=" query              -> variable
         | "root" ("." (NAME | STRING))+ "=" query -> below

?query: condition
?condition: comparison
          | condition (AND | OR) comparison     -> operation
?comparison: sum
           | comparison COMPARED sum            -> operation
?sum: product
    | sum (PLUS | MINUS) product                -> operation
?product: signed
        | product (TIMES | PIPE) signed         -> operation
?signed: MINUS value                            -> negative
       | "!" value                              -> opposite
       | value
?value: atom
      | value "." NAME                          -> field
      | value "." STRING                        -> field
      | value "." NUMBER                        -> element
      | value "." NAME "(" arguments ")"        -> method
?atom: STRING                                   -> text
     | NUMBER                                   -> number
     | "true"                                   -> yes
     | "false"                                  -> no
     | "null"                                   -> nothing
     | "this"                                   -> this
     | "@"                                      -> all_metadata
     | "@" (NAME | STRING)                      -> metadata
     | NAME "(" arguments ")"                   -> call
     | NAME                                     -> bare
     | "[" arguments "]"                        -> items
     | "(" query ")"
     | choice
     | match
arguments: [query ("," query)* [","]]
choice: "if" query "{" query "}" ("else" "if" query "{" query "}")* ["else" "{" query "}"]
match: "match" [query] "{" case (","? case)* ","? "}"
case: query "=>" query

AND: "&&"
OR: "||"
COMPARED: ">=" | "<=" | "==" | "!=" | ">" | "<"
PLUS: "+"
MINUS: "-"
TIMES: "*" | "/" | "%"
PIPE: "|"
NAME: /[A-Za-z_][A-Za-z0-9_]*/
NUMBER: /\d+(\.\d+)?/
STRING: /"{3}[\s\S]*?"{3}/ | /"(\\.|[^"\\\n])*"/
COMMENT: /#[^\n]*/
%ignore /\s+/
%ignore COMMENT
"""

_DEEP = "the expression is nested too deeply"


def parse_query(text: str) -> Node:
    """Parse an expression such as `@kafka_topic.uppercase()`.

    Raises:
        ValueError: It is none, or has a function or method that is not known here.
    """
    query: Node = _parsed(text, "query")
    return query


def parse_mapping(text: str) -> tuple[Statement, ...]:
    """Parse a mapping such as `root = if @kafka_key == "x" { deleted() }`.

    Raises:
        ValueError: It is none, or has a function or method that is not known here.
    """
    statements: tuple[Statement, ...] = _parsed(text, "mapping")
    return statements


@cache
def _lark() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", start=["query", "mapping"], maybe_placeholders=False)


def _parsed(text: str, start: str) -> Any:
    try:
        return _Tree().transform(_lark().parse(text, start=start))
    except UnexpectedInput as error:
        raise ValueError(_told(text, error)) from None
    except VisitError as error:
        deep = isinstance(error.orig_exc, RecursionError)
        raise ValueError(_DEEP if deep else str(error.orig_exc)) from None
    except RecursionError:
        raise ValueError(_DEEP) from None


def _told(text: str, error: UnexpectedInput) -> str:
    place = error.pos_in_stream
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return "the expression ends too early"
    rest = text[place:].split("\n", 1)[0]
    return f"the expression is not understood from {rest[:30]!r} on"


class _Tree(Transformer[Token, Any]):
    """Makes nodes of what the grammar found."""

    def mapping(self, found: list[Statement]) -> tuple[Statement, ...]:
        return tuple(found)

    def root(self, found: list[Any]) -> Statement:
        return Statement("root", found[-1])

    def metadata_of(self, found: list[Any]) -> Statement:
        return Statement(f"meta {_name(found[0])}", found[-1])

    def variable(self, found: list[Any]) -> Statement:
        return Statement(f"let {found[0]}", found[-1])

    def below(self, found: list[Any]) -> Statement:
        return Statement(".".join(["root", *map(_name, found[:-1])]), found[-1])

    def operation(self, found: list[Any]) -> BinaryOperation:
        left, operator, right = found
        return BinaryOperation(str(operator), left, right)

    def negative(self, found: list[Any]) -> BinaryOperation:
        return BinaryOperation("-", Literal(0), found[-1])

    def opposite(self, found: list[Any]) -> Not:
        return Not(found[0])

    def field(self, found: list[Any]) -> Field:
        return Field(found[0], _name(found[1]))

    def element(self, found: list[Any]) -> Method:
        of, number = found
        if not number.isdecimal():
            raise ValueError(f"{number} is no place in a list; write one number behind each point")
        return Method(of, "index", (Literal(int(number)),))

    def method(self, found: list[Any]) -> Method:
        of, name, arguments = found
        METHODS.require(str(name), len(arguments))
        return Method(of, str(name), arguments)

    def call(self, found: list[Any]) -> Call | MetadataOf:
        name, arguments = found
        FUNCTIONS.require(str(name), len(arguments))
        if name in {"meta", "metadata"}:
            return _metadata(str(name), arguments)
        return Call(str(name), arguments)

    def text(self, found: list[Token]) -> Literal:
        return Literal(_text(found[0]))

    def number(self, found: list[Token]) -> Literal:
        return Literal(float(found[0]) if "." in found[0] else int(found[0]))

    def yes(self, _: list[Any]) -> Literal:
        return Literal(value=True)

    def no(self, _: list[Any]) -> Literal:
        return Literal(value=False)

    def nothing(self, _: list[Any]) -> Literal:
        return Literal(None)

    def this(self, _: list[Any]) -> This:
        return This()

    def all_metadata(self, _: list[Any]) -> MetadataOf:
        return MetadataOf("")

    def metadata(self, found: list[Token]) -> MetadataOf:
        return MetadataOf(_name(found[0]))

    def bare(self, found: list[Token]) -> Node:
        """Return what a name alone means: a field of `this`, or the case that always fits."""
        return Literal(value=True) if found[0] == "_" else Field(This(), str(found[0]))

    def items(self, found: list[Any]) -> Items:
        return Items(found[0])

    def arguments(self, found: list[Node]) -> tuple[Node, ...]:
        return tuple(found)

    def case(self, found: list[Node]) -> Branch:
        return Branch(*found)

    def match(self, found: list[Node]) -> Match:
        of = None if isinstance(found[0], Branch) else found[0]
        return Match(of, tuple(each for each in found if isinstance(each, Branch)))

    def choice(self, found: list[Node]) -> If:
        pairs = zip(found[::2], found[1::2], strict=False)
        otherwise = found[-1] if len(found) % 2 else None
        return If(tuple(Branch(*pair) for pair in pairs), otherwise)


def _metadata(name: str, arguments: tuple[Node, ...]) -> MetadataOf:
    if not arguments:
        return MetadataOf("")
    first = arguments[0]
    if not isinstance(first, Literal) or not isinstance(first.value, str):
        raise ValueError(  # noqa: TRY004, what is wrong is the text
            f'{name}() needs a name in quotes, such as {name}("kafka_topic")'
        )
    return MetadataOf(first.value)


def _name(token: Token) -> str:
    return _text(token) if token.type == "STRING" else str(token)


def _text(token: Token) -> str:
    """Return the text of a literal; the escapes are those of JSON."""
    if token.startswith('"""'):
        return str(token)[3:-3]
    try:
        text: str = json.loads(token)
    except ValueError:
        raise ValueError(f"{token} has an unknown escape") from None
    return text
