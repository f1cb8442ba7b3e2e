"""Addresses that do and do not answer, the client that is not let in, listeners that cannot be reached."""

from __future__ import annotations

import pytest

from floe.doctor.addresses import servers_of, unreachable
from floe.doctor.brokers import find_addresses, find_listeners, find_login
from floe.doctor.case import Case
from floe.kafka.exceptions import KafkaUnreachable
from floe.kafka.settings import KafkaSettings
from tests.support.kafka.doctor_case import FakeCluster, case_of, closed_port, found, levels, listening


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


def test_announced_address_that_cannot_be_reached_is_a_problem() -> None:
    with listening() as port:
        nodes = {1: ("127.0.0.1", port), 2: ("127.0.0.1", closed_port())}
        (one,) = found(find_listeners, case_of(FakeCluster(nodes=nodes)))
        assert one.is_problem and "announces 127.0.0.1:" in one.text and "advertised.listeners" in one.remedy
        (fine,) = found(find_listeners, case_of(FakeCluster(nodes={1: nodes[1]})))
    assert fine.text.endswith(f"can be reached: 127.0.0.1:{port}")
