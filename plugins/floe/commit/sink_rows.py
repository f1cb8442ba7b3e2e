"""Rows that a Kafka Connect sink wrote behind the ledgers' back: nothing may be read again before they are taken over."""

from floe.commit.control_offsets import last_of_sink
from floe.commit.ledgers import Ledgers
from floe.config import Connector
from floe.offsets.exceptions import PlanRefused


def refuse_rows_of_sink(ledgers: Ledgers, connector: Connector) -> None:
    """Raise PlanRefused when a table has rows of the connector's sink that its ledger does not know of.

    To be asked before positions are begun or put back: reading harms nothing that a ledger holds, but would double
    these.
    """
    for name, known in ledgers.known.items():
        anchor = known.ledger.anchor if known.ledger is not None else None
        snapshot = last_of_sink(known.table.metadata, ledgers.routes.branch(name), connector.sink_group_id, anchor)
        if snapshot is not None:
            msg = (
                f"table {name!r} has rows that the Kafka Connect sink of group {connector.sink_group_id!r} wrote (last in "
                f"snapshot {snapshot.snapshot_id}), and no ledger tells which: reading them again would double them. Trigger "
                "the DAG with `takeover`; if the sink's positions are gone, set them first (docs/takeover.md). To begin "
                "anew on purpose, give the connector another name."
            )
            raise PlanRefused(msg)
