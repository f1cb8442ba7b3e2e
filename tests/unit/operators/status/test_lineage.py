"""The lineage of a commit in OpenLineage's names."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from floe.operators.status.lineage import Added, Lineage

PLAN: Any = SimpleNamespace(
    slices=[SimpleNamespace(ranges=[SimpleNamespace(topic="b"), SimpleNamespace(topic="a")])] * 2
)
CONNECTOR: Any = SimpleNamespace(catalog=SimpleNamespace(name="my catalog"))
SETTINGS: Any = SimpleNamespace(source={"bootstrap.servers": "SSL://broker-1:9093, broker-2:9093"})


def done(table: str, snapshot_id: int | None) -> Any:
    files = [SimpleNamespace(files=[SimpleNamespace(file_size_in_bytes=10)] * 2)]
    counts = SimpleNamespace(rows=3)
    return SimpleNamespace(
        table_files=SimpleNamespace(table=table, files=files, file_count=2), counts=counts, snapshot_id=snapshot_id
    )


def lineage(*committed: Any) -> Lineage:
    report: Any = SimpleNamespace(committed=committed)
    return Lineage.of(PLAN, report, CONNECTOR, SETTINGS)


def test_lineage_names_topics_and_tables_that_got_a_snapshot() -> None:
    found = lineage(done("a.b.t", 1), done("a.b.t", 2), done("db.u", None))
    assert found.topics == (("kafka://broker-1:9093", "b"), ("kafka://broker-1:9093", "a"))
    assert found.tables == {("iceberg://my%20catalog", "a.b/t"): Added(6, 4, 40)}


def test_lineage_is_what_the_provider_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    facet = ModuleType("airflow.providers.common.compat.openlineage.facet")
    base = ModuleType("airflow.providers.openlineage.extractors.base")
    for module, names in (
        (facet, ("InputDataset", "OutputDataset", "OutputStatisticsOutputDatasetFacet")),
        (base, ("OperatorLineage",)),
    ):
        for name in names:
            setattr(module, name, SimpleNamespace)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    found = lineage(done("db.t", 1)).to_openlineage()
    assert next((one.namespace, one.name) for one in found.inputs) == ("kafka://broker-1:9093", "b")
    (output,) = found.outputs
    assert (output.namespace, output.name) == ("iceberg://my%20catalog", "db/t")
    assert vars(output.outputFacets["outputStatistics"]) == {"rowCount": 3, "size": 20, "fileCount": 2}
