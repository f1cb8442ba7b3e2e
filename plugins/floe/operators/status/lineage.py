"""The lineage of a commit, topics to tables, for Airflow's OpenLineage provider where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from floe.commit.run_commit import CommitReport
    from floe.config import Connector
    from floe.kafka.settings import KafkaSettings
    from floe.model.plan import Plan


class Added(NamedTuple):
    """What a run added to a table; ``size``: bytes of its files."""

    rows: int
    files: int
    size: int


class Lineage(NamedTuple):
    """Datasets by their names in OpenLineage: (namespace, name). ``tables``: those that got a snapshot."""

    topics: tuple[tuple[str, str], ...]
    tables: Mapping[tuple[str, str], Added]

    @classmethod
    def of(cls, plan: Plan, report: CommitReport, connector: Connector, settings: KafkaSettings) -> Lineage:
        """Name what a run read and wrote: topics by the first broker of the settings, tables by their catalog."""
        broker = str(settings.source.get("bootstrap.servers", "")).partition(",")[0].strip().rpartition("/")[2]
        topics = dict.fromkeys(r.topic for slice_ in plan.slices for r in slice_.ranges)
        tables: dict[tuple[str, str], Added] = {}
        for done in report.committed:
            if done.snapshot_id is None:
                continue
            files = done.table_files
            name = _table(connector.catalog.name, files.table)
            before = tables.get(name, Added(0, 0, 0))
            size = sum(file.file_size_in_bytes for spec in files.files for file in spec.files)
            tables[name] = Added(before.rows + done.counts.rows, before.files + files.file_count, before.size + size)
        return cls(tuple((f"kafka://{broker}", topic) for topic in topics), tables)

    def to_openlineage(self) -> Any:
        """Return it as the provider takes it from an operator. The provider must be installed: it is who asks."""
        from airflow.providers.common.compat.openlineage.facet import (
            InputDataset,
            OutputDataset,
            OutputStatisticsOutputDatasetFacet,
        )
        from airflow.providers.openlineage.extractors.base import OperatorLineage

        return OperatorLineage(
            inputs=[InputDataset(namespace=namespace, name=name) for namespace, name in self.topics],
            outputs=[
                OutputDataset(
                    namespace=namespace,
                    name=name,
                    outputFacets={
                        "outputStatistics": OutputStatisticsOutputDatasetFacet(
                            rowCount=added.rows, size=added.size, fileCount=added.files
                        )
                    },
                )
                for (namespace, name), added in self.tables.items()
            ],
        )


def _table(catalog: str, table: str) -> tuple[str, str]:
    """Name a table so that both parts together are the URI of its asset."""
    namespace, _, name = table.rpartition(".")
    return f"iceberg://{quote(catalog, safe='')}", f"{quote(namespace, safe='')}/{quote(name, safe='')}"
