"""Addresses that do and do not answer, the client that is not let in, listeners that cannot be reached."""

from __future__ import annotations

import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from floe.doctor import listener
from floe.doctor.brokers import fault_at, find_addresses, find_listeners, find_login
from floe.doctor.check import Case
from floe.doctor.listener import Certificate, servers_of, unreachable
from floe.kafka.exceptions import KafkaUnreachable
from floe.kafka.settings import KafkaSettings
from tests.support.kafka.doctor_case import (
    FakeCluster,
    Reply,
    as_broker,
    case_of,
    closed_port,
    found,
    levels,
    listening,
)
from tests.support.registry.certificates import Authority
from tests.support.registry.double import PAGE, serving


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("a:9093, b", [("a", 9093), ("b", 9092)]),
        ("SASL_SSL://a:9093", [("a", 9093)]),
        ("[::1]:9093,[::1]", [("::1", 9093), ("::1", 9092)]),
        ("a:port,", [("a", 0)]),
    ],
)
def test_servers_are_taken_apart(text: str, servers: list[tuple[str, int]]) -> None:
    assert list(servers_of(text, 9092)) == servers


@pytest.mark.parametrize(("host", "why"), [("no-such-host.invalid", "not known"), ("a\0b", ""), ("x" * 300, "")])
def test_unreachable_says_why(host: str, why: str) -> None:
    assert why in str(unreachable(host, 9092)) and unreachable(host, 9092) is not None


def test_addresses_that_answer_are_named_and_others_warned_of() -> None:
    with listening() as port:
        ok, other = found(find_addresses, case_of(servers=f"127.0.0.1:{port},127.0.0.1:{closed_port()}"))
    assert ok.text == f"127.0.0.1:{port} can be reached"
    assert other.level.value == "warning" and "Connection refused" in other.text
    assert "bootstrap.servers in the Airflow connection 'kafka_default'" in other.remedy


def test_no_address_that_answers_is_a_problem() -> None:
    (one,) = found(find_addresses, case_of(servers=f"127.0.0.1:{closed_port()}"))
    assert one.is_problem and "Connection refused" in one.text


def test_both_clients_are_checked_where_they_differ() -> None:
    with listening() as port:
        keys = {"iceberg.kafka.bootstrap.servers": f"127.0.0.1:{closed_port()}"}
        case = case_of(servers=f"127.0.0.1:{port}", **keys)
        findings = found(find_addresses, case)
    assert levels(findings) == ["ok", "problem"]
    assert "of the topics" in findings[0].text and "of the control topic" in findings[1].text


def test_login_names_cluster_and_user() -> None:
    case: Case = case_of()
    login = {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "floe",
        "sasl.password": "s3cret-passw0rd",
    }
    case.settings = KafkaSettings.of(case.connector, login)
    (one,) = found(find_login, case)
    assert one.text.startswith("cluster 'C1' lets user 'floe' (security.protocol SASL_SSL")
    case.source = FakeCluster(error=KafkaUnreachable("Kafka at b:9092 did not answer"))  # type: ignore[assignment]
    with pytest.raises(KafkaUnreachable):
        found(find_login, case)


@pytest.mark.parametrize(
    ("reply", "protocol", "text"),
    [
        (lambda _: b"HTTP/1.1 400 Bad Request\r\n", "plaintext", "speaks HTTP: it is no broker"),
        (lambda got: b"HTTP/1.1 200 OK\r\n" if got.startswith(b"GET") else None, "SASL_SSL", "speaks HTTP"),
        (lambda _: b"\x15\x03\x03\0\2\2\n", "SASL_PLAINTEXT", "speaks TLS, and security.protocol is SASL_PLAINTEXT"),
        (as_broker, "SSL", "speaks Kafka without TLS, and security.protocol is SSL"),
        (lambda _: b"", "plaintext", "takes connections and sends no answer"),
        (lambda _: None, "SSL", "sends no answer"),
    ],
)
def test_listener_of_another_protocol_is_named(
    reply: Reply, protocol: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "ANSWER_SECONDS", 0.3)
    with listening(reply) as port:
        (one,) = found(
            find_addresses,
            case_of(
                servers=f"127.0.0.1:{port}",
                **{"iceberg.kafka.security.protocol": protocol, "consumer.override.security.protocol": protocol},
            ),
        )
    assert one.is_problem and text in one.text
    assert one.remedy.startswith("correct security.protocol, or the port in bootstrap.servers, in the Airflow")


@pytest.mark.parametrize(
    ("host", "is_expired", "conf", "text"),
    [
        ("127.0.0.1", False, {}, None),
        ("127.0.0.1", True, {}, "certificate that expired at 20"),
        ("elsewhere.example", False, {}, "certificate for 'elsewhere.example'"),
        ("elsewhere.example", False, {"ssl.endpoint.identification.algorithm": "none"}, None),
        ("elsewhere.example", True, {"enable.ssl.certificate.verification": "false"}, None),
    ],
)
def test_certificate_that_is_not_taken_is_named(
    host: str, is_expired: bool, conf: dict[str, str], text: str | None, tmp_path: Path
) -> None:
    identity = Authority(tmp_path).issue("broker", host, is_expired=is_expired)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    with serving(PAGE, context) as server:
        port = int(server.url.rpartition(":")[2])
        fault = fault_at({"security.protocol": "ssl", **conf}, "the file", "127.0.0.1", port).fault
    assert (fault is None) == (text is None)
    assert text is None or (fault is not None and text in fault.text)


@pytest.mark.parametrize(
    ("name", "host", "fits"),
    [
        ("*.example.com", "b1.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "a.b.example.com", False),
        ("B1.example.com", "b1.Example.com.", True),
        ("::1", "0:0:0:0:0:0:0:1", True),
        ("127.0.0.1", "localhost", False),
    ],
)
def test_names_of_certificates_are_those_of_hosts(name: str, host: str, fits: bool) -> None:
    now = datetime.now(UTC)
    one = Certificate(now - timedelta(1), now + timedelta(1), (name,))
    assert (one.fault(host, now) is None) == fits
    assert "not valid before" in str(one.fault(host, now - timedelta(2)))


def test_servers_that_hang_are_asked_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "ANSWER_SECONDS", 0.2)
    with listening(lambda _: b"") as port:
        servers = ",".join([f"127.0.0.1:{port}", f"localhost:{port}"] * 10)
        began = time.monotonic()
        findings = found(find_addresses, case_of(servers=servers))
    assert levels(findings) == ["problem"] * 2 and time.monotonic() - began < 10


def test_announced_address_that_cannot_be_reached_is_a_problem() -> None:
    with listening() as port:
        nodes = {1: ("127.0.0.1", port), 2: ("127.0.0.1", closed_port())}
        (one,) = found(find_listeners, case_of(FakeCluster(nodes=nodes)))
        assert one.is_problem and "announces 127.0.0.1:" in one.text and "advertised.listeners" in one.remedy
        (fine,) = found(find_listeners, case_of(FakeCluster(nodes={1: nodes[1]})))
    assert fine.text.endswith(f"can be reached: 127.0.0.1:{port}")
