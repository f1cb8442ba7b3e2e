"""Making a plan: admin calls, pure decisions, and the transaction that opens it."""

import logging
import uuid
from collections.abc import Mapping, Sequence

from floe.catalogs.catalog import Tables
from floe.commit.positions import move_positions
from floe.commit.progress import Progress, progress, refuse_rewound
from floe.config import Connector
from floe.control.codec import encode
from floe.control.events import Event, StartCommit
from floe.control.headers import header_list
from floe.control.log import control_ends
from floe.crash import CrashPoint, reach
from floe.kafka.cluster import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transaction import ControlRecord
from floe.offsets.ledger import property_name, read_properties
from floe.offsets.plan import Plan, Slice, SliceKind
from floe.offsets.planner import Beginnings, allocate, settle_positions
from floe.offsets.position import Position
from floe.offsets.ranges import TopicPartition
from floe.offsets.routing import MAIN_BRANCH, routing_hash

log = logging.getLogger(__name__)


def draft_plan(
    connector: Connector, settings: KafkaSettings, max_records: int | None = None, *, dry_run: bool = False
) -> Plan:
    """Freeze what the next run reads. Nothing is written, but a missing control topic is created (not on a dry run).

    ``max_records``: offsets at most, over ``floe.max-records-per-run``. Raises PlanRefused and the errors of
    ``floe.kafka``.
    """
    source, control = Cluster.of_source(settings), Cluster.of_control(settings)
    if not dry_run:
        control.ensure_control_topic(connector.control_topic)
    ends = {} if dry_run else control_ends(control, connector.control_topic)
    control.refuse_members(connector.group_id)
    logs = source.logs(connector.topics)
    known = control.positions(connector.group_id, [log.tp for log in logs])
    known |= {tp: p for tp, p in control.positions(connector.group_id).items() if tp.topic in connector.topics}
    beginnings = Beginnings(
        cluster_id=source.cluster_id(),
        offset_reset=connector.offset_reset,
        routing={t: routing_hash(t, connector.tables, connector.commit_branch) for t in connector.topics},
        held_ids=lambda topic: _held_ids(connector, topic, group_is_known=bool(known)),
    )
    positions = settle_positions(logs, known, beginnings)
    ranges = allocate(positions, logs, max_records if max_records is not None else connector.max_records_per_run)
    return Plan(
        plan_id=uuid.uuid4().hex,
        connector=connector.name,
        group_id=connector.group_id,
        cluster_id=beginnings.cluster_id,
        config=connector.frozen(),
        control_topic=connector.control_topic,
        control_ends=ends,
        positions=positions,
        slices=(Slice(0, SliceKind.LIVE, ranges),) if ranges else (),
    )


def _held_ids(connector: Connector, topic: str, *, group_is_known: bool) -> frozenset[str] | None:
    """Return the ids of a topic's incarnations in the ledgers of the connector's tables, None for a new topic.

    A topic that the ledgers do not name was added to the connector, if the group has positions of other topics; if
    it has none at all they were lost, and nobody knows what of that topic was read.
    """
    name = property_name(connector.group_id, connector.commit_branch or MAIN_BRANCH)
    tables = Tables.of(connector)
    ledgers = [read_properties(name, table.properties) for table in filter(None, map(tables.load, connector.tables))]
    ids = frozenset(topic_id for ledger in ledgers if ledger for topic_id in ledger.topic_ids(topic))
    return ids if ids or (any(ledgers) and not group_is_known) else None


def open_plan(plan: Plan, connector: Connector, settings: KafkaSettings) -> bool:
    """Send StartCommit and every partition's position in one fenced transaction; say whether there is work left.

    Idle runs do so too: positions of a group without members expire unless they are written again. Repeating it is
    harmless. Raises Superseded when another run moved the positions meanwhile.
    """

    def compare(found: Mapping[TopicPartition, Position]) -> Sequence[ControlRecord] | None:
        if plan.slices and progress(plan, plan.slices, found, new=True) is Progress.DONE:
            return None
        refuse_rewound(plan, found)
        if not plan.slices:
            return []
        payload = StartCommit(plan.commit_id)
        headers = header_list(plan.slice_id(plan.slices[0]), plan.slices[0].kind.value)
        return [ControlRecord(encode(Event.of(plan.group_id, payload)), headers)]

    reach(CrashPoint.PLAN_OPEN)
    opened = move_positions(connector, settings, plan.positions, compare)
    reach(CrashPoint.PLAN_OPENED)
    return opened and bool(plan.slices)
