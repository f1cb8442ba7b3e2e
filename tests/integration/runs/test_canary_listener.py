"""Every key that a run may set is set to the address of a listener: nothing connects to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from floe.config import ConfigError, KeyClass, OverrideRefused, override
from floe.config.keys.lookup import KEYS
from floe.config.libraries.client_settings import CLIENT_SETTINGS
from floe.config.libraries.library_settings import CATALOG
from floe.config.libraries.table_property_names import KNOWN_PROPERTIES
from floe.config.overrides.run_keys import class_of
from floe.exceptions import FloeError
from stack.settings import LOOPBACK
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import replay

FORMS = ("{}", "http://{}/x", "s3://{}/x", "a,http://{}")
METADATA = {"transforms": "m", "transforms.m.type": "KafkaMetadataTransform"}
BY_FIELD = {"iceberg.tables.route-field": "kind", "iceberg.table.db.t.route-regex": ".*", **METADATA}
BY_HEADER = {
    "iceberg.tables": "",
    "floe.route.by": "header",
    "floe.route.header": "kind",
    "floe.route.template": "db.{value}",
    "floe.route.on-unroutable": "drop",
    **METADATA,
}


@dataclass
class Listener:
    """Accepts on loopback and counts who comes."""

    server: socket.socket = field(default_factory=lambda: socket.create_server((LOOPBACK, 0)))
    met: list[object] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.server.getsockname()[1]}"

    def serve(self) -> None:
        while True:
            try:
                connection, peer = self.server.accept()
            except OSError:
                return
            self.met.append(peer)
            connection.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    thread = threading.Thread(target=one.serve, daemon=True)
    thread.start()
    yield one
    one.server.shutdown(socket.SHUT_RDWR)
    one.server.close()
    thread.join(5)


def spelled() -> list[str]:
    """Every key of the table, patterns filled in with each of their members and with what libraries know."""
    rests = {
        "consumer.override.": CLIENT_SETTINGS,
        "iceberg.kafka.": CLIENT_SETTINGS,
        "iceberg.catalog.": CATALOG,
        "iceberg.tables.write-props.": KNOWN_PROPERTIES,
        "iceberg.table.write-props.": KNOWN_PROPERTIES,
        "iceberg.tables.auto-create-props.": KNOWN_PROPERTIES,
        "transforms.": ("m.type", "m.field_name", "m.nested", "m.external_field", "m.include_key", "m.predicate"),
    }
    keys = []
    for entry in KEYS:
        if entry.name.endswith("*"):
            keys += [entry.prefix + rest.replace("*", "x") for rest in rests.get(entry.prefix, ("x", "x.url"))]
        else:
            keys.append(entry.name.replace("<table>", "db.t"))
    return keys


@pytest.mark.parametrize("keys", [BY_FIELD, BY_HEADER], ids=["field", "header"])
def test_no_key_of_a_run_leads_to_the_listener(
    pipeline: MakePipeline, listener: Listener, keys: dict[str, str]
) -> None:
    one = pipeline(partitions=1, **{**keys, "iceberg.catalog.token": "canary-token"})
    record = {"headers": [("kind", b"t")], "key": b"k"}
    one.produce(({"id": i, "kind": "a"} for i in range(10)), record=record)
    one.run()
    taken = []
    for key in spelled():
        for form in FORMS:
            over = {key: form.replace("{}", listener.address)}
            try:
                made = override(one.connector, over, KeyClass.REPLAY)
            except ConfigError:
                continue
            assert class_of(key) is not KeyClass.FILE
            taken.append(key)
            run = Pipeline(one.bootstrap, one.topic, made)
            try:
                replay(run, topic=one.topic, ranges={"0": [0, 10]}, overlap="append")
            except FloeError as error:
                assert listener.address not in str(error.__cause__ or "")
    assert listener.met == []
    assert {"transforms.m.field_name", "transforms.m.external_field"} <= set(taken)


def test_a_listener_counts_who_comes(listener: Listener) -> None:
    with socket.create_connection(listener.address.split(":")) as connection:
        assert connection.recv(1) == b""
    assert len(listener.met) == 1


@pytest.mark.parametrize("allowed", [KeyClass.LIVE, KeyClass.REPLAY])
def test_all_that_leads_elsewhere_is_left_to_the_file(pipeline: MakePipeline, allowed: KeyClass) -> None:
    one = pipeline(partitions=1)
    words = ("uri", "url", "host", "endpoint", "location", ".path", "servers", "conn-id", "iceberg.catalog", "group-id")
    elsewhere = [key for key in spelled() if any(word in key for word in words)]
    assert [key for key in elsewhere if class_of(key) is not KeyClass.FILE] == []
    for key in elsewhere:
        with pytest.raises(OverrideRefused):
            override(one.connector, {key: "127.0.0.1:1"}, allowed)


def test_the_largest_numbers_that_a_run_may_set_do_no_harm(pipeline: MakePipeline) -> None:
    one = pipeline(partitions=1)
    one.produce({"id": i} for i in range(50))
    largest = str(2**31 - 1)
    keys = (
        "tasks.max",
        "iceberg.control.commit.threads",
        "iceberg.control.commit.timeout-ms",
        "floe.max-records-per-run",
    )
    sizes = ("target-file-size-bytes", "parquet.row-group-limit", "parquet.page-row-limit", "parquet.dict-size-bytes")
    config = {**dict.fromkeys(keys, largest), **{f"iceberg.tables.write-props.write.{size}": largest for size in sizes}}
    Pipeline(one.bootstrap, one.topic, override(one.connector, config)).run()
    assert one.column("id") == list(range(50))
