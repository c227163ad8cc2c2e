"""What a good file becomes, and that secrets stay hidden."""

from __future__ import annotations

import contextlib
import json
import pickle
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.session.examples import examples
from towpath.cluster.connect.security import ssl_context
from towpath.model.errors import ConfigError
from towpath.model.secret import Secret
from towpath.settings import (
    AccessConfig,
    AclMode,
    ByteRate,
    Duration,
    GssapiSasl,
    LinkConfig,
    MskSasl,
    OauthSasl,
    PasswordSasl,
    RateConfig,
    Size,
    StartAt,
    Tls,
    check,
    load,
)
from towpath.settings.document import parse
from towpath.settings.kinds import KINDS
from towpath.settings.secrets import SECRET_KEYS
from towpath.settings.shape import walk

Write = Callable[[str], Path]

PASSWORD = "hunter2-hunter2"  # noqa: S105, the secret to look for
MINIMAL = """\
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092"}
link: orders
topics: {include: ["orders"]}
"""


def with_source(rest: str) -> str:
    return MINIMAL.replace('{bootstrap: "a:9092"}', f'{{bootstrap: "a:9092", {rest}}}')


def with_records(start: str) -> str:
    return MINIMAL + f"records: {{start: {start}}}\n"


def test_a_minimal_file_has_defaults(write: Write) -> None:
    config = load(write(MINIMAL))
    assert config.source.bootstrap == ("a:9092",)
    assert config.source.tls is None
    assert config.source.sasl is None
    assert config.source.request_timeout == 30.0
    assert config.topics.rename == "{topic}"
    assert config.records.start is StartAt.EARLIEST
    assert (config.records.offsets, config.records.on_gap.default) == ("auto", "stop")
    assert [str(config.run.round), str(config.run.discover)] == ["4h", "5s"]
    assert str(config.run.receipts) == "1s"
    assert config.run.memory == 96 << 20


def test_a_byte_order_mark_and_anchors_are_read(write: Write) -> None:
    text = "\ufeff" + with_source("tls: &t {verify_hostname: false}").replace(
        '{bootstrap: "b:9092"}', '{bootstrap: "b:9092", tls: *t}'
    )
    config = load(write(text))
    assert config.target.tls is not None
    assert config.target.tls == config.source.tls


