"""Offsets of a connector: from its status record, and which of them a PATCH may move."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.models.dag import DagModel
from airflow.models.dagbag import DBDagBag
from airflow.models.dagrun import DagRun
from airflow.sdk import timezone
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from floe.api.connect import access, connector_store
from floe.api.connect.http import ConnectError
from floe.config.names import REPLAY_SUFFIX, topic_problem
from floe.config.stored.stored_connector import STOPPED, WANTED
from floe.status.connector_status import ConnectorStatus, PartitionStatus

START_AT: Final = "start_at"
SKIP_TO: Final = "skip_to"
"""The run params of a connector's DAG for topics that were not read yet, and for others."""

_MAX: Final = 2**63 - 1
_NAMED: Final = 20
_DIGITS: Final = 40
"""Characters of a number that are read: those of more are no number of Kafka's anyway."""

_UNCHANGED: Final = "Nothing was changed."
_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"


def offsets_of(status: ConnectorStatus | None) -> dict[str, Any]:
    """Return the answer of ``/connectors/<name>/offsets``: as the status record has them, none without one."""
    partitions = () if status is None or status.partitions is None else status.partitions
    return {
        "offsets": [
            {"partition": {_PARTITION: one.partition, _TOPIC: one.topic}, "offset": {_OFFSET: one.committed}}
            for one in partitions
            if one.committed is not None
        ]
    }


def wanted_offsets(body: object) -> dict[str, int]:
    """Read the body of a PATCH: the offsets by ``topic-partition``. Raises ConnectError (400)."""
    _refuse_others(body, "offsets")
    listed = body.get("offsets") if isinstance(body, Mapping) else None
    if not isinstance(listed, list) or not listed:
        msg = "Partitions / offsets need to be provided for an alter offsets request"
        raise ConnectError(400, msg)
    return dict(_wanted(one) for one in listed)


def _refuse_others(value: object, *names: str) -> None:
    unknown = value.keys() - set(names) if isinstance(value, Mapping) else ()
    if unknown:
        msg = (
            f"Unrecognized field {json.dumps(min(unknown))[:200]}: there is {' and '.join(names)}. Nothing was changed."
        )
        raise ConnectError(400, msg)


def _wanted(one: object) -> tuple[str, int]:
    _refuse_others(one, "partition", "offset")
    partition = one.get("partition") if isinstance(one, Mapping) else None
    offset = one.get("offset") if isinstance(one, Mapping) else None
    if not isinstance(partition, Mapping):
        msg = "The partition for a sink connector offset cannot be null or missing"
        raise ConnectError(400, msg)
    if partition.keys() != {_TOPIC, _PARTITION}:
        msg = f"The partition for a sink connector offset must contain the keys '{_TOPIC}' and '{_PARTITION}'"
        raise ConnectError(400, msg)
    topic, number = partition[_TOPIC], _number(partition[_PARTITION])
    if not isinstance(topic, str) or topic_problem(topic) or number is None:
        msg = f"The partition {json.dumps(partition)[:200]} is none of Kafka's"
        raise ConnectError(400, msg)
    if not isinstance(offset, Mapping) or offset.keys() != {_OFFSET}:
        msg = (
            f"The offset of {topic}-{number} must be an object with {_OFFSET!r}: offsets are not removed. Nothing was "
            "changed. To read records again, replay them."
        )
        raise ConnectError(400, msg)
    value = _number(offset[_OFFSET])
    if value is None:
        msg = (
            "Failed to parse the following Kafka offset value in the provided offsets: "
            f"'{str(offset[_OFFSET])[:100]}'. Offset values for sink connectors need to be integers."
        )
        raise ConnectError(400, msg)
    return f"{topic}-{number}", value


def param_of(name: str, wanted: Mapping[str, int], status: ConnectorStatus | None) -> str:
    """Return the run param that moves offsets of the connector ``name``.

    Raises ConnectError: 409 without a status record; 400 for an offset behind the committed one, with the call that replays
    it, one that its log does not have, a partition that the connector does not read, and topics that were read beside others.
    """
    if status is None or status.partitions is None:
        msg = (
            f"Cannot complete request because of a conflicting operation: floe.status has not yet looked at the connector "
            f"{name} and its topics, which it does each minute. {_UNCHANGED} Send the request again."
        )
        raise ConnectError(409, msg)
    known = {str(one.tp): one for one in status.partitions}
    read = {one.topic for one in known.values() if one.committed is not None}
    for tp, offset in wanted.items():
        if tp not in known:
            named = ", ".join(list(known)[:_NAMED]) or "there is none yet"
            msg = f"{tp} is no partition that the connector {name} reads: {named}. {_UNCHANGED}"
            raise ConnectError(400, msg)
        _check(name, known[tp], offset, is_new=known[tp].committed is None and known[tp].topic in read)
    params = {SKIP_TO if known[tp].topic in read else START_AT for tp in wanted}
    if len(params) > 1:
        msg = f"Some of the topics were read and others were not: a run moves one kind. {_UNCHANGED} Move them one by one."
        raise ConnectError(400, msg)
    return params.pop()


