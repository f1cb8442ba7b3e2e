"""Offsets of a connector: from its status record; forward by a run that skips records, backward by a replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.models.dagbag import DBDagBag
from airflow.sdk import timezone
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from sqlalchemy.orm import Session

from floe.api.connect import audit_log
from floe.api.connect.answers import ConnectError
from floe.api.connect.connector_actions import has_run_that_waits
from floe.api.connect.known_connectors import KnownConnector
from floe.config.names import REPLAY_SUFFIX, topic_problem
from floe.status.model import ConnectorStatus

PARAM: Final = "skip_to"
"""The run param of the connector's DAG that moves its offsets forward."""

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
    listed = body.get("offsets") if isinstance(body, Mapping) else None
    if not isinstance(listed, list) or not listed:
        msg = "Partitions / offsets need to be provided for an alter offsets request"
        raise ConnectError(400, msg)
    return dict(_wanted(one) for one in listed)


def _wanted(one: object) -> tuple[str, int]:
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


def check_forward(known: KnownConnector, wanted: Mapping[str, int], status: ConnectorStatus | None) -> None:
    """Raise ConnectError (400) for an offset that is behind the committed one, with the call that replays it."""
    committed = {
        f"{one.topic}-{one.partition}": one.committed for one in (status.partitions or () if status is not None else ())
    }
    for tp, offset in wanted.items():
        done = committed.get(tp)
        if done is not None and offset < done:
            dag_id = known.name + REPLAY_SUFFIX
            topic, _, partition = tp.rpartition("-")
            conf = {"topic": topic, "ranges": {partition: [offset, done]}}
            body = json.dumps({"logical_date": None, "conf": conf})
            msg = (
                f"The offset {offset} of {tp} is behind the committed offset {done}: floe does not move offsets backward, as "
                f"the tables contain these records. Nothing was changed. To read them again, replay the range: POST "
                f"/api/v2/dags/{dag_id}/dagRuns with {body}"
            )
            raise ConnectError(400, msg)


def skip_to(session: Session, known: KnownConnector, wanted: Mapping[str, int], user: BaseUser) -> str:
    """Create the run that moves the offsets; return its id. It waits until the connector is resumed.

    Raises ConnectError: 409 while another run is active or waits, 400 where the DAG does not take the param.
    """
    name = known.name
    if has_run_that_waits(session, name):
        msg = (
            f"Cannot complete request because of a conflicting operation: a run of the connector {name} is active, or waits "
            "until it is resumed. Nothing was changed."
        )
        raise ConnectError(409, msg)
    dag = DBDagBag().get_latest_version_of_dag(name, session=session)
    if dag is None or PARAM not in dag.params:
        msg = f"The DAG of the connector {name} has no param {PARAM!r}: update floe. Nothing was changed."
        raise ConnectError(400, msg)
    now = timezone.utcnow()
    run_id = f"rest_offsets__{now.isoformat()}"
    try:
        dag.create_dagrun(
            run_id=run_id,
            logical_date=None,
            run_after=now,
            conf={PARAM: dict(wanted)},
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.REST_API,
            triggering_user_name=user.get_name(),
            state=DagRunState.QUEUED,
            session=session,
        )
    except ValueError as error:
        session.rollback()
        raise ConnectError(400, f"{error} Nothing was changed.") from error
    shown = dict(list(wanted.items())[: audit_log.MAX_ENTRIES])  # the run has all of them
    audit_log.record(session, user, "offsets", name, run_id=run_id, partitions=len(wanted), offsets=shown)
    session.commit()
    return run_id


def _number(value: object) -> int | None:
    """Read a number of Kafka's as Connect does: also as text."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