@pytest.mark.parametrize(
    ("written", "addresses"),
    [
        ('"a:1, b-c.d:65535"', (("a", 1), ("b-c.d", 65535))),
        ('["[::1]:9092", "[fe80::1%eth0]:1"]', (("::1", 9092), ("fe80::1%eth0", 1))),
        ("10.0.0.1:9092", (("10.0.0.1", 9092),)),
    ],
)
def test_bootstrap_is_a_text_or_a_list(
    write: Write, written: str, addresses: tuple[tuple[str, int], ...]
) -> None:
    assert load(write(MINIMAL.replace('"a:9092"', written))).source.addresses == addresses


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("latest", StartAt.LATEST),
        ("2025-01-31T08:00:00Z", datetime(2025, 1, 31, 8, tzinfo=UTC)),
        ("'2025-01-31 10:00:00+02:00'", datetime(2025, 1, 31, 8, tzinfo=UTC)),
        ("2025-01-31T08:00:00.123Z", datetime(2025, 1, 31, 8, 0, 0, 123000, tzinfo=UTC)),
        ("1738310400000", datetime(2025, 1, 31, 8, tzinfo=UTC)),
        ("'1738310400000'", datetime(2025, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_start_is_a_word_or_a_time_in_milliseconds(
    write: Write, written: str, start: StartAt | datetime
) -> None:
    found = load(write(with_records(written))).records.start
    expected = start if isinstance(start, StartAt) else round(start.timestamp() * 1000)
    assert found == expected
    assert type(found) is type(expected)


def test_access_names_the_passwords_of_users(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(write(MINIMAL)).access == AccessConfig(acls=AclMode.OFF, users={}, quotas=False)
    monkeypatch.setenv("TOWPATH_PW", PASSWORD)
    users = "{ann: env:TOWPATH_PW, app-1: '${TOWPATH_PW}', password: file:pw}"
    path = write(MINIMAL + f"access: {{acls: safe, users: {users}, quotas: true}}\nprune: true\n")
    (path.parent / "pw").write_text("other\n")
    config = load(path)
    assert (config.access.acls, config.access.quotas, config.prune) == (AclMode.SAFE, True, True)
    passwords = {name: secret.reveal() for name, secret in config.access.users.items()}
    assert passwords == {"ann": PASSWORD, "app-1": PASSWORD, "password": "other"}
    for shown in (repr(config), repr(config.model_dump()), config.model_dump_json()):
        assert PASSWORD not in shown


def test_start_committed_takes_a_group(write: Write) -> None:
    config = load(write(MINIMAL + "records: {start: committed, group: billing}\n"))
    assert (config.records.start, config.records.group) == (StartAt.COMMITTED, "billing")


@pytest.mark.parametrize(("written", "there"), [("true", True), ("{}", True), ("false", False)])
def test_tls_can_be_switched_with_a_word(write: Write, written: str, there: bool) -> None:
    assert (load(write(with_source(f"tls: {written}"))).source.tls is not None) is there


def test_every_mechanism_has_its_own_type(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_PW", PASSWORD)
    files = {
        "mechanism: SCRAM-SHA-512, username: u, password: env:TOWPATH_PW": PasswordSasl(
            mechanism="SCRAM-SHA-512", username="u", password=Secret(PASSWORD)
        ),
        'mechanism: PLAIN, username: u, password: "${TOWPATH_PW}"': PasswordSasl(
            mechanism="PLAIN", username="u", password=Secret(PASSWORD)
        ),
        "mechanism: OAUTHBEARER, token: env:TOWPATH_PW, extensions: {pool: p}": OauthSasl(
            mechanism="OAUTHBEARER", token=Secret(PASSWORD), extensions={"pool": "p"}
        ),
        "mechanism: OAUTHBEARER, token_command: \"get -x 'a b'\"": OauthSasl(
            mechanism="OAUTHBEARER", token_command=("get", "-x", "a b")
        ),
        "mechanism: AWS_MSK_IAM, region: eu-central-1": MskSasl(
            mechanism="AWS_MSK_IAM", region="eu-central-1"
        ),
        "mechanism: GSSAPI": GssapiSasl(mechanism="GSSAPI"),
    }
    for written, sasl in files.items():
        assert load(write(with_source(f"tls: true, sasl: {{{written}}}"))).source.sasl == sasl


def test_a_variable_stands_for_a_part_of_any_text(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWPATH_PLACE", "eu")
    text = MINIMAL.replace('"a:9092"', '["${TOWPATH_PLACE}1:9092", "${TOWPATH_PLACE}2:1"]')
    assert load(write(text)).source.bootstrap == ("eu1:9092", "eu2:1")


def test_without_the_environment_only_the_text_is_judged(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOWPATH_UNSET", raising=False)
    login = "{mechanism: PLAIN, username: u, password: env:TOWPATH_UNSET}"
    tls = "{ca: no-such-file.pem, cert: neither.pem}"
    text = with_source(f"sasl: {login}, tls: {tls}").replace("b:9092", "${TOWPATH_UNSET}")
    path = write(text.replace("orders\n", "my orders\n", 1))
    assert [problem.sentence for problem in check(path, with_environment=False)] == [
        "link: must be 1 to 100 letters, digits, '.', '_' or '-'"
    ]
    assert [problem.path for problem in check(path)] == [
        "source.sasl.password",
        "source.tls.ca",
        "source.tls.cert",
        "target.bootstrap",
        "link",
    ]


def test_a_secret_file_is_found_beside_the_yaml_file(write: Write, tmp_path: Path) -> None:
    (tmp_path / "pw").write_text(PASSWORD + "\n")
    path = write(with_source("sasl: {mechanism: PLAIN, username: u, password: file:pw}"))
    sasl = load(path).source.sasl
    assert isinstance(sasl, PasswordSasl)
    assert sasl.password.reveal() == PASSWORD


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "{folder}/pw: No such file or directory"),
        (b"\xff", "{folder}/pw: is no text file"),
        (b"\n", "the secret is empty"),
    ],
)
def test_a_secret_file_that_is_no_use(
    write: Write, tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "pw").write_bytes(content)
    path = write(with_source("sasl: {mechanism: PLAIN, username: u, password: file:pw}"))
    assert [problem.sentence for problem in check(path)] == [
        "source.sasl.password: " + message.format(folder=tmp_path)
    ]


def test_a_path_that_is_none(write: Write) -> None:
    (problem,) = check(write(with_source('tls: {ca: "a\\0b"}')))
    assert problem.text.endswith("b: no usable path")


def test_secrets_are_in_no_text_of_the_configuration(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWPATH_PW", PASSWORD)
    login = "{mechanism: PLAIN, username: u, password: env:TOWPATH_PW}"
    config = load(write(with_source(f"sasl: {login}")))
    again: LinkConfig = pickle.loads(pickle.dumps(config))  # noqa: S301, our own bytes
    assert again == config
    assert isinstance(again.source.sasl, PasswordSasl)
    assert again.source.sasl.password.reveal() == PASSWORD
    for shown in (
        repr(config),
        str(config),
        repr(again),
        f"{config.source.sasl}",
        repr(config.model_dump()),
        config.model_dump_json(),
    ):
        assert "hunter2" not in shown
        assert "***" in shown


@pytest.mark.parametrize(
    "written",
    [
        "password: hunter2",
        "password: [hunter2]",
        "password: {hunter2: hunter2}",
        "password: *hunter2",
        "password: !hunter2 x",
        "password: !hunter2!x y",
        "password: &hunter2 x",
        "password: %hunter2",
        "password: '@hunter2",
        "password: a: hunter2",
        "password:hunter2",
        "password:hunter2: x",
        "passwrod: hunter2",
        "password: env:TOWPATH_PW, password: hunter2",
    ],
)
def test_secrets_are_in_no_error(
    write: Write, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWPATH_PW", "hunter2")
    login = f"{{mechanism: PLAIN, username: u, {written}}}"
    with pytest.raises(ConfigError) as caught:
        load(write(with_source(f"sasl: {login}") + "extra: 1\n"))
    shown = f"{caught.value} {caught.value!r} {caught.value.__cause__}"
    assert "hunter2" not in shown


def test_the_secret_keys_are_those_of_the_models() -> None:
    places = (each for kind in KINDS.values() for each in walk(kind.model))
    found = {place[-1] for place, field in places if "Secret" in repr(field)}
    assert found == SECRET_KEYS


@examples(1, soak=3)
@given(st.text())
def test_no_text_causes_anything_but_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse(text, "link.yaml")


KEYS = ("source", "target", "link", "topics", "records", "run", "bootstrap", "tls", "sasl")
MORE = ("mechanism", "password", "include", "exclude", "rename", "start", "group", "round")
WORDS = st.sampled_from((*KEYS, *MORE, "PLAIN", "a:1", "5m", "${X}", "env:X", "file:x"))
TREES = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=25,
)


@examples(1, soak=3)
@given(st.dictionaries(WORDS, TREES, max_size=6))
def test_no_tree_causes_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("tree") / "link.yaml"
    path.write_text(json.dumps(tree), "utf-8")
    assert check(path)


REQUEST = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=t")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two self-signed certificates, the key of the second one encrypted."""
    folder = tmp_path_factory.mktemp("certificates")
    for name, extra in (("one", ["-nodes"]), ("two", ["-passout", f"pass:{PASSWORD}"])):
        subprocess.run(
            [*REQUEST, "-keyout", f"{name}.key", "-out", f"{name}.pem", *extra],
            cwd=folder,
            check=True,
            capture_output=True,
        )
    (folder / "both.pem").write_text(
        (folder / "one.pem").read_text() + (folder / "one.key").read_text()
    )
    comment = "# Zertifikat fürs Büro\n".encode
    whole = (folder / "both.pem").read_bytes()
    (folder / "comment.pem").write_bytes(comment("utf-8-sig") + whole + comment())
    (folder / "latin.pem").write_bytes(comment("latin-1") + whole)
    (folder / "inside.pem").write_text(whole.decode().replace("\nMII", "\nMIÍ"))
    (folder / "key-only.pem").write_text((folder / "one.key").read_text())
    (folder / "text.pem").write_text("no certificate\n")
    (folder / "broken.pem").write_text(
        "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
    )
    (folder / "pw").write_text(PASSWORD)
    return folder


@pytest.mark.parametrize("name", ["comment.pem", "latin.pem"])
def test_comments_in_any_language_may_stand_around_a_certificate(
    certificates: Path, name: str
) -> None:
    path = certificates / "link.yaml"
    path.write_text(with_source(f"tls: {{ca: {name}, cert: {name}}}"))
    tls = load(path).source.tls
    assert tls is not None
    assert len(ssl_context(tls).get_ca_certs()) == 1


@pytest.mark.parametrize(
    "written",
    [
        "ca: one.pem",
        "cert: one.pem, key: one.key",
        "cert: both.pem",
        "ca: two.pem, cert: two.pem, key: two.key, key_password: file:pw",
    ],
)
def test_usable_certificates_travel_as_text(certificates: Path, written: str) -> None:
    path = certificates / "link.yaml"
    path.write_text(with_source(f"tls: {{{written}}}"))
    config = load(path)
    tls = pickle.loads(pickle.dumps(config)).source.tls  # noqa: S301, our own bytes
    pem = tls.ca or tls.cert
    assert pem.text.reveal() == Path(pem.path).read_text()
    assert "BEGIN" not in repr(config) + config.model_dump_json()
    assert Tls(ca=tls.ca, cert=tls.cert, key=tls.key, key_password=tls.key_password) == tls


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("ca: none.pem", "tls.ca: {folder}/none.pem: No such file or directory"),
        ("ca: text.pem", "tls.ca: {folder}/text.pem: holds no PEM block (-----BEGIN ...)"),
        ("ca: broken.pem", "tls.ca: {folder}/broken.pem: holds no usable certificate"),
        ("ca: inside.pem", "tls.ca: {folder}/inside.pem: holds no usable certificate"),
        ("ca: key-only.pem", "tls.ca: {folder}/key-only.pem: holds no usable certificate"),
        ("key: one.key", "tls.cert: is required where a key is given"),
        (
            "cert: one.pem, key: two.key, key_password: file:pw",
            "tls.cert: {folder}/one.pem: certificate and key do not belong together",
        ),
        (
            "cert: two.pem, key: two.key",
            "tls.cert: {folder}/two.pem: no usable certificate with its key,"
            " or `key_password` does not open the key",
        ),
        (
            "cert: one.pem",
            "tls.cert: {folder}/one.pem: no usable certificate with its key,"
            " or `key_password` does not open the key",
        ),
    ],
)
def test_certificates_that_are_no_use(certificates: Path, written: str, message: str) -> None:
    path = certificates / "link.yaml"
    path.write_text(with_source(f"tls: {{{written}}}"))
    assert [problem.sentence for problem in check(path)] == [
        "source." + message.format(folder=certificates)
    ]


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("500ms", 0.5, "500ms"),
        ("1.5s", 1.5, "1500ms"),
        ("90s", 90, "90s"),
        (" 10 m", 600, "10m"),
        ("2h", 7200, "2h"),
        ("1d", 86400, "1d"),
        ("0s", 0, "0ms"),
    ],
)
def test_durations_are_read_and_shown_with_their_unit(
    text: str, seconds: float, shown: str
) -> None:
    assert Duration.parse(text) == seconds
    assert str(Duration.parse(text)) == shown
    assert Duration.parse(str(Duration.parse(text))) == seconds


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [("512B", 512, "512B"), ("1.5KiB", 1536, "1536B"), ("4MiB", 4 << 20, "4MiB"), ("0B", 0, "0B")],
)
def test_sizes_are_read_and_shown_with_their_unit(text: str, number: int, shown: str) -> None:
    assert Size.parse(text) == number
    assert str(Size.parse(text)) == shown


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        ("500KB", 500_000, "500KB/s"),
        ("50MB/s", 50_000_000, "50MB/s"),
        ("1 MiB", 1 << 20, "1MiB/s"),
        ("1.5GB", 1_500_000_000, "1500MB/s"),
        ("1234B/s", 1234, "1234B/s"),
    ],
)
def test_rates_are_read_and_shown_with_their_unit(text: str, number: int, shown: str) -> None:
    assert ByteRate.parse(text) == number
    assert str(ByteRate.parse(text)) == shown


