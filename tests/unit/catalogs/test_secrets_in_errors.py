"""What libraries quote of a secret is hidden, whole or in pieces."""

import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogError
from floe.config import parse_connector
from floe.config.secrets.detection import secret_texts
from floe.config.secrets.mask import Mask
from tests.support.connectors import JSON

KEYS = {
    "name": "c",
    "topics": "t",
    "iceberg.tables": "db.t",
    "iceberg.catalog": "test",
    "iceberg.control.topic": "control",
    **JSON,
}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("iceberg.catalog.uri", "postgresql://user:pass:word@host:5432/db", "word"),
        ("iceberg.catalog.uri", "http://host/?token=abcdef&x=longer", "abcdef"),
        ("iceberg.catalog.credential", "client:secret", "secret"),
        ("topics", "orders", None),
    ],
)
def test_a_secret_is_cut_where_libraries_cut_it(key: str, value: str, expected: str | None) -> None:
    texts = secret_texts(key, value)
    assert expected in texts if expected else texts == set()


def test_text_without_secrets_stays() -> None:
    assert Mask.of({"iceberg.catalog.uri": "http://user:hunter2@host"}).hide("host is down") == "host is down"


@pytest.mark.parametrize(
    "catalog",
    [
        {"type": "sql", "uri": "postgresql+psycopg2://user:p@ss:CANARYw@host:5432/db"},
        {"type": "rest", "uri": "http://127.0.0.1:1/?token=CANARYt"},
    ],
)
def test_error_of_unopened_catalog_hides_its_secrets(catalog: Mapping[str, str], tmp_path: Path) -> None:
    properties = {**catalog, "warehouse": f"file://{tmp_path}"}
    connector = parse_connector({**KEYS, **{f"iceberg.catalog.{key}": value for key, value in properties.items()}})
    with pytest.raises(CatalogError) as caught:
        CatalogClient.of(connector)
    assert "CANARY" not in "".join(traceback.format_exception(caught.value))
    assert "hidden" in str(caught.value)
