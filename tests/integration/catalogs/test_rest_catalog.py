"""The same pipeline on Iceberg's own REST catalog server."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.tables.exceptions import TableNotCommitted
from floe.tables.history import LINKS
from stack.services.rest_catalog import RestCatalog
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import read_ids


@pytest.fixture
def pizzas(pipeline: MakePipeline, rest_catalog: RestCatalog, tmp_path: Path) -> Pipeline:
    keys = {
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": rest_catalog.uri,
        "iceberg.catalog.warehouse": rest_catalog.warehouse,
        "iceberg.tables": f"db.t{tmp_path.name.replace('-', '_')}",
    }
    return pipeline(partitions=2, **keys)


def table_of(pipeline: Pipeline) -> Table:
    return CatalogClient.of(pipeline.connector).require(pipeline.connector.tables[0])


def test_runs_land_once_on_a_rest_catalog(pizzas: Pipeline) -> None:
    pizzas.produce({"id": i} for i in range(100))
    pizzas.run()
    pizzas.produce({"id": i, "tip": 1.5} for i in range(100, 150))
    plan = pizzas.run()
    assert pizzas.commit(plan).done
    assert read_ids(pizzas, pizzas.connector.tables[0]) == list(range(150))


@pytest.mark.parametrize("status", [None, 409, 500, 502, 503, 504])
def test_commit_with_lost_or_wrong_answer_is_found_committed(
    pizzas: Pipeline, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    pizzas.produce({"id": i} for i in range(100))
    plan = pizzas.plan()
    pizzas.write(plan)
    answered: list[int] = []
    send = requests.Session.send

    def lossy(self: requests.Session, request: requests.PreparedRequest, **kwargs: object) -> requests.Response:
        response = send(self, request, **kwargs)  # type: ignore[arg-type]
        if request.method == "POST" and request.path_url.startswith("/v1/namespaces/db/tables/") and not answered:
            answered.append(response.status_code)
            if status is None:
                response.close()
                raise requests.exceptions.ConnectionError("the answer was lost")  # noqa: EM101
            response.status_code = status
        return response

    monkeypatch.setattr(requests.Session, "send", lossy)
    report = pizzas.commit(plan)
    assert answered == [200]
    assert [committed.already for committed in report.committed] == [True]
    assert read_ids(pizzas, pizzas.connector.tables[0]) == list(range(100))


def test_catalog_down_fails_commit_and_next_try_succeeds(pizzas: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = pizzas.changed(**{"iceberg.control.commit.timeout-ms": 3_000})
    pizzas.produce({"id": i} for i in range(100))
    plan = pizzas.plan()
    pizzas.write(plan)
    with monkeypatch.context() as away:

        def unreachable(*_args: object, **_kwargs: object) -> None:
            raise requests.exceptions.ConnectionError("refused")  # noqa: EM101

        away.setattr("pyiceberg.catalog.rest.RestCatalog.load_table", unreachable)
        with pytest.raises(TableNotCommitted, match=r"was not committed within 3 s.*Nothing is lost"):
            pizzas.commit(plan)
    assert sum(pizzas.position().values()) == 0
    pizzas.commit(plan)
    assert read_ids(pizzas, pizzas.connector.tables[0]) == list(range(100))


def test_snapshots_expire_with_commits_except_tagged_ones(pizzas: Pipeline) -> None:
    created = "iceberg.tables.auto-create-props."
    count = {f"{created}floe.expire.max-snapshots": 3, f"{created}history.expire.min-snapshots-to-keep": 1}
    pizzas = pizzas.changed(**count)

    def run(*numbers: int) -> None:
        for number in numbers:
            pizzas.produce([{"id": number}])
            pizzas.run()

    run(0)
    first = table_of(pizzas)
    tagged = first.metadata.current_snapshot_id
    assert tagged is not None
    first.manage_snapshots().create_tag(tagged, "monday").commit()
    run(1, 2, 3, 4)
    table = table_of(pizzas)
    kept = [one.snapshot_id for one in table.metadata.snapshots]
    assert len(kept) == 4
    assert tagged in kept
    assert LINKS in table.properties
    table.manage_snapshots().remove_tag("monday").commit()
    run(5)
    table = table_of(pizzas)
    assert len(table.metadata.snapshots) == 3
    assert tagged not in [one.snapshot_id for one in table.metadata.snapshots]
    assert LINKS not in table.properties
    assert read_ids(pizzas, pizzas.connector.tables[0]) == list(range(6))


def test_branch_of_an_empty_table_begins_with_its_own_commit(
    pipeline: MakePipeline, rest_catalog: RestCatalog, tmp_path: Path
) -> None:
    keys = {
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": rest_catalog.uri,
        "iceberg.catalog.warehouse": rest_catalog.warehouse,
        "iceberg.tables": f"db.b{tmp_path.name.replace('-', '_')}",
        "iceberg.tables.default-commit-branch": "audit",
    }
    pizzas = pipeline(**keys)
    for start in (0, 10):
        pizzas.produce({"id": i} for i in range(start, start + 10))
        pizzas.run()
    metadata = table_of(pizzas).metadata
    assert (set(metadata.refs), metadata.current_snapshot()) == ({"audit"}, None)
    assert [s.parent_snapshot_id for s in metadata.snapshots] == [None, metadata.snapshots[0].snapshot_id]
    table_of(pizzas).manage_snapshots().create_branch(metadata.refs["audit"].snapshot_id, "main").commit()
    assert read_ids(pizzas, pizzas.connector.tables[0]) == list(range(20))
    pizzas.produce({"id": i} for i in range(20, 30))
    pizzas.run()
    assert read_ids(pizzas, pizzas.connector.tables[0]) == list(range(20))
    assert table_of(pizzas).scan().use_ref("audit").to_arrow().num_rows == 30
