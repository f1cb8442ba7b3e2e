"""A REST catalog whose answers another process writes: code and logins that it names are not taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.tables.exceptions import TablesBehind
from stack.services.rest_catalog import RestCatalog
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.tables.catalog_proxy import CatalogProxy

Change = Callable[[str, dict[str, Any]], None]


@pytest.fixture
def pizzas(pipeline: MakePipeline, rest_catalog: RestCatalog, catalog_proxy: CatalogProxy, tmp_path: Path) -> Pipeline:
    name = f"db.t{tmp_path.name.replace('-', '_')}"
    keys = {
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": catalog_proxy.uri,
        "iceberg.catalog.warehouse": rest_catalog.warehouse,
        "iceberg.tables": f"{name}, {name}_other",
    }
    return pipeline(partitions=1, **keys)


def answering(catalog_proxy: CatalogProxy, change: Change) -> None:
    """Have the catalog's JSON answers changed by the attacker."""

    def rewrite(path: str, answer: bytes) -> bytes:
        try:
            document = json.loads(answer)
        except ValueError:
            return answer
        change(path, document)
        return json.dumps(document).encode()

    catalog_proxy.rewrite = rewrite


@pytest.mark.parametrize(
    "overrides",
    [
        {"py-io-impl": "subprocess.Popen"},
        {"auth": {"type": "subprocess.Popen", "subprocess.Popen": {"args": ["touch", "MARK"]}}},
    ],
    ids=["io", "auth"],
)
def test_code_in_the_answer_of_config_does_not_run(
    pizzas: Pipeline, catalog_proxy: CatalogProxy, tmp_path: Path, overrides: dict[str, Any]
) -> None:
    mark = tmp_path / "mark"
    evil = json.loads(json.dumps(overrides).replace("MARK", str(mark)))

    def change(path: str, document: dict[str, Any]) -> None:
        if path.startswith("/v1/config"):
            document["overrides"] = {**document.get("overrides", {}), **evil}

    answering(catalog_proxy, change)
    with pytest.raises(CatalogMisconfigured, match=r"/v1/config is refused: .* names the class 'subprocess.Popen'"):
        CatalogClient.of(pizzas.connector)
    assert not mark.exists()


@pytest.mark.parametrize("where", ["config", "storage-credentials", "properties"])
def test_a_table_whose_answer_names_code_is_behind(pizzas: Pipeline, catalog_proxy: CatalogProxy, where: str) -> None:
    pizzas.produce({"id": i} for i in range(10))
    pizzas.run()
    first, second = pizzas.connector.tables
    evil = {"py-io-impl": "subprocess.Popen"}

    def change(path: str, document: dict[str, Any]) -> None:
        if not path.endswith(f"/tables/{first.removeprefix('db.')}") or "metadata" not in document:
            return
        if where == "config":
            document["config"] = {**document.get("config", {}), **evil}
        elif where == "properties":
            document["metadata"]["properties"].update(evil)
        else:
            document["storage-credentials"] = [{"prefix": "", "config": evil}]

    answering(catalog_proxy, change)
    pizzas.produce({"id": i} for i in range(10, 20))
    with pytest.raises(
        TablesBehind, match=f"table '{first}' is refused: py-io-impl names the class 'subprocess.Popen'"
    ):
        pizzas.run()
    assert pizzas.column("id", second) == list(range(20))
    catalog_proxy.rewrite = None
    pizzas.run()
    assert pizzas.column("id", first) == list(range(20))
