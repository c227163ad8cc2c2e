"""Wrong values in the file of a link, and the sentence that each causes."""

from __future__ import annotations

TOP = (
    "kind", "source", "target", "link", "topics", "records", "groups", "schemas", "changes",
    "transform", "access", "prune", "run", "metrics", "gateway",
)  # fmt: skip
MECHANISMS = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM, GSSAPI"
COLON = "a colon is missing behind the key"
HOW = "a secret is never written into the file; write env:NAME, file:PATH or ${NAME}"


def plain(rest: str) -> str:
    return f'{{bootstrap: "a:1", sasl: {{mechanism: PLAIN, {rest}}}}}'


def oauth(rest: str) -> str:
    return f'{{bootstrap: "a:1", sasl: {{mechanism: OAUTHBEARER, {rest}}}}}'


VALUES = [
    # link
    ("link", "[a]", "link: must be a text, not a list"),
    ("link", "{a: b}", "link: must be a text, not a mapping"),
    ("link", "5", "link: must be a text, not the number 5; put it in quotes"),
    ("link", "true", "link: must be a text, not true; put it in quotes"),
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
    (
        "source",
        "{bootstrap: 5}",
        "source.bootstrap: must be a list, such as [a, b], not the number 5",
    ),
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
        "topics.replication_factor: 'default' is not one of source, broker_default, a whole number",
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
    ("prune", "sometimes", "prune: must be true or false, not the text 'sometimes'"),
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
    (
        "records",
        "{on_gap: [stop]}",
        "records.on_gap: must be one of stop, record, archive, not a list",
    ),
    (
        "records",
        "{on_gap: archive}",
        "records.archive: is required by `on_gap: archive`: the archive to take records from",
    ),
    (
        "records",
        "{archive: {store: {url: 'file:a'}, region: eu}}",
        "records.archive: is used with `on_gap: archive` only",
    ),
    (
        "records",
        "{on_gap: archive, archive: {store: {url: 'file:a'}, region: eu, otherwise: archive}}",
        "records.archive.otherwise: 'archive' is not one of stop, record",
    ),
    (
        "records",
        "{fill: 99999999999}",
        "records.fill: 99999999999 is too large; write at most 2000000000",
    ),
    ("records", "{fill: -1}", "records.fill: -1 is too small; write at least 0"),
    (
        "records",
        "{fill: '7'}",
        "records.fill: must be a whole number, not the text '7'; remove the quotes",
    ),
    ("records", "{fill: 1.5}", "records.fill: must be a whole number, not the number 1.5"),
    (
        "records",
        f"{{fill: {'9' * 5000}}}",
        "records.fill: is a number of 5000 digits, which is too large",
    ),
    # run
    (
        "run",
        "{round: soon}",
        "run.round: must be a number with a unit, such as 500ms, 5s or 10m, not 'soon'",
    ),
    ("run", "{round: 36000000s}", "run.round: 36000000s is not between 1s and 1d"),
    ("run", "{round: true}", "run.round: must be a number with a unit, such as 500ms, 5s or 10m"),
    (
        "run",
        "{memory: 96MB}",
        "run.memory: unit MB is not one of B, KiB, MiB, GiB; write it such as 512KiB or 4MiB",
    ),
    (
        "run",
        "{max_rate: 50}",
        "run.max_rate: 50 has no unit; write one of B, KiB, MiB, GiB, KB, MB, GB, such as 500KB or"
        " 50MB",
    ),
    ("run", "{max_rate: 20B/s}", "run.max_rate: 20B/s is not between 1KB/s and 100GB/s"),
    (
        "run",
        "{max_rate: {topics: {a: fast}}}",
        "run.max_rate.topics.a: must be a number with a unit, such as 500KB or 50MB, not 'fast'",
    ),
    (
        "run",
        "{max_rate: {topics: {'(': 5MB}}}",
        "run.max_rate.topics.*: '(' is not a regular expression: missing ), unterminated"
        " subpattern at position 0",
    ),
    (
        "run",
        "{max_rate: [5MB]}",
        "run.max_rate: must be a mapping of keys to values, not a list",
    ),
    ("run", "{memory: 1KiB}", "run.memory: 1KiB is not between 8MiB and 4GiB"),
    # metrics
    (
        "metrics",
        "{listen: 9404}",
        "metrics.listen: must be a text, not the number 9404; put it in quotes",
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
        "source.tls: must be true, false, or a mapping of ca, cert, key, ..., not the text 'yes';"
        " write true without quotes",
    ),
    (
        "source",
        '{bootstrap: "a:1", tls: {verify_hostname: 0}}',
        "source.tls.verify_hostname: must be true or false, not the number 0",
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
        "source.bootstrap.servers: bootstrap.servers is called source.bootstrap here",
    ),
    (
        "source",
        '{bootstrap: "a:1", tls: {4711: x}}',
        "source.tls.*: unknown key; known here are ca, cert, key, key_password, verify_hostname",
    ),
    # groups
    ("groups", "{states: some}", "groups.states: 'some' is not one of any, empty"),
    ("groups", "{rename: ''}", "groups.rename: must not be empty"),
    (
        "groups",
        "{include: ['a-(.*)'], rename: '{team}'}",
        "groups.rename: {team} is no group of `include[0]` ('a-(.*)'), for which there is {group},"
        " {1}",
    ),
    ("groups", "{interval: 1ms}", "groups.interval: 1ms is not between 1s and 1d"),
    ("groups", "{mm2: {alias: b}}", "groups.mm2.source_alias: is required"),
    (
        "groups",
        "{mm2: {alias: b, source_alias: 'a b'}}",
        "groups.mm2.source_alias: must be 1 to 100 letters, digits, '.', '_' or '-'",
    ),
    # access
    ("access", "{acls: some}", "access.acls: 'some' is not one of off, safe, full"),
    ("access", "{acls: false}", "access.acls: must be one of off, safe, full, not false"),
    ("access", "{acl: safe}", "access.acl: unknown key, did you mean acls?"),
    (
        "access",
        "{quotas: 'yes'}",
        "access.quotas: must be true or false, not the text 'yes'; write true without quotes",
    ),
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
    ("prune", "all", "prune: must be true or false, not the text 'all'"),
]
