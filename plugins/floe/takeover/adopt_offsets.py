"""The last step of a takeover: the group is re-created, and its positions become floe's."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from floe.config import Connector
from floe.control.headers import header_list
from floe.control.wire.codec import encode
from floe.control.wire.events import CommitComplete, CommitToTable, Event
from floe.crash_points import CrashPoint, reach
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.group_offsets import Move, move_positions
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import ControlRecord
from floe.model.positions import Position
from floe.model.ranges import TopicPartition
from floe.tables.connector_ledgers import Ledgers
from floe.takeover.exceptions import TakeoverBlocked
from floe.takeover.pending_files import Written
from floe.takeover.seed_table import KIND, InitialLedger, TableTakeover
from floe.takeover.sink_state import SinkState, is_floes

log = logging.getLogger(__name__)


class TakenPositions:
    """Moves the positions of a sink that was taken over.

    Its group is deleted first: one that a consumer left loses all its positions ``offsets.retention.minutes`` after
    that consumer left, however often they are written again; one made by writing positions keeps each for that long.
    Between the two, the tables' ledgers contain the positions, so that a kill there loses nothing.
    """

    def __init__(
        self,
        connector: Connector,
        settings: KafkaSettings,
        left: SinkState,
        positions: Sequence[Position],
        seed: InitialLedger,
    ) -> None:
        self._connector = connector
        self._settings = settings
        self._left = left
        self._positions = tuple(positions)
        self._seed = seed

    def move(self, taken: Sequence[TableTakeover], pending: Mapping[str, Sequence[Written]]) -> list[str]:
        """Send positions and events in one fenced transaction, and return notes for the operator.

        Raises TakeoverBlocked when the positions are no longer those that were taken over.
        """
        notes: list[str] = []

        def decide(found: Mapping[TopicPartition, Position]) -> Move | None:
            if len(found) == len(self._positions) and all(map(is_floes, found.values())) and found != self._expected():
                log.info("another run took over %s first", self._connector.group_id)
                return None
            self._check_not_moved(found)
            others = self._left.others if self._recreate_group(notes) else ()
            return Move(self._records(taken, pending), (*self._positions, *others))

        partitions = [p.tp for p in self._positions]
        move_positions(self._connector, self._settings, partitions, decide)
        return notes

    def _expected(self) -> dict[TopicPartition, Position]:
        return {p.tp: self._left.found[p.tp] for p in self._positions if p.tp in self._left.found}

    def _check_not_moved(self, found: Mapping[TopicPartition, Position]) -> None:
        expected = self._expected()
        odd = [tp for tp in {*found, *expected} if found.get(tp) != expected.get(tp)]
        if odd:
            tp = min(odd)
            places = [p.offset if (p := positions.get(tp)) else None for positions in (expected, found)]
            msg = (
                f"the position of {tp} in group {self._connector.group_id!r} went from {places[0]} to {places[1]} during "
                "the takeover: the sink was started again, or its offsets were changed by hand. Stop the sink, then run "
                "again"
            )
            raise TakeoverBlocked(msg)

    def _recreate_group(self, notes: list[str]) -> bool:
        """Delete the group when a table contains its positions; return whether it is gone."""
        group = self._connector.group_id
        if not self._are_copied():
            notes.append(
                f"no table of the connector holds its positions, so group {group!r} was not created again: it loses them "
                "offsets.retention.minutes after the sink left it; recover puts them back"
            )
            return False
        reach(CrashPoint.TAKEOVER_GROUP)
        try:
            Cluster.of_control(self._settings).delete_group(group)
        except KafkaMisconfigured as error:
            notes.append(
                f"group {group!r} could not be created again: {error}. It loses its positions offsets.retention.minutes "
                "after the sink left it; recover puts them back. To spare that, grant Delete on the group and delete it "
                "while no run is active, then run with recover"
            )
            return False
        reach(CrashPoint.TAKEOVER_GROUP_DELETED)
        return True

    def _are_copied(self) -> bool:
        ledgers = [known.ledger for known in Ledgers(self._connector).known.values() if known.ledger is not None]
        return any(
            all(
                log_id in ledger.holdings and ledger.holdings[log_id].position == position
                for log_id, position in self._seed.positions.items()
            )
            for ledger in ledgers
        )

    def _records(self, taken: Sequence[TableTakeover], pending: Mapping[str, Sequence[Written]]) -> list[ControlRecord]:
        """Return the events that the sink's coordinator would have sent, for other readers of the control topic."""
        commit_id = self._seed.plan.commit_id
        payloads: list[Any] = [
            CommitToTable(commit_id, pending[one.table][0].payload.table_reference, one.snapshot_id)
            for one in taken
            if one.files
        ]
        payloads.append(CommitComplete(commit_id))
        headers = header_list(f"{self._seed.plan.plan_id}/{KIND}", KIND)
        return [ControlRecord(encode(Event.of(self._connector.group_id, p)), headers) for p in payloads]
