"""Connectors as the documentation of other systems has them, with a worker file beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floe.config import ConfigError, read_connector
from floe.config.worker_file import VARIABLE
from tests.support.connectors import JSON

CATALOG_OF_A_VENDOR = {
    "name": "events-sink",
    "config": {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": "events",
        "iceberg.tables": "sales.events",
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": "https://workspace.example/api/2.1/unity-catalog/iceberg-rest",
        "iceberg.catalog.oauth2-server-uri": "https://workspace.example/oidc/v1/token",
        "iceberg.catalog.token": "token-of-a-principal",
        "iceberg.catalog.warehouse": "main",
    },
}
"""It names no converter: a Connect worker has the default."""


def test_a_connector_without_converter_needs_a_worker_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(CATALOG_OF_A_VENDOR))
    with pytest.raises(ConfigError, match=r"value\.converter is not given"):
        read_connector(path)
    worker = tmp_path / "connect-distributed.properties"
    worker.write_text(
        "bootstrap.servers=broker:9092\ngroup.id=connect\nkey.converter=org.apache.kafka.connect.storage.StringConverter\n"
        + "".join(f"{key}={value}\n" for key, value in JSON.items())
        + "offset.storage.topic=connect-offsets\nplugin.path=/usr/share/java\n"
    )
    monkeypatch.setenv(VARIABLE, str(worker))
    connector = read_connector(path)
    assert connector.warnings == () and connector.tables == ("sales.events",)
