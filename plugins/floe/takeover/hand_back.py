"""Return to Kafka Connect: from floe to the sink of the same name, which goes on where floe stopped."""

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyiceberg
from pyiceberg.table import Table

import floe
from floe.config import Connector
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import TransactionalProducer, commit_transactional_id
from floe.model.ledger import Ledger
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.plan import Plan
from floe.model.positions import Position, check_owner
from floe.recovery.apply_decisions import update_ledger
from floe.tables.connector_ledgers import Ledgers
from floe.tables.history import GROUP
from floe.tables.lake import Lake
from floe.tables.snapshot_summary import committed_offsets, offsets_property, raised
from floe.tables.table_state import Routes, branch_ledger
from floe.takeover.exceptions import HandBackRefused
from floe.takeover.sink_state import Control, all_positions, check_sink_is_stopped, coordinator_group, is_floes

log = logging.getLogger(__name__)

KIND = "hand-back"
NEXT = "pause the DAG, then start the sink; to come back, stop it and run the DAG with takeover"
RUN_FIRST = "Run the DAG until a run succeeds, then return to Kafka Connect again"


@dataclass(frozen=True)
class HandBackReport:
    """What a return did: per table the snapshot that shows the sink what is committed, None where one did already."""

    positions: tuple[Position, ...]
    tables: Mapping[str, int | None]
    next_step: str = NEXT


def hand_back(connector: Connector, settings: KafkaSettings) -> HandBackReport:
    """Let the sink of the connector's name go on from here; nothing is changed before all of it was checked.

    An empty snapshot of each table records that the table has the whole control topic. What floe announced there is committed
    or was given up, and the sink's coordinator must not commit it again. The coordinator begins at the topic's end; without
    an offset it would begin at a later one. Positions and ledgers stay. It may be called again.
    Raises HandBackRefused, TableRefused, GroupInUse and what catalog and Kafka raise.
    """
    source, cluster = Cluster.of_source(settings), Cluster.of_control(settings)
    check_sink_is_stopped(connector, cluster)
    producer = TransactionalProducer.open(settings, commit_transactional_id(connector))
    logs = source.logs(connector.topics)
    found = all_positions(cluster, connector.group_id, logs)
    positions = tuple(p for tp, p in sorted(found.items()) if tp.topic in connector.topics)
    check_owner(positions, connector.name)
    _check_positions(connector, positions, logs)
    control = Control.open(cluster, connector.control_topic)
    cluster_id = source.cluster_id()
    tables = _HandBack(connector, Lake.of(connector, cluster_id), positions, control).tell_tables()
    if connector.sink_group_id != connector.group_id:
        _send(producer, connector, connector.sink_group_id, ((p.tp, p.offset) for p in positions))
    ends = ((TopicPartition(connector.control_topic, partition), end) for partition, end in control.ends.items())
    _send(producer, connector, coordinator_group(connector), ends)
    log.info("group %s was returned to Kafka Connect: %s", connector.group_id, NEXT)
    return HandBackReport(positions, tables)


def _send(
    producer: TransactionalProducer, connector: Connector, group: str, offsets: Iterable[tuple[TopicPartition, int]]
) -> None:
    """Set where one of the sink's own groups goes on."""
    producer.send(connector.control_topic, group, (), [Position(tp, offset, "") for tp, offset in offsets], group)


def _check_positions(connector: Connector, positions: Sequence[Position], logs: Sequence[PartitionLog]) -> None:
    ids = {log.tp: log.topic_id for log in logs}
    if not positions:
        msg = f"group {connector.group_id!r} has no positions: floe never ran for it. There is nothing to return"
        raise HandBackRefused(msg)
    for position in positions:
        if not is_floes(position):
            msg = (
                f"the position {position.offset} of {position.tp} was not written by floe: the sink has run since. Nothing "
                "was changed. To continue with floe, take over first"
            )
            raise HandBackRefused(msg)
        if position.metadata_fields.topic_id != ids.get(position.tp):
            msg = f"{position.tp} was re-created: its position belongs to the former topic. Nothing was changed. {RUN_FIRST}"
            raise HandBackRefused(msg)
        if position.backlogs:
            table, backlog = min(position.backlogs.items())
            msg = (
                f"table {table!r} is behind on {position.tp} from {backlog.start} on: the sink would never read these "
                f"offsets. Nothing was changed. Fix the table, or drop its backlog (drop_backlog). {RUN_FIRST}"
            )
            raise HandBackRefused(msg)


