"""One replacement in one branch: files that go, files that come and the ledger as a single catalog commit.

As in ``append``: sent once, the table's UUID and the branch's head required, nothing that was written ever deleted.
"""

from collections.abc import Callable, Mapping, Sequence

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Summary, update_snapshot_summaries
from pyiceberg.typedef import EMPTY_DICT

from floe.catalogs.pyiceberg_internals import OverwriteFiles
from floe.model.ledger import Ledger
from floe.tables.partition_summaries import readable
from floe.tables.row_removal import Removal
from floe.tables.snapshot_commit import (
    SpecFile,
    Unchanged,
    added_manifests,
    counted,
    refuse_strange_specs,
    send_with_ledger,
)


class _Replace(OverwriteFiles):
    """PyIceberg's overwrite of whole files, with one manifest of new files per partition spec."""

    def __init__(
        self, table: Table, branch: str, properties: Mapping[str, str], files: Sequence[SpecFile], removal: Removal
    ) -> None:
        super().__init__(
            operation=Operation.OVERWRITE,
            transaction=Unchanged(table),
            io=table.io,
            branch=branch,
            snapshot_properties=dict(properties),
        )
        self._files = [*files, *removal.rewritten]
        for file in removal.removed:
            self.delete_data_file(file)

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        return readable(added_manifests(self, self._files) + manifests, self._transaction.table_metadata)

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:
        # the files were found in the same snapshot: a prediction by their partitions could only miss some
        return lambda _: True

    def _build_delete_files_partition_predicate(self) -> None:
        return

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        metadata = self._transaction.table_metadata
        collector = counted(self, self._files)
        for file in self._deleted_data_files:
            collector.remove_file(file, schema=self.schema(), partition_spec=self.spec(file.spec_id))
        parent = self._parent_snapshot_id
        previous = metadata.snapshot_by_id(parent) if parent is not None else None
        return update_snapshot_summaries(
            summary=Summary(operation=self._operation, **collector.build(), **snapshot_properties),
            previous_summary=previous.summary if previous is not None else None,
        )


def replace(
    table: Table,
    branch: str,
    files: Sequence[SpecFile],
    removal: Removal,
    properties: Mapping[str, str],
    ledger_name: str,
    ledger: Ledger,
) -> int:
    """Commit in one snapshot what goes, what comes and the ledger; return the snapshot's id.

    The branch exists. Whatever is raised after the request was sent leaves the outcome unknown: reload and look. Raises
    TableRefused for files of a spec that the table does not have.
    """
    refuse_strange_specs(table, files)
    return send_with_ledger(table, branch, _Replace(table, branch, properties, files, removal), ledger_name, ledger)