def _check(name: str, one: PartitionStatus, offset: int, *, is_new: bool) -> None:
    if is_new:
        msg = f"{one.tp} is a new partition of its topic, which is read from the start of its log. {_UNCHANGED}"
        raise ConnectError(400, msg)
    if offset > one.end:
        msg = (
            f"The offset {offset} of {one.tp} is beyond the end of its log, which was {one.end} up to a minute ago, when "
            f"floe.status looked. {_UNCHANGED}"
        )
        raise ConnectError(400, msg)
    if one.committed is None and offset < one.log_start:
        msg = f"The offset {offset} of {one.tp} is before the start of its log, which is {one.log_start}. {_UNCHANGED}"
        raise ConnectError(400, msg)
    if one.committed is not None and offset < one.committed:
        dag_id = name + REPLAY_SUFFIX
        conf = {"topic": one.topic, "ranges": {str(one.partition): [offset, one.committed]}}
        body = json.dumps({"logical_date": None, "conf": conf})
        msg = (
            f"The offset {offset} of {one.tp} is behind the committed offset {one.committed}: floe does not move offsets "
            f"backward, as the tables contain these records. {_UNCHANGED} To read them again, replay the range: POST "
            f"/api/v2/dags/{dag_id}/dagRuns with {body}"
        )
        raise ConnectError(400, msg)


def _number(value: object) -> int | None:
    """Read a number of Kafka's as Connect does: also as text."""
    text = str(value)[:_DIGITS] if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and int(text) <= _MAX else None


# The run that moves offsets of a connector. It waits until the connector is resumed, and may be changed until then.


_PREFIX: Final = "rest_offsets__"


def move(session: Session, name: str, param: str, wanted: Mapping[str, int], user: BaseUser) -> str:
    """Create the run of the connector ``name``, or add to the one that waits; return its id.

    Raises ConnectError: 409 while another run is active or waits, and if the connector is resumed at the same time; 400
    where the DAG does not take the param.
    """
    _hold(session, name)
    run = _waiting(session, name, param)
    if run is not None:
        run.conf = {param: {**(run.conf or {})[param], **wanted}}
        run_id = str(run.run_id)
    else:
        run_id = _create(session, name, param, wanted, user)
    shown = dict(list(wanted.items())[: access.MAX_ENTRIES])  # the run has all of them
    access.record(session, user, "offsets", name, run_id=run_id, partitions=len(wanted), offsets=shown)
    session.commit()
    return run_id


def _hold(session: Session, name: str) -> None:
    """Lock the row of the DAG, so that requests at the same time make one run. Raises ConnectError (409) if it runs.

    The DAG of a connector that is stopped while a run of it is active is paused when that has ended.
    """
    session.execute(update(DagModel).where(DagModel.dag_id == name).values(is_paused=DagModel.is_paused))
    is_paused = session.scalar(select(DagModel.is_paused).where(DagModel.dag_id == name))
    mark = connector_store.marks(session, name).get(name)
    if not is_paused and (mark is None or mark.text != WANTED + STOPPED):
        session.rollback()
        msg = (
            f"Cannot complete request because of a conflicting operation: the connector {name} was resumed at the same time. "
            "Nothing was changed."
        )
        raise ConnectError(409, msg)


def _waiting(session: Session, name: str, param: str) -> DagRun | None:
    """Return a run of a request before, with the same param, that has not begun. Raises ConnectError (409) for another."""
    active = select(DagRun).where(DagRun.dag_id == name, DagRun.state.in_((DagRunState.QUEUED, DagRunState.RUNNING)))
    runs = list(session.scalars(active))
    if not runs:
        return None
    (run, *others) = runs
    if (
        not others
        and run.state == DagRunState.QUEUED
        and run.run_id.startswith(_PREFIX)
        and set(run.conf or ()) == {param}
    ):
        return run
    session.rollback()
    msg = (
        f"Cannot complete request because of a conflicting operation: run {run.run_id!r} of the connector {name} is active, "
        "or waits until it is resumed. Nothing was changed. Send the request again when the run has ended, or mark it as "
        "failed in Airflow."
    )
    raise ConnectError(409, msg)


def _create(session: Session, name: str, param: str, wanted: Mapping[str, int], user: BaseUser) -> str:
    dag = DBDagBag().get_latest_version_of_dag(name, session=session)
    if dag is None or param not in dag.params:
        msg = f"The DAG of the connector {name} has no param {param!r}: update floe. Nothing was changed."
        raise ConnectError(400, msg)
    now = timezone.utcnow()
    run_id = f"{_PREFIX}{now.isoformat()}"
    # a scheduled run that is due on resume would read first what this run is to skip
    due = session.scalar(select(DagModel.next_dagrun_create_after).where(DagModel.dag_id == name))
    run_after = now if due is None else min(now, due - timedelta(seconds=1))
    try:
        dag.create_dagrun(
            run_id=run_id,
            logical_date=None,
            run_after=run_after,
            conf={param: dict(wanted)},
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.REST_API,
            triggering_user_name=user.get_name(),
            state=DagRunState.QUEUED,
            session=session,
        )
    except ValueError as error:
        session.rollback()
        raise ConnectError(400, f"{error} Nothing was changed.") from error
    return run_id
