"""Takeover: from a stopped Kafka Connect sink to floe, under the same connector name, every record kept once."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from floe.config import Connector
from floe.control.headers import header_list
from floe.control.topic_reader import read_control
from floe.control.wire.codec import encode
from floe.control.wire.events import CommitComplete, CommitToTable, Event
from floe.crash_points import CrashPoint, reach
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import ControlRecord, Move, TransactionalProducer, commit_transactional_id, move_positions
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan
from floe.model.positions import Position, check_owner
from floe.model.route_hash import MAIN_BRANCH
from floe.tables.connector_ledgers import Ledgers
from floe.tables.history import snapshot_property
from floe.tables.lake import Lake
from floe.tables.snapshot_summary import CommittedOffsets, Offsets, committed_offsets, offsets_property, topic_in_use
from floe.tables.table_state import Routes
from floe.takeover.exceptions import TakeoverBlocked, TakeoverRefused
from floe.takeover.pending_files import Destination, PendingFiles, check_no_gap, collect, pending_of, written_by_sink
from floe.takeover.seed_table import KIND, InitialLedger, TableTakeover, check_table, commit_takeover
from floe.takeover.sink_state import SinkState, is_floes, look, with_metadata

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TakeoverReport:
    """What a takeover did. ``already``: floe had the connector before. ``notes``: what the operator should know."""

    already: bool
    positions: tuple[Position, ...] = ()
    tables: tuple[TableTakeover, ...] = ()
    notes: tuple[str, ...] = ()


def take_over(connector: Connector, settings: KafkaSettings) -> TakeoverReport:
    """Take over from a stopped sink of the connector's name; nothing is changed before all of it was checked.

    Per table one snapshot with the files that the sink announced and did not commit, and with the ledger of what it
    wrote; then the positions, as floe's. It may be killed anywhere and called again. Raises TakeoverRefused,
    TakeoverBlocked, TableRefused, GroupInUse and what catalog and Kafka raise.
    """
    # ends what a killed takeover left open, which would hide positions and events until its time-out
    TransactionalProducer.open(settings, commit_transactional_id(connector))
    left = look(connector, settings)
    check_owner(left.positions.values(), connector.name)
    if left.is_floes:
        log.info("floe already wrote all positions of %s: nothing to take over", connector.group_id)
        return TakeoverReport(already=True, positions=tuple(p for _, p in sorted(left.positions.items())))
    if not left.positions:
        left = replace(left, positions=_copies(connector, left))
    return _Takeover(connector, settings, left, Ledgers(connector)).carry_out()


class _Takeover:
    def __init__(self, connector: Connector, settings: KafkaSettings, left: SinkState, ledgers: Ledgers) -> None:
        self._connector = connector
        self._settings = settings
        self._left = left
        self._routes = Routes(connector)
        self._ledgers = ledgers
        self._positions = with_metadata(left, connector)
        self._seed = self._make_seed()

    def carry_out(self) -> TakeoverReport:
        pending = self._pending()
        names = tuple(dict.fromkeys([*self._ledgers.names, *pending]))
        for name in names:
            table = self._ledgers.tables.load(name)
            if table is not None:
                check_table(table, self._seed_of(name), pending.get(name, []))
        timeout_s = self._connector.committing.timeout_ms / 1000
        lake, taken = Lake(self._ledgers.tables, self._connector, self._left.cluster_id), []
        for name in names:
            one = commit_takeover(lake, name, self._seed_of(name), pending.get(name, []), timeout_s)
            log.info("table %s: %s rows in %s files, snapshot %s", name, one.rows, one.files, one.snapshot_id)
            taken.append(one)
        mover = TakenPositions(self._connector, self._settings, self._left, self._positions, self._seed)
        notes = (*self._notes(), *mover.move(taken, pending))
        for note in notes:
            log.warning("%s", note)
        return TakeoverReport(already=False, positions=self._positions, tables=tuple(taken), notes=notes)

    def _make_seed(self) -> InitialLedger:
        connector, left = self._connector, self._left
        plan = Plan(
            plan_id=uuid.uuid4().hex,
            connector=connector.name,
            group_id=connector.group_id,
            cluster_id=left.cluster_id,
            config=connector.frozen(),
            control_topic=connector.control_topic,
            control_ends=left.control.ends,
            positions=self._positions,
            slices=(),
        )
        return InitialLedger(
            plan=plan,
            branch=MAIN_BRANCH,
            positions={left.log_id(p.tp): (p.offset, p.metadata) for p in self._positions},
            written=frozenset(left.log_id(tp) for tp, p in left.positions.items() if not is_floes(p)),
            groups=tuple(dict.fromkeys((connector.group_id, connector.sink_group_id))),
            ends=left.control.ends,
        )

    def _seed_of(self, name: str) -> InitialLedger:
        return replace(self._seed, branch=self._routes.branch(name))

    def _pending(self) -> dict[str, list[PendingFiles]]:
        """Return the events to commit by table, after all that the control topic contains was checked."""
        destination = cache(self._destination)
        own = [destination(name) for name in self._ledgers.names]
        existing = [table for table in own if table.uuid is not None]
        for table in existing:
            check_no_gap(table, self._left.control.starts, self._left.control.ends, self._left.coordinator)
        messages = read_control(
            self._settings, self._connector.control_topic, self._first_offsets(existing), self._left.control.ends
        )
        found = collect(written_by_sink(messages, self._connector.sink_group_id), destination)
        return {name: pending_of(destination(name), events, self._left.coordinator) for name, events in found.items()}

    def _first_offsets(self, tables: Sequence[Destination]) -> Offsets:
        """Return where the control topic is read from: the lowest place that a table has it up to."""
        return {
            partition: max(start, min((t.committed.offsets.get(partition, 0) for t in tables), default=0))
            for partition, start in self._left.control.starts.items()
        }

    def _destination(self, name: str) -> Destination:
        table = self._ledgers.tables.load(name)
        is_own = self._connector.routing.is_dynamic or name in self._connector.tables
        if table is None:
            return Destination(name, None, CommittedOffsets({}, True), is_own)
        group, topic = self._connector.sink_group_id, self._connector.control_topic
        used = topic_in_use(table.metadata, self._routes.branch(name), group)
        if is_own and used not in (None, topic) and not self._left.control.is_empty:
            msg = (
                f"table {name!r} records that the sink used the control topic {used!r}, but iceberg.control.topic is "
                f"{topic!r}: set it as the sink had it. To leave out what {used!r} announced, name an empty topic."
            )
            raise TakeoverRefused(msg, code="FLOE-704")
        committed = committed_offsets(table.metadata, self._routes.branch(name), offsets_property(topic, group))
        return Destination(name, table.metadata.table_uuid, committed, is_own)

    def _notes(self) -> list[str]:
        notes = []
        for partition in self._left.logs:
            position = self._left.positions.get(partition.tp)
            if position is None:
                notes.append(f"the sink has no position of {partition.tp}: floe starts there as in a new partition")
            elif position.offset < partition.log_start:
                notes.append(
                    f"retention removed [{position.offset}, {partition.log_start}) of {partition.tp} before the sink read "
                    "them: the next run refuses until that loss is accepted (param accept_loss)"
                )
        return notes


def _copies(connector: Connector, left: SinkState) -> Mapping[TopicPartition, Position]:
    """Return the positions of a takeover that was killed while the group was deleted, from a table's ledger.

    Raises TakeoverRefused when no table's last change was a takeover.
    """
    for known in Ledgers(connector).known.values():
        anchor = known.ledger.anchor if known.ledger is not None else None
        snapshot = known.table.metadata.snapshot_by_id(anchor.snapshot_id) if anchor is not None else None
        if known.ledger is None or snapshot is None or snapshot_property(snapshot, "floe.kind") != KIND:
            continue
        holdings = {log.tp: known.ledger.holdings.get(left.log_id(log.tp)) for log in left.logs}
        return {tp: Position(tp, *held.position) for tp, held in holdings.items() if held and held.position}
    msg = (
        f"group {connector.sink_group_id!r} has no positions of {', '.join(connector.topics)}: the sink never committed, or "
        "has been stopped for longer than offsets.retention.minutes. If it never committed, run without takeover. If it "
        "did, put its positions back (kafka-consumer-groups --reset-offsets; the DataComplete events of the control topic "
        "tell them), then take over again. If floe ran here before, use recover."
    )
    raise TakeoverRefused(msg, code="FLOE-703")


# The last step of a takeover: the group is re-created, and its positions become floe's.


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

    def move(self, taken: Sequence[TableTakeover], pending: Mapping[str, Sequence[PendingFiles]]) -> list[str]:
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

    def _records(
        self, taken: Sequence[TableTakeover], pending: Mapping[str, Sequence[PendingFiles]]
    ) -> list[ControlRecord]:
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
