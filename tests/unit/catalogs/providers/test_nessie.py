"""What floe sends to Nessie, by a double of its answers; the real server is in tests/integration/catalogs/test_nessie.py."""

from __future__ import annotations

import io
import json
from typing import Any
from unittest.mock import patch

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import AddSchemaUpdate, RemoveSnapshotsUpdate, SetSnapshotRefUpdate, TableUpdate
from pyiceberg.types import LongType, NestedField
from requests import PreparedRequest, Response, Session

from floe.catalogs.exceptions import CatalogMisconfigured, TableRefused
from floe.catalogs.providers.nessie.catalog import COMMIT_ID, NessieCatalog, prefix_at
from floe.catalogs.providers.nessie.provider import NessieProvider

CONFIG = {"defaults": {"prefix": "main%7Cwh"}, "overrides": {"nessie.is-nessie-catalog": "true"}}
SCHEMA = Schema(NestedField(1, "a", LongType(), required=False))


class Server:
    """Answers ``/v1/config``, and every commit with one status; remembers what was sent."""

    def __init__(self, config: dict[str, Any] = CONFIG, status: int = 409) -> None:
        self.config, self.status = config, status
        self.sent: list[PreparedRequest] = []

    def send(self, _: Session, request: PreparedRequest, **__: Any) -> Response:
        answer = Response()
        answer.request, answer.url = request, request.url or ""
        is_config = "/v1/config" in answer.url
        answer.status_code = 200 if is_config else self.status
        error = {"error": {"message": "no", "type": "X", "code": self.status}}
        answer.raw = io.BytesIO(json.dumps(self.config if is_config else error).encode())
        self.sent += [] if is_config else [request]
        return answer

    def opened(self) -> NessieCatalog:
        return NessieCatalog("n", uri="http://127.0.0.1:1/iceberg/main")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(Session, "send", lambda session, request, **over: made.send(session, request, **over))
    return made


def table_of(catalog: NessieCatalog, **properties: str) -> Table:
    made = new_table_metadata(SCHEMA, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "s3://lake/t", properties)
    metadata = made.model_copy(update={"last_column_id": 3})
    return Table(("db", "t"), metadata, "s3://lake/t/metadata/1.json", None, catalog)  # type: ignore[arg-type]


def test_commit_names_the_hash_of_its_table(server: Server) -> None:
    catalog = server.opened()
    with pytest.raises(CommitFailedException):
        catalog.commit_table(table_of(catalog, **{COMMIT_ID: "abc"}), (), ())
    assert server.sent[0].url == "http://127.0.0.1:1/iceberg/main/v1/main%40abc%7Cwh/namespaces/db/tables/t"


def test_added_schema_names_the_last_column(server: Server) -> None:
    catalog = server.opened()
    with pytest.raises(CommitFailedException):
        catalog.commit_table(table_of(catalog, **{COMMIT_ID: "abc"}), (), (AddSchemaUpdate(schema=SCHEMA),))
    assert json.loads(server.sent[0].body or "")["updates"][0]["last-column-id"] == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_commit_without_a_clear_answer_is_unknown(server: Server, status: int) -> None:
    catalog = server.opened()
    server.status = status
    with pytest.raises(CommitStateUnknownException):
        catalog.commit_table(table_of(catalog, **{COMMIT_ID: "abc"}), (), ())
    assert len(server.sent) == 1


def test_table_without_a_hash_is_refused_unsent(server: Server) -> None:
    catalog = server.opened()
    with pytest.raises(TableRefused, match=r"nessie\.commit\.id") as caught:
        catalog.commit_table(table_of(catalog), (), ())
    assert (caught.value.code, server.sent) == ("FLOE-442", [])


def test_other_rest_server_is_refused(server: Server) -> None:
    server.config = {"defaults": {}, "overrides": {}}
    with pytest.raises(CatalogMisconfigured, match="no Iceberg REST endpoint of Nessie"):
        server.opened()


@pytest.mark.parametrize(
    "update",
    [
        SetSnapshotRefUpdate.model_validate({"ref-name": "audit", "type": "branch", "snapshot-id": 1}),
        SetSnapshotRefUpdate.model_validate({"ref-name": "v1", "type": "tag", "snapshot-id": 1}),
        RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [1]}),
    ],
)
def test_what_nessie_would_ignore_is_refused_unsent(server: Server, update: TableUpdate) -> None:
    catalog = server.opened()
    table = table_of(catalog, **{COMMIT_ID: "abc"})
    with patch.object(catalog, "commit_table") as sent, pytest.raises(TableRefused, match="no branches") as caught:
        NessieProvider().commit(table, (), (update,))
    assert (caught.value.code, sent.called) == ("FLOE-440", False)


@pytest.mark.parametrize(
    ("prefix", "made"), [("main", "main%40h"), ("a%2Fb%7Cs3%3A%2F%2Fx", "a%2Fb%40h%7Cs3%3A%2F%2Fx")]
)
def test_prefix_is_made_for_a_hash(prefix: str, made: str) -> None:
    assert prefix_at(prefix, "h") == made
