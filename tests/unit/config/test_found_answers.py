"""Connector files as people publish them, in ``found_files``: what the check answers to each, problem by problem."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from floe.config.check import file_json
from floe.config.connector_files import read_file

FOLDER = Path(__file__).parent / "found_files"
CATALOG = "iceberg.catalog."
SET = "is no setting of PyIceberg that floe hands on; set iceberg.catalog."
NO_CONVERTER = "value.converter is not given"
UPSERTS = "is not supported yet: Comes with upserts. Remove it: rows are appended."

PROBLEMS: Mapping[str, tuple[str, ...]] = {
    "aiven": (),
    "biglake-gcs": ("floe has no catalog in the place of this class", "gcp_project is no", "gcp_location is no"),
    "databricks-unity": (f"{CATALOG}oauth2.token {SET}token",),
    "debezium-tabular-smt": (f"iceberg.tables.cdc-field {UPSERTS}", "reads keys, but no key.converter is given"),
    "debezium-unwrap": (f"iceberg.tables.upsert-mode-enabled {UPSERTS}",),
    "getindata": (
        "Must specify Iceberg catalog properties: set iceberg.catalog.type",
        "Must specify table name(s): set iceberg.tables, or floe.route.template",
        "'iceberg.catalog-impl'; set iceberg.catalog.catalog-impl",
        "'iceberg.warehouse'; set iceberg.catalog.warehouse",
        "'iceberg.fs.s3a.access.key'; set iceberg.hadoop.fs.s3a.access.key",
        "'iceberg.name'; set iceberg.catalog",
        "connector.class 'com.getindata.kafka.connect.iceberg.sink.IcebergSink' is not supported",
    ),
    "hive-s3a": (),
    "iceberg-docs-dynamic": (NO_CONVERTER,),
    "iceberg-docs-routed": (NO_CONVERTER,),
    "iceberg-docs-static": (NO_CONVERTER,),
    "kafka-metadata-partition": (
        "'iceberg.table.db.t.sort-by'; set floe.table.db.t.sort-by",
        "'errors.deadletterqueue.topic'; set errors.deadletterqueue.topic.name",
        "did you mean org.apache.iceberg.connect.transforms.KafkaMetadataTransform?",
        "write org.apache.kafka.connect.transforms.TimestampConverter$Value",
        "'bucket(16, id)' needs a column and a positive number: bucket(id, 16)",
        f"{CATALOG}region {SET}client.region",
    ),
    "minio-rest-compose": (
        "'value.converter.schemas.enabled'; the nearest known key is value.converter.schemas.enable",
        "the nearest known one is iceberg.tables.auto-create-props.format-version",
        f"{CATALOG}s3.access-key {SET}s3.access-key-id",
        f"{CATALOG}s3.secret-key {SET}s3.secret-access-key",
    ),
    "msk-connect-glue": (),
    "nessie-rest-ref": (f"a branch of Nessie is set with {CATALOG}type nessie, or is the end of {CATALOG}uri",),
    "protobuf-azure": (),
    "redpanda-connect-style": (
        "'iceberg.tables.evolve-schema'; the nearest known key is iceberg.tables.evolve-schema-enabled",
        "is not supported: floe answers the Iceberg sink only",
    ),
    "s3tables-java": (),
    "snowflake-polaris": (
        f"{CATALOG}client-id {SET}credential to client-id:client-secret",
        f"{CATALOG}client-secret {SET}credential to client-id:client-secret",
    ),
    "strimzi": ("write what is in spec.config as the file",),
    "strimzi-flat": ("'tasksMax'; the nearest known key is tasks.max",),
    "tabular-0.4": (
        "'iceberg.tables.routeField'; the nearest known key is iceberg.tables.route-field",
        "the nearest known key is iceberg.table.default.events.route-regex",
        "the nearest known key is iceberg.tables.upsert-mode-enabled, and floe does not support it",
        "the nearest known key is iceberg.control.commit.timeout-ms",
        "the nearest known key is iceberg.control.group-id",
        NO_CONVERTER,
    ),
    "tabular-docs-cdc": (f"iceberg.tables.cdc-field {UPSERTS}", NO_CONVERTER),
}
"""A part of each problem, in their order."""

JSON_VALUES = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
FOLLOWED: Mapping[str, Mapping[str, str | None]] = {
    "databricks-unity": {f"{CATALOG}oauth2.token": None, f"{CATALOG}token": "dapi0123456789"},
    "debezium-tabular-smt": {
        "iceberg.tables.cdc-field": None,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    },
    "debezium-unwrap": {"iceberg.tables.upsert-mode-enabled": None},
    "iceberg-docs-static": JSON_VALUES,
    "kafka-metadata-partition": {
        "iceberg.table.db.t.sort-by": None,
        "floe.table.db.t.sort-by": "ts",
        "errors.deadletterqueue.topic": None,
        "errors.deadletterqueue.topic.name": "dlq",
        "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
        "transforms.ts.type": "org.apache.kafka.connect.transforms.TimestampConverter$Value",
        "iceberg.tables.default-partition-by": "days(ts),bucket(id, 16)",
        f"{CATALOG}region": None,
        f"{CATALOG}client.region": "eu-west-1",
    },
    "minio-rest-compose": {
        "value.converter.schemas.enabled": None,
        "value.converter.schemas.enable": "false",
        "iceberg.tables.auto-create-props.format.version": None,
        "iceberg.tables.auto-create-props.format-version": "2",
        f"{CATALOG}s3.access-key": None,
        f"{CATALOG}s3.access-key-id": "admin",
        f"{CATALOG}s3.secret-key": None,
        f"{CATALOG}s3.secret-access-key": "password",
    },
    "nessie-rest-ref": {f"{CATALOG}type": "nessie"},
    "snowflake-polaris": {
        f"{CATALOG}client-id": None,
        f"{CATALOG}client-secret": None,
        f"{CATALOG}credential": "abc:s3cr3t-of-the-client",
    },
    "tabular-0.4": {
        "iceberg.tables.routeField": None,
        "iceberg.tables.route-field": "type",
        "iceberg.table.default.events.routeRegex": None,
        "iceberg.table.default.events.route-regex": "list",
        "iceberg.tables.upsertModeEnabled": None,
        "iceberg.control.commitTimeoutMs": None,
        "iceberg.control.commit.timeout-ms": "20000",
        "iceberg.control.group.id": None,
        "iceberg.control.group-id": "cg",
        **JSON_VALUES,
    },
}
"""What the answers say, done: keys by their new value, or removed."""


def answer(path: Path) -> dict[str, Any]:
    return file_json(read_file(path))


def test_each_file_has_its_answer() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == PROBLEMS.keys()


@pytest.mark.parametrize("name", PROBLEMS)
def test_file_is_answered_problem_by_problem(name: str) -> None:
    found = answer(FOLDER / f"{name}.json")["problems"]
    assert len(found) == len(PROBLEMS[name]), found
    for problem, part in zip(found, PROBLEMS[name], strict=True):
        assert part in problem


@pytest.mark.parametrize("name", FOLLOWED)
def test_file_passes_once_the_answers_are_followed(name: str, tmp_path: Path) -> None:
    document = json.loads((FOLDER / f"{name}.json").read_text())
    config = {**document["config"], **FOLLOWED[name]}
    document["config"] = {key: value for key, value in config.items() if value is not None}
    (path := tmp_path / "a.json").write_text(json.dumps(document))
    assert answer(path)["problems"] == []


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "msk-connect-glue",
            ("no place for dead letters", "key.converter has no effect", "schemas.enable has no", "io-impl"),
        ),
        ("protobuf-azure", ("group-id-prefix has no effect", "auto.register.schemas has no effect", "io-impl has no")),
        ("s3tables-java", ("io-impl has no effect", "s3.delete-enabled has no effect")),
    ],
)
def test_file_that_passes_is_warned_of_what_has_no_effect(name: str, parts: tuple[str, ...]) -> None:
    found = answer(FOLDER / f"{name}.json")["warnings"]
    assert len(found) == len(parts), found
    assert all(part in warning for warning, part in zip(found, parts, strict=True))
