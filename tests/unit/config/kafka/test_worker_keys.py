"""Which client settings of a Connect worker's file are whose."""

import pytest

from floe.config.kafka.worker_keys import WorkerKeys
from floe.config.properties import Properties
from floe.config.worker_file import NO_FILE, WorkerFile

SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
WORKER = {
    "group.id": "connect-cluster",
    "config.storage.topic": "connect-configs",
    "rest.port": "8083",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": "10000",
}


def keys_of(**keys: str) -> WorkerKeys:
    return WorkerKeys.of(WorkerFile("/w.properties", Properties(keys)))


def consumer(settings: dict[str, str]) -> dict[str, str]:
    return {f"consumer.{name}": value for name, value in settings.items()}


def test_control_clients_take_keys_without_prefix() -> None:
    found = keys_of(**WORKER, **SASL, **{"bootstrap.servers": "a:1", "metadata.max.age.ms": "9000"})
    assert found.control.settings == {**SASL, "bootstrap.servers": "a:1", "metadata.max.age.ms": "9000"}
    assert found.without_effect == {"group.id": "floe's clients join no group"}


def test_consumer_takes_its_prefix_and_the_brokers() -> None:
    own = {**SASL, "fetch.min.bytes": "9"}
    found = keys_of(**consumer(own), **{"bootstrap.servers": "a:1", "ssl.ca.location": "/a", "client.id": "worker"})
    assert found.source.settings == {**own, "bootstrap.servers": "a:1"}
    assert found.source.spelled["fetch.min.bytes"] == "consumer.fetch.min.bytes"
    assert found.source.spelled["bootstrap.servers"] == "bootstrap.servers"


def test_consumer_without_security_takes_that_of_the_worker() -> None:
    found = keys_of(**SASL, **{"bootstrap.servers": "a:1", "client.id": "w", "consumer.client.rack": "r"})
    assert found.source.settings == {**SASL, "bootstrap.servers": "a:1", "client.rack": "r"}


def test_consumer_with_brokers_takes_no_security_of_the_worker() -> None:
    found = keys_of(**SASL, **{"bootstrap.servers": "a:1", "consumer.bootstrap.servers": "b:1"})
    assert found.source.settings == {"bootstrap.servers": "b:1"}
    assert found.control.settings == {**SASL, "bootstrap.servers": "a:1"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("isolation.level", "read_uncommitted"),
        ("max.poll.records", "500"),
        ("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor"),
        ("interceptor.classes", "x.Y"),
        ("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer"),
        ("ssl.cipher.suites", "TLS_AES_256_GCM_SHA384"),
        ("fetch.min.bytes", "0"),
        ("fetch.max.wait.ms", "900000"),
        ("no.such.setting", "1"),
        ("delivery.timeout.ms", "120000"),
        ("retries", "0"),
        ("max.in.flight.requests.per.connection", "10"),
        ("connections.max.idle.ms", "-1"),
    ],
)
def test_setting_that_no_client_takes_is_named(key: str, value: str) -> None:
    found = keys_of(**{f"consumer.{key}": value})
    assert found.source.settings == {}
    assert found.without_effect.keys() == {f"consumer.{key}"} and found.without_effect[f"consumer.{key}"]


def test_other_keys_of_the_worker_are_not_named() -> None:
    found = keys_of(
        **WORKER, **{"producer.acks": "all", "admin.client.id": "x", "consumer.auto.offset.reset": "latest"}
    )
    assert found.without_effect.keys() == {"group.id"} and not found.control.settings and not found.source.settings


def test_secrets_are_in_no_representation() -> None:
    found = keys_of(**{"sasl.jaas.config": "CANARY", "consumer.ssl.key.password": "CANARY"})
    assert found.control.settings["sasl.jaas.config"] == "CANARY"
    assert "CANARY" not in repr(found)


def test_no_file_has_no_settings() -> None:
    assert WorkerKeys.of(NO_FILE) == WorkerKeys() and not WorkerKeys().has_brokers
