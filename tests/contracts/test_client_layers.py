"""Precedence of client settings: one row is what each place gives, and what a client has of it.

The places are the worker file, the Airflow connection and the connector, for both of a connector's clients. A place that is
added gets its rows here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from floe.config import parse_connector
from floe.config.kafka.worker_keys import WorkerKeys
from floe.config.properties import Properties
from floe.config.worker_file import WorkerFile
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.settings import FIRST_BACKOFF, QUIET, KafkaSettings, Shared
from floe.tls.store_file import StoreFile
from floe.tls.stores import TlsIdentity
from tests.support.connectors import MINIMAL

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
ALWAYS = {"log_level": QUIET, "reconnect.backoff.ms": FIRST_BACKOFF}
A, B, C = ({"bootstrap.servers": f"{name}:9092"} for name in "abc")
TLS = {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"}
NONE = Properties()
LOGIN = {"sasl.username": "u", "sasl.password": "p"}
OF_SCRAM = {**A, "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256"}


def jaas(user: str, password: str) -> str:
    return f'{PLAIN} username="{user}" password="{password}";'


@dataclass(frozen=True)
class Row:
    """What the places give: ``connection`` is None where there is none. What the clients have then."""

    name: str
    worker: Mapping[str, str] = NONE
    connection: Mapping[str, Any] | None = None
    connector: Mapping[str, str] = NONE
    source: Mapping[str, Any] = NONE
    control: Mapping[str, Any] = NONE


ROWS = (
    Row("connection alone", connection={**A, **TLS}, source={**A, **TLS}, control={**A, **TLS}),
    Row("worker alone", worker=A, source=A, control=A),
    Row("worker's security with its brokers", worker={**A, **TLS}, source={**A, **TLS}, control={**A, **TLS}),
    Row(
        "connection without brokers adds",
        worker={**A, **TLS},
        connection=LOGIN,
        source={**A, **TLS, **LOGIN},
        control={**A, **TLS, **LOGIN},
    ),
    Row("connection with brokers takes no security", worker={**A, **TLS}, connection=B, source=B, control=B),
    Row(
        "connection with the worker's brokers takes no security",
        worker={**A, **TLS},
        connection=A,
        source=A,
        control=A,
    ),
    Row(
        "connection with brokers takes other settings",
        worker={**A, "metadata.max.age.ms": "9", "consumer.fetch.min.bytes": "7", **TLS},
        connection=B,
        source={**B, "fetch.min.bytes": "7"},
        control={**B, "metadata.max.age.ms": "9"},
    ),
    Row(
        "connection over worker",
        worker={**A, "metadata.max.age.ms": "9", "consumer.fetch.min.bytes": "7"},
        connection={"metadata.max.age.ms": 8, "fetch.min.bytes": 6},
        source={**A, "metadata.max.age.ms": 8, "fetch.min.bytes": 6},
        control={**A, "metadata.max.age.ms": 8, "fetch.min.bytes": 6},
    ),
    Row(
        "connector over connection over worker",
        worker={**A, "consumer.fetch.min.bytes": "7", "linger.ms": "3"},
        connection={"fetch.min.bytes": 6, "linger.ms": 2},
        connector={"consumer.override.fetch.min.bytes": "5", "iceberg.kafka.linger.ms": "1"},
        source={**A, "fetch.min.bytes": "5", "linger.ms": 2},
        control={**A, "fetch.min.bytes": 6, "linger.ms": "1"},
    ),
    Row(
        "consumer's login over the worker's",
        worker={**A, "security.protocol": "SASL_SSL", "sasl.jaas.config": jaas("w", "x")}
        | {"consumer.security.protocol": "SASL_SSL", "consumer.sasl.jaas.config": jaas("u", "p")},
        source={**A, "security.protocol": "SASL_SSL", **LOGIN},
        control={**A, "security.protocol": "SASL_SSL", "sasl.username": "w", "sasl.password": "x"},
    ),
    Row(
        "consumer's brokers without the worker's login",
        worker={**A, "sasl.jaas.config": jaas("u", "p"), "consumer.bootstrap.servers": "b:9092"},
        source=B,
        control={**A, **LOGIN},
    ),
    Row(
        "connector's brokers without the worker's login",
        worker={**A, "sasl.jaas.config": jaas("u", "p")},
        connector={"iceberg.kafka.bootstrap.servers": "c:9092"},
        source={**A, **LOGIN},
        control=C,
    ),
    Row(
        "connector that repeats the worker's brokers",
        worker={**A, "sasl.jaas.config": jaas("u", "p")},
        connector={"iceberg.kafka.bootstrap.servers": " A:9092"},
        source={**A, **LOGIN},
        control={"bootstrap.servers": " A:9092", **LOGIN},
    ),
    Row(
        "connector's brokers and login over the connection's",
        connection={**A, "sasl.jaas.config": jaas("w", "x"), "sasl.oauthbearer.client.secret": "y"},
        connector={"iceberg.kafka.bootstrap.servers": "c:9092", "iceberg.kafka.sasl.jaas.config": jaas("u", "p")},
        source={**A, "sasl.username": "w", "sasl.password": "x", "sasl.oauthbearer.client.secret": "y"},
        control={**C, **LOGIN},
    ),
    Row(
        "connector that repeats the connection's brokers",
        connection={**A, **LOGIN},
        connector={"iceberg.kafka.bootstrap.servers": "A:9092"},
        source={**A, **LOGIN},
        control={"bootstrap.servers": "A:9092", **LOGIN},
    ),
    Row(
        "connector that says the same, or what no login suffers from, over the connection's",
        connection={**A, **LOGIN, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
        connector={"iceberg.kafka.security.protocol": "SASL_SSL", "iceberg.kafka.sasl.mechanism": "PLAIN"},
        source={**A, **LOGIN, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
        control={**A, **LOGIN, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
    ),
    Row(
        "connector's login in Java's words",
        worker=A,
        connector={"iceberg.kafka.sasl.jaas.config": jaas("u", "p"), "consumer.override.fetch.max.wait.ms": "9"},
        source={**A, "fetch.wait.max.ms": "9"},
        control={**A, **LOGIN},
    ),
    Row(
        "one way to say it replaces the others",
        worker={**A, "ssl.truststore.certificates": "w", "ssl.keystore.location": "/w.p12"},
        connection={"ssl.ca.location": "/c", "ssl.certificate.location": "/c", "ssl.key.location": "/k"},
        source={**A, "ssl.ca.location": "/c", "ssl.certificate.location": "/c", "ssl.key.location": "/k"},
        control={**A, "ssl.ca.location": "/c", "ssl.certificate.location": "/c", "ssl.key.location": "/k"},
    ),
    Row(
        "password of a store from another place",
        connection={**A, "ssl.keystore.location": "/x.p12"},
        connector={"consumer.override.ssl.keystore.password": "p"},
        source={**A, "ssl.keystore.location": "/x.p12", "ssl.keystore.password": "p"},
        control={**A, "ssl.keystore.location": "/x.p12"},
    ),
    Row(
        "certificate and key from two places",
        worker={**A, "ssl.keystore.certificate.chain": "c"},
        connection={"ssl.key.pem": "k"},
        source={**A, "ssl.certificate.pem": "c", "ssl.key.pem": "k"},
        control={**A, "ssl.certificate.pem": "c", "ssl.key.pem": "k"},
    ),
    Row(
        "null is not given",
        worker=A,
        connection={"bootstrap.servers": None, "ssl.endpoint.identification.algorithm": None},
        source=A,
        control=A,
    ),
    *(
        Row(
            f"worker's login is for its own alone: {name}",
            worker={**A, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", **LOGIN},
            connector={f"iceberg.kafka.{name}": value},
            source={**A, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", **LOGIN},
            control={**A, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", name: value},
        )
        for name, value in (
            ("sasl.oauthbearer.token.endpoint.url", "https://evil"),
            ("security.protocol", "SASL_PLAINTEXT"),
            ("enable.ssl.certificate.verification", "false"),
            ("ssl.endpoint.identification.algorithm", "none"),
            ("ssl.ca.location", "/other"),
        )
    ),
    *(
        Row(
            f"worker's login is not for a connection's: {name}",
            worker={**A, "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", **LOGIN},
            connection={name: value},
            source={**OF_SCRAM, name: value},
            control={**OF_SCRAM, name: value},
        )
        for name, value in (
            ("sasl.oauthbearer.token.endpoint.url", "https://evil"),
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", "PLAIN"),
            ("enable.ssl.certificate.verification", "false"),
            ("ssl.ca.location", "/other"),
        )
    ),
    Row(
        "mechanism in librdkafka's other name",
        worker={**A, "sasl.mechanism": "PLAIN", **LOGIN},
        connection={"sasl.mechanisms": "PLAIN"},
        source={**A, "sasl.mechanisms": "PLAIN", **LOGIN},
        control={**A, "sasl.mechanisms": "PLAIN", **LOGIN},
    ),
    Row(
        "connection with a login and trust of its own, without brokers",
        worker={**A, "security.protocol": "SASL_SSL", "sasl.jaas.config": jaas("w", "x")},
        connection={"ssl.ca.location": "/other", **LOGIN},
        source={**A, "security.protocol": "SASL_SSL", "ssl.ca.location": "/other", **LOGIN},
        control={**A, "security.protocol": "SASL_SSL", "ssl.ca.location": "/other", **LOGIN},
    ),
    Row(
        "what cannot be translated counts where it is taken",
        worker={**A, "ssl.truststore.location": "/w.jks", "sasl.jaas.config": "x.Krb5LoginModule required;"},
        connection=B,
        source=B,
        control=B,
    ),
)


def settings_of(row: Row) -> KafkaSettings:
    worker = WorkerFile("/w.properties" if row.worker else "", Properties(row.worker))
    connector = parse_connector({**MINIMAL, **row.connector})
    return KafkaSettings.over(Shared("kafka_default", row.connection, WorkerKeys.of(worker)), connector)


@pytest.mark.parametrize("row", ROWS, ids=[row.name.replace(" ", "-") for row in ROWS])
def test_client_has_what_counts(row: Row) -> None:
    found = settings_of(row)
    assert dict(found.source) == {**ALWAYS, **row.source}
    assert dict(found.control) == {**ALWAYS, **row.control}


@pytest.mark.parametrize(
    ("row", "origin"),
    [
        (Row("", connection=A), "the Airflow connection 'kafka_default'"),
        (Row("", worker=A), "the worker file /w.properties (FLOE_WORKER_CONFIG)"),
        (
            Row("", worker=A, connection=LOGIN),
            "the worker file /w.properties (FLOE_WORKER_CONFIG) with the Airflow connection 'kafka_default'",
        ),
        (Row("", worker={**A, **TLS}, connection=B), "the Airflow connection 'kafka_default'"),
        (
            Row("", worker={"linger.ms": "1"}, connection=B, connector={"iceberg.kafka.retries": "2"}),
            "the Airflow connection 'kafka_default' over the worker file /w.properties (FLOE_WORKER_CONFIG) with the "
            "connector's iceberg.kafka.*",
        ),
    ],
)
def test_origin_names_the_places_that_count(row: Row, origin: str) -> None:
    assert settings_of(row).origin == origin


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            Row("", worker={"linger.ms": "1"}, connection={}),
            r"names no brokers for the topics that are read: put .* of the Airflow connection 'kafka_default', or "
            r"bootstrap.servers=host:9092 into the worker file /w.properties",
        ),
        (Row("", worker={"consumer.bootstrap.servers": "a:1"}), "names no brokers for the control topic"),
        (Row("", connection={}), r"into a worker file \(FLOE_WORKER_CONFIG is not set\)"),
        (
            Row("", worker={**A, "consumer.ssl.truststore.location": "/w.jks"}),
            r"^the worker file /w.properties .*: consumer\.ssl\.truststore\.location '/w\.jks': it cannot be read",
        ),
        (
            Row("", worker={**A, "ssl.keystore.location": "/w", "ssl.key.password": "x"}),
            r"^the worker file /w.properties .*: ssl\.keystore\.location '/w': it cannot be read",
        ),
        (
            Row("", worker={**A, "ssl.keystore.location": "/w.jks"}, connection={"ssl.keystore.password": "p"}),
            r"^the worker file /w.properties .*: ssl\.keystore\.location '/w\.jks': it cannot be read",
        ),
        (
            Row("", connection={**A, "ssl.truststore.location": "/c.jks"}),
            r"^the Airflow connection 'kafka_default': ssl\.truststore\.location '/c\.jks': it cannot be read",
        ),
        (
            Row("", worker={**A, "sasl.jaas.config": "x.Krb5LoginModule required;"}),
            r"^the worker file .*: sasl\.jaas\.config: .* and sasl\.kerberos\.keytab.*Nothing was read or written",
        ),
        *(
            (
                Row("", worker={**A, "ssl.keystore.location": "/w.jks"}, connection={half: "x"}),
                rf"^the Airflow connection 'kafka_default': {half}: it is half of .* Set {other} beside it, or remove it",
            )
            for half, other in (
                ("ssl.key.pem", "ssl.certificate.pem"),
                ("ssl.certificate.location", "ssl.key.location"),
            )
        ),
        (
            Row("", connection={**A, "sasl.login.callback.handler.class": "x.Y"}),
            r"^the Airflow connection 'kafka_default': sasl\.login\.callback\.handler\.class: it names Java's code",
        ),
    ],
)
def test_what_is_missing_or_unusable_is_named(row: Row, message: str) -> None:
    with pytest.raises(KafkaMisconfigured, match=message):
        settings_of(row)


@pytest.mark.parametrize("store", ["ssl.truststore", "ssl.keystore"])
def test_store_has_the_password_of_another_place(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[StoreFile] = []

    def read(one: StoreFile, *_: str) -> TlsIdentity | str:
        seen.append(one)
        return TlsIdentity("c", "k") if "key" in one.option else "c"

    monkeypatch.setattr("floe.kafka.settings.trusted_certificates", read)
    monkeypatch.setattr("floe.kafka.settings.identity", read)
    settings_of(Row("", worker={**A, f"{store}.location": "/w.jks"}, connection={f"{store}.password": "p"}))
    assert {(one.path, one.password) for one in seen} == {("/w.jks", "p")}


def test_login_that_is_not_used_is_named(caplog: pytest.LogCaptureFixture) -> None:
    over = {"iceberg.kafka.sasl.oauthbearer.token.endpoint.url": "https://evil"}
    settings_of(Row("", worker={**A, "sasl.oauthbearer.client.secret": "CANARY"}, connector=over))
    assert "iceberg.kafka.sasl.oauthbearer.token.endpoint.url would let others have it" in caplog.text
    assert "CANARY" not in caplog.text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iceberg.kafka.bootstrap.servers", "c:9092"),
        ("iceberg.kafka.bootstrap.servers", "a:9092,c:9092"),
        ("iceberg.kafka.bootstrap.servers", "\N{FULLWIDTH LATIN SMALL LETTER A}:9092"),
        ("iceberg.kafka.sasl.oauthbearer.token.endpoint.url", "https://evil"),
        ("iceberg.kafka.security.protocol", "SASL_PLAINTEXT"),
        ("iceberg.kafka.sasl.mechanism", "PLAIN"),
        ("iceberg.kafka.enable.ssl.certificate.verification", "false"),
        ("iceberg.kafka.ssl.endpoint.identification.algorithm", "none"),
        ("iceberg.kafka.ssl.endpoint.identification.algorithm", ""),
        ("iceberg.kafka.ssl.ca.pem", "-----BEGIN CERTIFICATE-----"),
        ("iceberg.kafka.ssl.truststore.certificates", "-----BEGIN CERTIFICATE-----"),
        ("iceberg.kafka.https.ca.pem", "-----BEGIN CERTIFICATE-----"),
        ("iceberg.kafka.ssl.cipher.suites", "NULL"),
        ("consumer.override.security.protocol", "sasl_plaintext"),
        ("consumer.override.sasl.oauthbearer.token.endpoint.url", "https://evil"),
    ],
)
@pytest.mark.parametrize("with_worker", [False, True], ids=["", "over a worker file"])
def test_login_of_a_connection_does_not_follow_a_connector(name: str, value: str, with_worker: bool) -> None:
    secret = {"sasl.oauthbearer.client.id": "u", "sasl.oauthbearer.client.secret": "CANARY", "sasl.password": "CANARY"}
    own = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", **secret}
    worker = {**A, "ssl.ca.location": "/ca.pem"} if with_worker else {}
    connection = own if with_worker else {**A, **own}
    with pytest.raises(KafkaMisconfigured, match="would let others") as caught:
        settings_of(Row("", worker=worker, connection=connection, connector={name: value}))
    prefix = "iceberg.kafka." if name.startswith("iceberg") else "consumer.override."
    assert prefix in str(caught.value) and "the Airflow connection 'kafka_default'" in str(caught.value)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("brokers", ["a:9092", "B:9092, a:9092"])
def test_brokers_of_a_connection_may_be_named_again(brokers: str) -> None:
    own = {"bootstrap.servers": "a:9092,b:9092", "sasl.username": "u", "sasl.password": "p"}
    found = settings_of(Row("", connection=own, connector={"iceberg.kafka.bootstrap.servers": brokers}))
    assert (found.control["bootstrap.servers"], found.control["sasl.password"]) == (brokers, "p")


@pytest.mark.parametrize("with_worker", [False, True], ids=["", "of a worker file"])
def test_brokers_by_another_name_beside_those_of_the_login_do_not_get_it(with_worker: bool) -> None:
    own = {**A, "sasl.username": "u", "sasl.password": "CANARY"}
    over = {"iceberg.kafka.bootstrap.servers": A["bootstrap.servers"], "iceberg.kafka.metadata.broker.list": "c:9092"}
    if with_worker:
        assert "CANARY" not in str(settings_of(Row("", worker=own, connector=over)).control)
        return
    with pytest.raises(KafkaMisconfigured, match="would let others"):
        settings_of(Row("", connection=own, connector=over))


def test_login_of_msk_does_not_follow_a_connector() -> None:
    iam = "software.amazon.msk.auth.iam.IAMLoginModule required;"
    own = {**A, "security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": iam}
    with pytest.raises(KafkaMisconfigured, match=r"iceberg\.kafka\.bootstrap\.servers would let others"):
        settings_of(Row("", connection=own, connector={"iceberg.kafka.bootstrap.servers": "c:9092"}))


def test_a_place_without_a_worker_file_changes_no_setting() -> None:
    connection = {**A, "linger.ms": 5, "sasl.password": "${not a reference}", "enable.sparse": True}
    found = KafkaSettings.of(parse_connector(MINIMAL), connection)
    assert found.source == found.control == {**ALWAYS, **connection}
