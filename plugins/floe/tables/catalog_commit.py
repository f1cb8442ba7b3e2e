"""How a table's snapshots and ledger are changed: sent once, for the table as it was loaded, and compared with the answer."""

from collections.abc import Sequence

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AssertTableUUID, TableRequirement, TableUpdate

from floe.catalogs.commit_check import SentCommit, check_answer, check_stored, is_proven
from floe.catalogs.providers.registry import provider_of


def send(
    table: Table, requirements: Sequence[TableRequirement], updates: Sequence[TableUpdate], sent: SentCommit
) -> TableMetadata:
    """Send updates in one catalog commit and return the table's metadata after it.

    Raises CommitFailedException after a conflict, CommitAltered if the catalog does not keep what was ``sent``, and
    whatever leaves the outcome unknown.
    """
    provider = provider_of(table)
    is_same = AssertTableUUID(uuid=table.metadata.table_uuid)
    answer = provider.commit(table, (is_same, *requirements), tuple(updates)).metadata
    check_answer(table, sent, answer)
    if provider.is_committed_by_server and not is_proven(table.metadata, sent.properties):
        check_stored(table, sent)
    provider.tidy(table, answer)
    return answer
