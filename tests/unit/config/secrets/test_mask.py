"""Secrets are hidden by value, in every spelling."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from floe.config.secrets.detection import is_secret, secret_texts, shown_address
from floe.config.secrets.mask import Mask, clip, learn, learn_environment, short_in_environment, spellings
from floe.config.secrets.mask import hide as hide_known
from tests.support.cpu import growth, least_cpu_seconds

HARD = "c4n/ry@7f 3a+\"q'u\\é%"


def hide(settings: dict[str, object], text: str) -> str:
    return Mask.of(settings).hide(text)


@pytest.mark.parametrize(
    "spelled",
    [
        HARD,
        repr(HARD),
        repr(HARD.encode()),
        repr([HARD, "x"]),
        json.dumps({"a": HARD}),
        json.dumps({"a": HARD}, ensure_ascii=False),
        json.dumps({"a": json.dumps({"b": HARD})}),
        quote(HARD),
        quote(HARD, safe=""),
        quote_plus(HARD),
        quote_plus(HARD).lower(),
        base64.b64encode(f"someone:{HARD}".encode()).decode(),
        base64.urlsafe_b64encode(f"a:{HARD}".encode()).decode(),
        base64.b64encode(f"\0ab\0{HARD}".encode()).decode(),
    ],
)
def test_mask_hides_each_spelling(spelled: str) -> None:
    message = hide({"password": HARD}, f"refused: {spelled} (401)")
    assert "c4n" not in message and "7f" not in message, message
    assert message.startswith("refused: ") and message.endswith(" (401)")
    core = base64.b64encode(HARD.encode()).decode().rstrip("=")
    assert core not in message


@pytest.mark.parametrize("key", ["4f1c9a27d6b0", "first-half=:second", "first-half\nsecond"])
@pytest.mark.parametrize("password", ["hunter22", "hun=ter22", "a=b=c", "hun?ter=22"])
def test_mask_hides_a_key_in_a_query_behind_any_login(password: str, key: str) -> None:
    address = f"http://u:{password}@rest:8181/?api_key={key}"
    assert hide({"uri": address}, f"GET /?api_key={quote(key)}/v1 refused") == "GET /?api_key=<hidden>/v1 refused"


@pytest.mark.parametrize("user", ["", "a", "ab", "abc", "another-user"])
def test_mask_hides_base64_behind_any_user(user: str) -> None:
    encoded = base64.b64encode(f"{user}:hunter22".encode()).decode()
    assert hide({"password": "hunter22"}, f"Basic {encoded}") == "Basic <hidden>"


@pytest.mark.parametrize(
    ("key", "value", "quoted"),
    [
        ("token", "first-CANARY\nsecond-CANARY", "Invalid header value b'Bearer first-CANARY\\nsecond-CANARY'"),
        ("token", "first-CANARY\nsecond-CANARY", "second-CANARY"),
        ("token", "the-CANARY\n", "Authorization: Bearer the-CANARY"),
        ("iceberg.catalog.header.Authorization", "Bearer the-CANARY", "the-CANARY is malformed"),
        ("header.Authorization", "Basic " + base64.b64encode(b"u:the-CANARY").decode(), "the-CANARY"),
        ("uri", "postgresql://u:a/CANARY@db:5432/x", "invalid literal for int(): 'a/CANARY'"),
        ("uri", "postgresql://u:p@CANARYxx@db:5432/x", "CANARYxx@db"),
        ("uri", "postgresql://u:p?CANARYxx#CANARYyy@db/x", "no host in p?CANARYxx and CANARYyy"),
        ("uri", "postgresql://u:CANARY%2Fab@db/x", "password CANARY/ab"),
        ("uri", "postgresql://u:CANARY+ab@db/x", "password 'CANARY ab'"),
        ("uri", "postgresql://u:[CANARY@db/x", "Invalid IPv6 URL [CANARY"),
        ("warehouse", "s3://id:CANARYxyz@bucket/a", "no bucket CANARYxyz"),
        ("uri", "user:CANARYxyz@host:5432/db", "CANARYxyz"),
        ("uri", "jdbc:sqlserver://h;user=a;password=CANARY12", "login with CANARY12"),
        ("uri", "https://CANARYxyz@host/", "CANARYxyz"),
        ("uri", "postgresql://u:pw1@h/db", "cannot parse u:pw1@h/db"),
        ("sasl.jaas.config", 'x required username="a" password="CANARY12";', "CANARY12"),
        ("adls.connection-string", "AccountName=a;AccountKey=CANARY12==;EndpointSuffix=x", "CANARY12=="),
        ("credential", "client:CANARY12", "CANARY12"),
        ("sasl.jaas.config", r'x required password="a\"b;CANARY12";', r'a"b;CANARY12'),
        ("uri", "jdbc:x://h/db?password=ab,CANARY12&x=1", "ab,CANARY12"),
        ("uri", "postgresql://u:p@SS-CANARYxx/w@h/db", "no host ss-canaryxx"),
        ("warehouse", "s3://id:a//CANARYxyz@bucket/a", "s3://id:a/CANARYxyz@bucket/a"),
        ("token", "${a:CANARY12", "${a:CANARY12"),
        ("extra", '{"sasl.password": "CANARY12"}', "CANARY12"),
        ("extra", '{"a": {"b": [{"token": "CANARY12"}]}}', "CANARY12"),
        ("iceberg.kafka.sasl.pasword", "CANARY12", "CANARY12"),
        ("iceberg.catalog.tokn", "CANARY12", "CANARY12"),
        ("iceberg.catalog.s3.sercet-acces-key", "CANARY12", "CANARY12"),
        ("iceberg.catalog.credntial", "CANARY12", "CANARY12"),
        ("anything", "eyJhbGciOiJI.CANARY12.x", "eyJhbGciOiJI.CANARY12.x"),
    ],
)
def test_mask_hides_what_libraries_cut_out(key: str, value: str, quoted: str) -> None:
    message = hide({key: value}, quoted)
    assert "CANARY" not in message.upper() and "pw1" not in message, message
    assert "<hidden>" in message


def test_mask_leaves_other_text_alone() -> None:
    settings = {"uri": "http://user:hunter22@host:8181/v1?warehouse=lake", "topics": "orders", "password": "x"}
    assert hide(settings, "could not reach host:8181 for lake and orders") == (
        "could not reach host:8181 for lake and orders"
    )


def test_mask_leaves_the_host_of_an_address_alone() -> None:
    uri = "postgresql+psycopg2://user:hunter/22@127.0.0.1:5432/db?sslpassword=hunter/p@ss33"
    message = "no answer of 127.0.0.1:5432 to hunter/22 and hunter/p@ss33"
    assert hide({"iceberg.catalog.uri": uri}, message) == "no answer of 127.0.0.1:5432 to <hidden> and <hidden>"


def test_mask_knows_short_secrets_by_key() -> None:
    mask = Mask.of({"sasl.password": "abc", "token": "long-enough", "refresh-token": "true"})
    assert mask.too_short == {"sasl.password"}
    assert mask.hide("abc true") == "abc true"


def test_mask_returns_what_is_new_once() -> None:
    mask = Mask()
    assert "hunter22" in mask.learn({"password": "hunter22"})
    assert mask.learn({"password": "hunter22"}) == frozenset()


def test_mask_hides_the_longer_secret_first() -> None:
    settings = {"token": "abcdef", "password": "abcdef-and-more"}
    assert hide(settings, "abcdef-and-more, abcdef") == "<hidden>, <hidden>"


def test_environment_is_learned_by_its_names() -> None:
    learn_environment(
        {
            "PYICEBERG_CATALOG__LAKE__TOKEN": "env-CANARY-1",
            "PYICEBERG_CATALOG__LAKE__HEADER__AUTHORIZATION": "Bearer env-CANARY-2",
            "PYICEBERG_CATALOG__LAKE__URI": "postgresql://u:env-CANARY-3@h/db",
            "AIRFLOW_CONN_KAFKA_X": '{"conn_type": "kafka", "extra": {"sasl.password": "env-CANARY-4"}}',
            "AWS_SECRET_ACCESS_KEY": "env-CANARY-5",
            "SIMPLE_PASSWORDS_FILE": "/etc/env-file-of-passwords",
            "PWD": "/folder-of-a-shell",
        }
    )
    shown = "/etc/env-file-of-passwords /folder-of-a-shell"
    message = hide_known(f"env-CANARY-1 env-CANARY-2 env-CANARY-3 env-CANARY-4 env-CANARY-5 {shown}")
    assert message == f"<hidden> <hidden> <hidden> <hidden> <hidden> {shown}"


def test_learn_takes_any_values() -> None:
    learn({"a": None, "b": 3, "c": {"d": ["e", 1.5]}, "password": ["list-CANARY"]})
    assert hide_known("list-CANARY") == "<hidden>"


@pytest.mark.parametrize(
    "key", ["security.protocol", "topics", "tasks.max", "broker.address", "iceberg.catalog.warehouse", "segment.bytes"]
)
def test_words_near_a_secrets_are_no_secrets(key: str) -> None:
    assert not is_secret(key)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("sqlite:////tmp/none/catalog.db", "sqlite:////tmp/none/catalog.db"),
        ("postgresql://u:p@host:5432/db", "postgresql://<hidden>@host:5432/db"),
        ("postgresql://u:p/a@b@host:5432/db", "postgresql://<hidden>@host:5432/db"),
        ("http://h/?token=abcdef&x=1", "http://h/?token=<hidden>&x=1"),
        ("http://h:8181/v1", "http://h:8181/v1"),
    ],
)
def test_address_is_shown_without_its_login(address: str, expected: str) -> None:
    assert shown_address(address) == expected


def test_spellings_are_long_enough() -> None:
    assert all(len(text) >= 6 for text in spellings("hunter22"))
    assert secret_texts("token", "${floe:token}") == frozenset()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sent {'Authorization': 'Bearer abc123def456'}", "sent {'Authorization': 'Bearer <hidden>'}"),
        ("Invalid header value b'Bearer abc123def'", "Invalid header value b'Bearer <hidden>'"),
        ("Basic Zm9vOmJhcg== is wrong", "Basic <hidden> is wrong"),
        ("got eyJhbGciOiJI.eyJzdWIiOiIx.abc-def back", "got <hidden> back"),
        ("see postgresql://u:unknown@h/db", "see postgresql://u:<hidden>@h/db"),
        ("got {'access_token': 'abc123def456'}", "got {'access_token': '<hidden>'}"),
        ('got "{\\"refresh_token\\": \\"abc123def456\\"}"', 'got "{\\"refresh_token\\": \\"<hidden>\\"}"'),
        ("got access_token=abc123def456&token_type=bearer", "got access_token=<hidden>&token_type=bearer"),
        ("answers without an access_token: is it right?", "answers without an access_token: is it right?"),
        ("Bearer authentication failed", "Bearer authentication failed"),
        ("http://h:8181/a@b and s3://bucket/x", "http://h:8181/a@b and s3://bucket/x"),
        ("a basic configuration of 3 brokers", "a basic configuration of 3 brokers"),
    ],
)
def test_unknown_secrets_of_known_shapes_are_hidden(text: str, message: str) -> None:
    assert Mask().hide(text) == message


LONG = (
    "-eyJaaaaaaaa",
    "a",
    "password ",
    "user:",
    "a@",
    'a="b',
    "${",
    "header.",
    "Basic ",
    "aB",
    "://a:",
    "=",
    "%41\\n",
    "access_token=",
    "access_token  ",
)


@pytest.mark.parametrize("part", LONG)
def test_looking_at_a_value_costs_what_its_size_is(part: str) -> None:
    def look(size: int) -> None:
        for _ in range(8):
            is_secret("iceberg.catalog.x", (part * size)[:size])

    assert growth(look, 1000) < 9
    assert growth(lambda size: secret_texts("password", (part * size)[:size]), 15_000) < 9


@pytest.mark.parametrize(
    "part", [*LONG, "INFO org.apache.spark: task 12 of 3 ended ", "'", "abc\n", "t0ken-in-common-"]
)
def test_hiding_costs_what_the_size_of_the_text_is(part: str) -> None:
    mask = Mask.of({f"{i}.password": f"t0ken-in-common-{i}-{'x/@' * i}" for i in range(50)} | {"token": "a" * 200})
    assert growth(lambda size: mask.hide((part * size)[:size]), 16_000, tries=5) < 9


def test_number_of_secrets_costs_nothing_where_a_text_has_none() -> None:
    few, many = (Mask.of({f"{i}.password": f"{i:04}-t0ken" for i in range(n)}) for n in (10, 1000))
    line = "INFO org.apache.spark: task 12 of stage 3 ended on host 'a' " * 200
    assert few.hide(line) == many.hide(line) == line
    assert least_cpu_seconds(lambda: many.hide(line), 15) < 5 * least_cpu_seconds(lambda: few.hide(line), 15)


TOKEN = base64.b64encode(bytes(range(3, 153))).decode()


@pytest.mark.parametrize("length", [200, 60, 40, 20])
@pytest.mark.parametrize(
    "message",
    [
        "server said '{head}': sent",
        "server said {head}… for it",
        "server said {head}",
        "{tail} is no token",
        "server said\n{tail}\nonly",
        "at …{middle}… there",
        "see {head}... ({tail})",
        "b'Basic {head}\\n' was sent",
    ],
)
def test_secret_that_was_cut_is_hidden(message: str, length: int) -> None:
    first = 150 - length // 2
    parts = {"head": TOKEN[:length], "tail": TOKEN[-length:], "middle": TOKEN[first : first + length]}
    hidden = hide({"token": TOKEN}, message.format(**parts))
    assert hidden == message.format(**dict.fromkeys(parts, "<hidden>"))


def test_few_characters_of_a_cut_secret_are_hidden() -> None:
    settings = {"password": "hunter22-and-more", "credential": "floe-connect:hunter33"}
    assert (
        hide(settings, "it is 'hunter22' or hunter22… or \"nd-more\"") == "it is '<hidden>' or <hidden>… or \"nd-more\""
    )
    assert (
        hide(settings, "hunter22 for 'floe-connect' of floe-connect…") == "hunter22 for 'floe-connect' of floe-connect…"
    )


def test_secret_wrapped_over_lines_is_hidden() -> None:
    wrapped = "\n    ".join(TOKEN[at : at + 40] for at in range(0, len(TOKEN), 40))
    assert hide({"token": TOKEN}, f"sent:\n    {wrapped}\nrefused") == "sent:\n    <hidden>\nrefused"
    assert hide({"password": "hunter22"}, "it is hunt\n\ter22.") == "it is <hidden>."


@pytest.mark.parametrize("end", ["\n", "\r\n", "\t", "\x0b", "\x00", "\x85", "\u2028", "\\n", "%0A"])
def test_part_of_a_secret_behind_a_break_is_hidden_by_itself(end: str) -> None:
    mask = Mask.of({"iceberg.catalog.uri": f"postgresql://u@h/db?sslpassword=firstA1{end}secondB2"})
    assert mask.hide("option secondB2 of firstA1 is odd") == "option <hidden> of <hidden> is odd"


def test_overlapping_secrets_are_hidden_as_one() -> None:
    assert hide({"a.password": "abcdefgh", "b.password": "efghijkl"}, "x abcdefghijkl y") == "x <hidden> y"


def test_clip_hides_before_it_shortens() -> None:
    learn({"token": "clip-CANARY-" + "z9" * 94})
    for before in range(180, 210):
        message = clip("." * before + "clip-CANARY-" + "z9" * 94, 200)
        assert len(message) <= 200 and "CANARY" not in message and "clip" not in message


def test_what_stands_in_the_place_of_secrets_is_none() -> None:
    settings = {"a.password": "hidden", "b.password": "<hidden>", "c.password": "hunter22"}
    assert hide(settings, "hidden: hunter22") == "hidden: <hidden>"


@pytest.mark.parametrize(
    ("name", "value", "is_short"),
    [
        ("PYICEBERG_CATALOG__X__TOKEN", "abc", True),
        ("PYICEBERG_CATALOG__X__TOKEN", "long-enough", False),
        ("PYICEBERG_CATALOG__X__CREDENTIAL", "a-long-client:abc", True),
        ("PYICEBERG_CATALOG__X__URI", "postgresql://user:pw@host/db", True),
        ("PYICEBERG_CATALOG__X__URI", "postgresql+psycopg2://u:p%40@h/db?sslpassword=x", True),
        ("PYICEBERG_CATALOG__X__WAREHOUSE", "s3://id:secret@bucket", False),
        ("AIRFLOW_CONN_KAFKA", '{"extra": {"sasl.username": "abc", "sasl.password": "long-enough"}}', False),
        ("AIRFLOW_CONN_KAFKA", '{"extra": {"sasl.password": "abc"}}', True),
        ("SOME_TOKEN", "abc", False),
    ],
)
def test_short_secrets_of_connections_are_named(name: str, value: str, is_short: bool) -> None:
    assert short_in_environment({name: value}) == [name] * is_short
