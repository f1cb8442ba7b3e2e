"""Tables in catalogs that show only the newest snapshot: what counts as rolled back there."""

from unittest.mock import patch

import pytest
from pyiceberg.table import Table

from floe.catalogs.providers.catalog_providers import provider_of
from floe.model.ledger import Anchor, Ledger
from floe.tables.history import HistoryState, check_table_history
from floe.tables.snapshot_commit import append
from tests.support.tables.lake import CLUSTER, GROUP, LEDGER, Lake

# the real thing is in tests/integration/catalogs/test_nessie.py


@pytest.mark.parametrize(
    ("keeps_history", "anchor_number", "finding"),
    [
        (False, 1, HistoryState.UNSEEN),
        (False, 2, HistoryState.CUT_OFF),
        (False, 3, HistoryState.CUT_OFF),
        (True, 1, HistoryState.CUT_OFF),
    ],
)
def test_later_snapshot_of_another_is_no_rollback(
    lake: Lake, keeps_history: bool, anchor_number: int, finding: HistoryState
) -> None:
    lake.create()
    for _ in range(2):
        append(lake.load(), "main", (), {}, LEDGER, Ledger(CLUSTER))
    table = _newest_only(lake.load())
    ledger = Ledger(CLUSTER).anchored(Anchor(12345, anchor_number))
    with patch.object(type(provider_of(table)), "keeps_history", keeps_history):
        assert check_table_history(table, "main", GROUP, ledger).finding is finding


def _newest_only(table: Table) -> Table:
    newest = table.metadata.snapshots[-1].model_copy(update={"parent_snapshot_id": None})
    table.metadata = table.metadata.model_copy(update={"snapshots": [newest], "snapshot_log": [], "metadata_log": []})
    return table
