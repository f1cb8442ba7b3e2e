"""Plans of a connector whose broker is stood in for."""

from typing import Any

from floe.model.offsets import TopicPartition
from floe.model.plan import Plan
from floe.model.positions import PartitionBacklog, Position, PositionMetadata
from floe.model.route_hash import route_hash, routing_hash
from tests.support.tables.lake import CLUSTER, ROUTE, TABLE, TOPIC, TOPIC_ID

ROUTING = routing_hash({TABLE: route_hash(TOPIC, None)})
CREATES = {"iceberg.tables.auto-create-enabled": "true"}


def position(offset: int, partition: int = 0, **over: Any) -> Position:
    """Return a position; ``backlog``: where the backlog of the table begins."""
    start = over.pop("backlog", None)
    backlogs = {} if start is None else {TABLE: PartitionBacklog(start, ROUTE)}
    fields = {"routing": ROUTING, "since": 0, "topic_id": TOPIC_ID, "cluster_id": CLUSTER, "backlogs": backlogs, **over}
    fields.setdefault("owner", "pizzas")
    return Position(TopicPartition(TOPIC, partition), offset, PositionMetadata(**fields).encode())


def ranges(plan: Plan) -> list[tuple[str, list[str]]]:
    """Return the kind of each slice, with its ranges."""
    return [(s.kind, [str(r) for r in s.ranges]) for s in plan.slices]