class _HandBack:
    def __init__(
        self,
        connector: Connector,
        lake: Lake,
        positions: tuple[Position, ...],
        control: Control,
    ) -> None:
        self._connector = connector
        self._routes = Routes(connector)
        self._positions = {p.tp: p for p in positions}
        self._control = control
        self._lake = lake
        self._groups = dict.fromkeys((connector.group_id, connector.sink_group_id))
        self._plan = Plan(
            plan_id=uuid.uuid4().hex,
            connector=connector.name,
            group_id=connector.group_id,
            cluster_id=lake.cluster_id,
            config=connector.frozen(),
            control_topic=connector.control_topic,
            control_ends=control.ends,
            positions=positions,
            slices=(),
        )

    def tell_tables(self) -> dict[str, int | None]:
        found = self._lake.states(Ledgers(self._connector).names)
        existing = {name: state for name, state in found.items() if state.checked().table is not None}
        for name, state in existing.items():
            self._check_table(name, state.required(), state.ledger)
        return {name: update_ledger(self._lake, name, self._ledger_for_sink, self._summary()) for name in existing}

    def _branch(self, table: Table) -> str:
        return self._routes.branch(".".join(table.name()))

    def _check_table(self, name: str, table: Table, ledger: Ledger) -> None:
        for log_id, holding in ledger.holdings.items():
            position = self._positions.get(TopicPartition(log_id.topic, log_id.partition))
            if position is None or position.metadata_fields.topic_id != log_id.topic_id:
                continue
            end = max((stop for spans in holding.held.values() for _, stop in spans), default=0)
            if end > position.offset:
                msg = (
                    f"table {name!r} holds {position.tp} up to {end}, but the position is {position.offset}: a run failed "
                    "before it committed the offsets, and the sink would write those rows again. Nothing was changed. "
                    f"{RUN_FIRST}"
                )
                raise HandBackRefused(msg)
        for group in self._groups:
            prop = offsets_property(self._connector.control_topic, group)
            for partition, offset in committed_offsets(table.metadata, self._branch(table), prop).offsets.items():
                if offset > self._control.ends.get(partition, 0):
                    msg = (
                        f"table {name!r} has the control topic's partition {partition} up to {offset}, but that ends at "
                        f"{self._control.ends.get(partition, 0)}: the topic was re-created, and the sink would skip what "
                        "it announces there. Nothing was changed. Give iceberg.control.topic a new name, here and in the "
                        "sink"
                    )
                    raise HandBackRefused(msg, code="FLOE-705")

    def _ledger_for_sink(self, table: Table) -> Ledger | None:
        """Return the ledger as it is, or None when the table has that snapshot."""
        wanted = self._summary()
        names = [offsets_property(self._connector.control_topic, group) for group in self._groups]
        message = [raised(committed_offsets(table.metadata, self._branch(table), name).offsets, {}) for name in names]
        if message == [wanted[name] for name in names]:
            return None
        return branch_ledger(table, self._branch(table), self._plan.group_id, self._plan.cluster_id)

    def _summary(self) -> dict[str, str]:
        return {
            **{
                offsets_property(self._connector.control_topic, group): raised({}, self._control.ends)
                for group in self._groups
            },
            "kafka.connect.commit-id": str(self._plan.commit_id),
            "kafka.connect.task-id": f"{self._connector.name}-0",
            "engine-name": "floe",
            "engine-version": floe.__version__,
            "iceberg-version": f"PyIceberg {pyiceberg.__version__}",
            GROUP: self._connector.group_id,
            "floe.kind": KIND,
        }
