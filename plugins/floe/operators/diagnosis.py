"""The diagnosis of a connector, asked for by a run's parameter: a line of the log for each finding, and what to do."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from floe.config import Connector
from floe.exceptions import with_code
from floe.operators.exceptions import ConnectionMissing
from floe.operators.lookup.config_values import connection_fields

if TYPE_CHECKING:
    from airflow.sdk import Context

    from floe.doctor.case import Part
    from floe.kafka.settings import KafkaSettings

log = logging.getLogger(__name__)


def diagnose(connector: Connector, settings: KafkaSettings, context: Context) -> None:
    """Check all that a connector needs, log the findings, and leave them as the task's ``return_value``.

    Probes are written and removed: an aborted transaction on the control topic, a table, a file. No record is read.
    Nothing is raised for what is wrong: the findings say it.
    """
    from floe.doctor import diagnosis
    from floe.doctor.finding import Level

    spark, unusable = None, dict["Part", str]()
    try:
        spark = connection_fields(connector.connections.spark, "floe.spark.conn-id")
    except ConnectionMissing as error:
        unusable["spark"] = with_code(str(error), error.code)
    levels = {Level.PROBLEM: logging.ERROR, Level.WARNING: logging.WARNING}
    found: list[dict[str, str]] = []
    problems = 0
    for finding in diagnosis.diagnose(connector, settings, write=True, spark=spark, unusable=unusable):
        remedy = f": {finding.remedy}" if finding.remedy else ""
        mark = "" if finding.level is Level.OK else f"{finding.level.value}: "
        log.log(levels.get(finding.level, logging.INFO), "%s", f"{finding.name}: {mark}{finding.text}{remedy}")
        found.append(finding.to_json())
        problems += finding.is_problem
    log.info("diagnosis: %s problems in %s findings; nothing was read or committed", problems, len(found))
    result: dict[str, Any] = {"problems": problems, "findings": found}
    context["ti"].xcom_push(key="return_value", value=result)
