"""Plans without a seal where the deployment has a key: made before it had one, or stripped of it since.

Such a plan is accepted only while no run that seals its plans has opened the connector. The control topic and the group's
positions show that (signed records; positions with an owner): whoever edits XCom cannot change those. It is accepted only as
far as everything in it can be compared with the connector file and with the positions. What cannot be compared is refused:
decisions of a param, and replays that ask no ledger.
"""

from collections.abc import Iterator, Mapping

from floe.config import Connector, KeyClass, foreign_changes, restore_config
from floe.control.signature import is_signed
from floe.control.topic_reader import control_ends, read_control
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.exceptions import SealBroken
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.plan_seal import DeploymentKey
from floe.model.positions import Position, PositionMetadata, without_epoch

BY_OFFSETS = (SliceKind.LIVE, SliceKind.CATCH_UP, SliceKind.SKIP)
"""Kinds of slices whose offsets a ledger can be compared with."""


def has_signed_records(key: DeploymentKey, connector: Connector, settings: KafkaSettings) -> bool:
    """Return whether the control topic has a record of this connector that was signed under the deployment's key."""
    topic, cluster = connector.control_topic, Cluster.of_control(settings)
    ends = control_ends(cluster, topic)
    found = cluster.log_starts([TopicPartition(topic, partition) for partition in ends])
    starts = {tp.partition: start for tp, start in found.items()}
    messages = read_control(settings, topic, starts, ends, connector.group_id)
    return any(is_signed(key, message) for message in messages)


def check_sealed(
    plan: Plan,
    file: Connector,
    allowed: KeyClass,
    positions: Mapping[TopicPartition, Position],
    *,
    has_signed: bool,
) -> None:
    """Raise SealBroken for a plan without a seal that may have been changed.

    ``file``: the connector as its file says today. ``allowed``: the class of keys that runs of this DAG may set, which
    separates a replay from a live run. ``positions``: all of the group. ``has_signed``: whether the control topic has signed
    records of the connector.
    """
    if has_signed or any(_has_owner(position) for position in positions.values()):
        problems = [f"a version of floe that seals its plans has opened group {file.group_id!r} since"]
    else:
        problems = list(_problems(plan, file, allowed, positions))
    if problems:
        msg = (
            f"plan {plan.plan_id!r} has no seal, though this deployment has a key: it was made by an older version, or its "
            "seal was removed in XCom or in the task state store. It is not carried out, because "
            f"{'; '.join(problems[:5])}. Nothing was read, written or committed by it. Trigger a new run: it plans from "
            "the present positions."
        )
        raise SealBroken(msg)


def _problems(
    plan: Plan, file: Connector, allowed: KeyClass, positions: Mapping[TopicPartition, Position]
) -> Iterator[str]:
    changes = foreign_changes(plan.config, file, allowed)
    if changes:
        yield from changes
        return
    connector = restore_config(plan.config, file)
    own = (connector.name, connector.group_id, connector.control_topic)
    if (plan.connector, plan.group_id, plan.control_topic) != own:
        yield f"it is for {(plan.connector, plan.group_id, plan.control_topic)}, not for {own}"
    if plan.decisions or plan.replaced or plan.anchors:
        yield "it carries out decisions of its run's params, which cannot be verified: give them again"
    for slice_ in plan.slices:
        if slice_.is_replay != (allowed is KeyClass.REPLAY) or slice_.kind not in BY_OFFSETS:
            yield f"a slice of kind {slice_.kind.value!r} cannot be compared with a ledger: trigger the replay again"
        elif slice_.is_replay:
            yield from _of_other_tables(slice_, connector)
        else:
            yield from _elsewhere(plan, slice_, connector, positions)


def _of_other_tables(slice_: Slice, connector: Connector) -> Iterator[str]:
    topics = {r.topic for r in slice_.ranges} - set(connector.topics)
    tables = set(slice_.tables) - set(connector.tables)
    if topics or (tables and not connector.routing.is_dynamic):
        yield f"it reads {sorted(topics)} or writes {sorted(tables)}, which the connector does not"


def _elsewhere(
    plan: Plan, slice_: Slice, connector: Connector, positions: Mapping[TopicPartition, Position]
) -> Iterator[str]:
    """Compare a slice with the positions, where it must start, and with the tables of the connector."""
    if slice_.kind is SliceKind.LIVE and set(slice_.tables) != set(connector.tables):
        yield f"its tables {sorted(slice_.tables)} are not the connector's {sorted(connector.tables)}"
    planned = {p.tp: p for p in plan.positions}
    for r in slice_.ranges:
        then, now = planned.get(r.tp), positions.get(r.tp)
        if then is None or now is None or (without_epoch(now) != without_epoch(then) and now.offset <= then.offset):
            yield f"the position of {r.tp} is {now}, not {then}"
            continue
        if (r.topic_id, plan.cluster_id) != (then.metadata_fields.topic_id, then.metadata_fields.cluster_id):
            yield f"{r} is not of the log that the position of {r.tp} is of"


def _has_owner(position: Position) -> bool:
    metadata = PositionMetadata.decode(position.metadata)
    return metadata is not None and bool(metadata.owner)