def test_limits_of_the_link_and_of_topics(write: Write) -> None:
    def limits(text: str) -> RateConfig:
        return load(write(WHOLE.format(run=f"run: {{max_rate: {text}}}"))).run.max_rate

    assert limits("50MB").link == 50_000_000
    assert limits("{link: 1GB}").of("orders") is None
    made = limits("{topics: {'orders[.]eu': 2MB, 'orders.*': 10MB}}")
    assert made.link is None
    found = {name: made.of(name) for name in ("orders.eu", "orders.us", "my.orders", "other")}
    assert found == {
        "orders.eu": 2_000_000, "orders.us": 10_000_000, "my.orders": None, "other": None
    }  # fmt: skip


WHOLE = """\
source: {{bootstrap: "a:1"}}
target: {{bootstrap: "b:1"}}
link: orders
topics: {{include: [".*"]}}
{run}
"""


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("", ""),
        ("records: {offsets: mapped}", ""),
        ("records: {offsets: identical}", "records.offsets: offsets cannot stay identical"),
        ("groups: {}", "groups: cannot be used with topics.twin"),
    ],
)
def test_what_a_link_with_a_twin_cannot_do(write: Write, section: str, problem: str) -> None:
    text = MINIMAL.replace('["orders"]', '["orders"], twin: back') + section + "\n"
    if not problem:
        assert load(write(text)).topics.twin == "back"
        return
    with pytest.raises(ConfigError, match=problem):
        load(write(text))


@pytest.mark.parametrize("name", ["orders", "a b"])
def test_a_twin_is_another_link(write: Write, name: str) -> None:
    text = MINIMAL.replace('["orders"]', f'["orders"], twin: "{name}"')
    with pytest.raises(ConfigError, match=r"topics\.twin: (is this link itself|must be 1 to 100)"):
        load(write(text))
