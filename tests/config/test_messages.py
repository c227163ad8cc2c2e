"""Every message that a wrong file can cause, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.config import LinkConfig, check, load
from towpath.config.document import path_text
from towpath.config.shape import walk
from towpath.model.errors import ConfigError

Write = Callable[[str], Path]

TOP = ("source", "target", "link", "topics", "records", "access", "prune", "run", "metrics")
PARTS = {
    "source": '{bootstrap: "a:9092"}',
    "target": '{bootstrap: "b:9092"}',
    "link": "orders",
    "topics": '{include: ["orders"]}',
}
MECHANISMS = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM, GSSAPI"
COLON = "a colon is missing behind the key"
HOW = "a secret is never written into the file; write env:NAME, file:PATH or ${NAME}"


def with_part(key: str, value: str) -> str:
    parts = {**PARTS, key: value}
    return "".join(f"{name}: {text}\n" for name, text in parts.items())


def plain(rest: str) -> str:
    return f'{{bootstrap: "a:1", sasl: {{mechanism: PLAIN, {rest}}}}}'


def oauth(rest: str) -> str:
    return f'{{bootstrap: "a:1", sasl: {{mechanism: OAUTHBEARER, {rest}}}}}'


VALUES = [
    # link
    ("link", "[a]", "link: must be a text, not a list"),
    ("link", "{a: b}", "link: must be a text, not a mapping"),
    ("link", "5", "link: must be a text, not a number; put it in quotes"),
    ("link", "true", "link: must be a text, not true or false; put it in quotes"),
    ("link", '"my link"', "link: must be 1 to 100 letters, digits, '.', '_' or '-'"),
    ("link", "a" * 101, "link: must be 1 to 100 letters, digits, '.', '_' or '-'"),
    ("link", "", "link: has no value; give it one, or remove the key"),
    ("link", "!x y", "link: a value that begins with ! must stand in quotes"),
    ("link", "!!int y", "link: does not fit the tag (!!) before it; remove the tag"),
    ("link", "${TOWPATH_UNSET}", "link: variable TOWPATH_UNSET is not set in the environment"),
    (
        "link",
        "${NO NAME}",
        "link: the name of a variable is made of letters, digits and _",
    ),
    # bootstrap
    ("source", "a:9092", "source: must be a mapping of keys to values, not a text"),
    ("source", "{}", "source.bootstrap: is required"),
    ("source", "{bootstrap: []}", "source.bootstrap: needs at least one entry"),
    ("source", "{bootstrap: 5}", "source.bootstrap: must be a list, such as [a, b], not a number"),
    (
        "source",
        '{bootstrap: "a:1,b"}',
        "source.bootstrap[1]: 'b' is not HOST:PORT, such as broker1:9092",
    ),
    (
        "source",
        '{bootstrap: "::1:9092"}',
        "source.bootstrap[0]: '::1:9092' is not HOST:PORT, such as broker1:9092;"
        " an IPv6 address stands in brackets, such as [::1]:9092",
    ),
    (
        "source",
        '{bootstrap: "[1:2:3]:9092"}',
        "source.bootstrap[0]: '1:2:3' is not an IPv6 address",
    ),
    (
        "source",
        '{bootstrap: ["a:65536"]}',
        "source.bootstrap[0]: 'a:65536': a port is a number from 1 to 65535",
    ),
    (
        "source",
        '{bootstrap: "kafka://a:1"}',
        "source.bootstrap[0]: is a URL; write HOST:PORT alone, and security as tls and sasl",
    ),
    (
        "source",
        '{bootstrap: "a:1", request_timeout: 5}',
        "source.request_timeout: 5 has no unit; write one of ms, s, m, h, d,"
        " such as 500ms, 5s or 10m",
    ),
    (
        "source",
        '{bootstrap: "a:1", request_timeout: 2h}',
        "source.request_timeout: 2h is not between 100ms and 1h",
    ),
    # topics
    ("topics", "{}", "topics.include: is required"),
    ("topics", "{include: []}", "topics.include: needs at least one entry"),
    (
        "topics",
        "{include: orders}",
        "topics.include: must be a list, such as [a, b], not a text",
    ),
    (
        "topics",
        '{include: ["a(b"]}',
        "topics.include[0]: 'a(b' is not a regular expression:"
        " missing ), unterminated subpattern at position 1",
    ),
    (
        "topics",
        '{include: ["[[a]"]}',
        "topics.include[0]: '[[a]' is not a regular expression: Possible nested set at position 1",
    ),
    (
        "topics",
        '{include: [a], rename: ""}',
        "topics.rename: must not be empty",
    ),
    (
        "topics",
        '{include: ["(?P<what>a)", a], rename: "{what}"}',
        "topics.rename: {what} is no group of `include[1]` ('a'), for which there is {topic}",
    ),
    (
        "topics",
        '{include: ["(?P<what>a)(b)"], rename: "{link}.{topic}"}',
        "topics.rename: {link} is no group of `include[0]` ('(?P<what>a)(b)'), for which there is"
        " {topic}, {1}, {2}, {what}",
    ),
    (
        "topics",
        '{include: [a], rename: "{topic}/copy"}',
        "topics.rename: '{topic}/copy': beside placeholders such as {topic} a topic name has"
        " letters, digits, '.', '_' and '-' only",
    ),
    (
        "topics",
        "{include: [a], replication_factor: 0}",
        "topics.replication_factor: 0 is not between 1 and 32767",
    ),
    (
        "topics",
        "{include: [a], replication_factor: default}",
        "topics.replication_factor: 'default' is not one of source, broker_default, a number",
    ),
    (
        "topics",
        '{include: [a], configs: {exclude: ["a("]}}',
        "topics.configs.exclude[0]: 'a(' is not a regular expression:"
        " missing ), unterminated subpattern at position 1",
    ),
    (
        "topics",
        "{include: [a], configs: {override: {retention.ms: [5]}}}",
        "topics.configs.override.retention*: must be a text, not a list",
    ),
    ("prune", "sometimes", "prune: must be true or false, not a text"),
    (
        "target",
        '{bootstrap: "x:1,a:9092"}',
        "topics.rename: source and target are one cluster (a:9092); give the mirror topics another"
        " name, such as copy.{topic}",
    ),
    # records
    (
        "records",
        "{start: erliest}",
        "records.start: 'erliest' is not one of earliest, latest, committed,"
        " a time such as 2025-01-31T08:00:00Z",
    ),
    (
        "records",
        "{start: [latest]}",
        "records.start: must be one of earliest, latest, committed,"
        " a time such as 2025-01-31T08:00:00Z, not a list",
    ),
    (
        "records",
        "{start: 2025-01-31T08:00:00}",
        "records.start: '2025-01-31T08:00:00' has no time zone;"
        " add Z for UTC, or an offset such as +02:00",
    ),
    (
        "records",
        "{start: 31.1.2025 8:00}",
        "records.start: '31.1.2025 8:00' is not a time such as 2025-01-31T08:00:00Z",
    ),
    (
        "records",
        "{start: 1969-12-31T23:59:59Z}",
        "records.start: '1969-12-31T23:59:59Z' is before 1970; write earliest",
    ),
    (
        "source",
        '{bootstrap: "a:1", tls: {ca: ~towpath-nobody/ca.pem}}',
        "source.tls.ca: ~towpath-nobody/ca.pem: there is no such user",
    ),
    (
        "records",
        "{start: 1738310400}",
        "records.start: 1738310400 is not in milliseconds since 1970, which have 12 or 13 digits",
    ),
    (
        "records",
        "{start: 17383104000000}",
        "records.start: 17383104000000 is not in milliseconds since 1970, which have 12 or 13"
        " digits",
    ),
    (
        "records",
        "{start: committed}",
        "records.group: is required by `start: committed`: the group whose offsets to take",
    ),
    ("records", "{group: g}", "records.group: is used with `start: committed` only"),
    (
        "records",
        "{offsets: same}",
        "records.offsets: 'same' is not one of auto, identical, mapped",
    ),
    ("records", "{on_gap: [stop]}", "records.on_gap: must be one of stop, record, not a list"),
    # run
    ("run", "{round: soon}", "run.round: must be a number with a unit, such as 500ms, 5s or 10m"),
    ("run", "{round: true}", "run.round: must be a number with a unit, such as 500ms, 5s or 10m"),
    (
        "run",
        "{memory: 96MB}",
        "run.memory: unit MB is not one of B, KiB, MiB, GiB; write it such as 512KiB or 4MiB",
    ),
    ("run", "{memory: 1KiB}", "run.memory: 1KiB is not between 8MiB and 4GiB"),
    # metrics
    (
        "metrics",
        "{listen: 9404}",
        "metrics.listen: must be a text, not a number; put it in quotes",
    ),
    (
        "metrics",
        '{listen: ":9404"}',
        "metrics.listen: ':9404' is not HOST:PORT, such as 127.0.0.1:9404",
    ),
    (
        "metrics",
        '{listen: "::1:9404"}',
        "metrics.listen: '::1:9404' is not HOST:PORT, such as 127.0.0.1:9404;"
        " an IPv6 address stands in brackets, such as [::1]:9404",
    ),
    (
        "metrics",
        '{listen: "127.0.0.1:0"}',
        "metrics.listen: '127.0.0.1:0': a port is a number from 1 to 65535",
    ),
    (
        "metrics",
        '{listen: "http://127.0.0.1:9404"}',
        "metrics.listen: is a URL; write HOST:PORT alone, such as 127.0.0.1:9404",
    ),
    (
        "metrics",
        "{detail: topics}",
        "metrics.detail: 'topics' is not one of auto, partition, topic, link",
    ),
    # keys
    ("recrods", "{}", "recrods: unknown key, did you mean records?"),
    ("bootstrap", "x", "bootstrap: unknown key here; it belongs into source or target"),
    ("zzz", "1", f"zzz: unknown key; known here are {', '.join(TOP)}"),
    (
        "target",
        '{bootstrap: "b:1", tls: {verify_hostnam: true}}',
        "target.tls.verify_hostnam: unknown key, did you mean verify_hostname?",
    ),
    ("run", "{? [a] : b}", "run: a key must be a single word, not a list or a mapping"),
    # tls and sasl
    (
        "source",
        '{bootstrap: "a:1", tls: yes}',
        "source.tls: must be a mapping of keys to values, not a text",
    ),
    (
        "source",
        '{bootstrap: "a:1", tls: {verify_hostname: 0}}',
        "source.tls.verify_hostname: must be true or false, not a number",
    ),
    (
        "source",
        '{bootstrap: "a:1", tls: {ca: [x]}}',
        "source.tls.ca: must be a text, not a list",
    ),
    (
        "source",
        '{bootstrap: "a:1", sasl: {mechanism: PLIAN}}',
        f"source.sasl.mechanism: 'PLIAN' is not one of {MECHANISMS}",
    ),
    ("source", '{bootstrap: "a:1", sasl: {}}', "source.sasl.mechanism: is required"),
    (
        "source",
        '{bootstrap: "a:1", sasl: {mechanism: [a]}}',
        f"source.sasl.mechanism: must be one of {MECHANISMS}, not a list",
    ),
    ("source", plain("password: env:HOME"), "source.sasl.username: is required"),
    ("source", plain("username: u"), "source.sasl.password: is required"),
    (
        "source",
        plain("username: '', password: env:HOME"),
        "source.sasl.username: must not be empty",
    ),
    (
        "source",
        plain("username: u, password: env:HOME, token: env:HOME"),
        "source.sasl.token: is not used with PLAIN",
    ),
    ("source", plain("username: u, password: hunter2"), f"source.sasl.password: {HOW}"),
    ("source", plain("username: u, password: 4711"), f"source.sasl.password: {HOW}"),
    ("source", plain("username: u, password: 'env:'"), f"source.sasl.password: {HOW}"),
    (
        "source",
        plain("username: u, password: env:TOWPATH_UNSET"),
        "source.sasl.password: variable TOWPATH_UNSET is not set in the environment",
    ),
    (
        "source",
        plain('username: u, password: "${TOWPATH_UNSET}"'),
        "source.sasl.password: variable TOWPATH_UNSET is not set in the environment",
    ),
    (
        "source",
        plain("username: u, password: env:TOWPATH_EMPTY"),
        "source.sasl.password: the secret is empty",
    ),
    (
        "source",
        oauth("extensions: {}"),
        "source.sasl.token: give exactly one of token and token_command",
    ),
    (
        "source",
        oauth("token: env:HOME, token_command: id"),
        "source.sasl.token: give exactly one of token and token_command",
    ),
    (
        "source",
        oauth('token_command: "a \'b"'),
        "source.sasl.token_command: cannot be split into arguments: No closing quotation",
    ),
    ("source", oauth("token_command: []"), "source.sasl.token_command: needs at least one entry"),
    (
        "source",
        oauth("token: env:HOME, extensions: x"),
        "source.sasl.extensions: must be a mapping of keys to values, not a text",
    ),
    (
        "source",
        '{bootstrap: "a:1", sasl: {mechanism: AWS_MSK_IAM}}',
        "source.sasl.mechanism: AWS_MSK_IAM needs encryption; add `tls: true` beside sasl",
    ),
    (
        "source",
        "{bootstrap: {a: b}}",
        "source.bootstrap: must be a list, such as [a, b], not a mapping",
    ),
    (
        "source",
        '{bootstrap: "a:1", password:hunter2}',
        "source.password: a space is missing behind the colon",
    ),
    ("source", plain("username: u, password hunter2"), f"source.sasl.password: {COLON}"),
    ("source", plain("username: u, password=hunter2"), f"source.sasl.password: {COLON}"),
    (
        "source",
        '{bootstrap: "a:1", sasl: {mechanism: PLAIN password hunter2}}',
        f"source.sasl.mechanism: 'PLAIN*' is not one of {MECHANISMS}",
    ),
    (
        "source",
        '{bootstrap: "a:1", tls: {key-password: env:HOME}}',
        "source.tls.key*: unknown key, did you mean key_password?",
    ),
    (
        "source",
        '{bootstrap: "a:1", bootstrap.servers: x}',
        "source.bootstrap*: unknown key, did you mean bootstrap?",
    ),
    (
        "source",
        '{bootstrap: "a:1", tls: {4711: x}}',
        "source.tls.*: unknown key; known here are ca, cert, key, key_password, verify_hostname",
    ),
    # access
    ("access", "{acls: some}", "access.acls: 'some' is not one of off, safe, full"),
    ("access", "{acls: false}", "access.acls: must be one of off, safe, full, not true or false"),
    ("access", "{acl: safe}", "access.acl: unknown key, did you mean acls?"),
    ("access", "{quotas: 'yes'}", "access.quotas: must be true or false, not a text"),
    (
        "access",
        "{users: [ann]}",
        "access.users: must be a mapping of keys to values, not a list",
    ),
    ("access", "{users: {ann: hunter2}}", f"access.users.ann: {HOW}"),
    ("access", "{users: {ann: {password: env:HOME}}}", f"access.users.ann: {HOW}"),
    ("access", "{users: {ann hunter2}}", f"access.users.ann: {COLON}"),
    ("access", "{users: {'': env:HOME}}", "access.users: a user needs a name before the colon"),
    (
        "access",
        "{users: {ann: '${TOWPATH_UNSET}'}}",
        "access.users.ann: variable TOWPATH_UNSET is not set in the environment",
    ),
    ("prune", "all", "prune: must be true or false, not a text"),
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOWPATH_UNSET", raising=False)
    monkeypatch.setenv("TOWPATH_EMPTY", "")
    monkeypatch.setenv("HOME", "/home/someone")


@pytest.mark.parametrize(("key", "value", "message"), VALUES)
def test_a_wrong_value_has_its_path_and_a_sentence(
    write: Write, key: str, value: str, message: str
) -> None:
    assert [str(problem) for problem in check(write(with_part(key, value)))] == [message]


@pytest.mark.parametrize("value", ["[" * 40 + "]" * 40, "&a [*a]"])
def test_deep_lists_and_aliases_to_themselves_are_told(write: Write, value: str) -> None:
    assert "link[0][0]: nested too deeply" in map(str, check(write(with_part("link", value))))


def test_equal_keys_are_told_with_their_lines(write: Write) -> None:
    problems = check(write(with_part("run", "{}") + "run: {}\nlink: hunter2\n"))
    assert [str(problem) for problem in problems] == [
        "run: the key stands twice, in lines 5 and 6",
        "link: the key stands twice, in lines 3 and 7",
    ]


@pytest.mark.parametrize(
    "rest",
    [
        "password hunter2",
        "password hunter2: x",
        "password hunter2: {a b: !x c}",
        "password hunter2: ${TOWPATH_UNSET}",
        "password = hunter2",
        "'password: hunter2'",
        "password -hunter2: x, password -hunter2: y",
        "pass wörd/hunter2: [x]",
        "password: {hunter2 x: y}",
        "? {hunter2: 1} : 2",
    ],
)
@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER", "no such"])
def test_no_message_shows_what_stands_behind_a_key(write: Write, mechanism: str, rest: str) -> None:
    sasl = f'{{bootstrap: "a:1", sasl: {{mechanism: {mechanism}, username: u, {rest}}}}}'
    problems = check(write(with_part("source", sasl)))
    assert problems
    assert "hunter2" not in repr(problems)


def test_every_key_of_ours_is_shown_whole() -> None:
    for place, _ in walk(LinkConfig):
        assert path_text(place) == ".".join(place)


def test_a_long_unknown_key_is_cut(write: Write) -> None:
    (problem,) = check(write(with_part("z" * 500, "1")))
    assert len(str(problem)) < 200


def test_all_problems_come_at_once(write: Write) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write("link: 5\nlink: 6\nsource: {}\nrecrods: 1\nrun: {round: 1}\ntopics:\n"))
    assert [problem.path for problem in caught.value.problems] == [
        "link",
        "topics",
        "source.bootstrap",
        "target",
        "run.round",
        "recrods",
    ]
