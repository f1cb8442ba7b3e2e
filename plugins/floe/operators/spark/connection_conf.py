"""Spark settings in the extra of an Airflow connection, for those who cannot or will not change Spark's own files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floe.config.secrets.detection import is_secret
from floe.operators.exceptions import ConnectionUnsuitable

if TYPE_CHECKING:
    from airflow.sdk import Connection

KEY = "conf"


def conf_of(spark: Connection) -> dict[str, str]:
    """Return the settings under ``conf`` in the connection's extra.

    Raises ConnectionUnsuitable where that is no object of settings, or has a secret: they become arguments of
    spark-submit, which every user of the machine can read.
    """
    found = spark.extra_dejson.get(KEY) or {}
    if not isinstance(found, dict) or not all(isinstance(value, str | int | float) for value in found.values()):
        msg = (
            f"{KEY!r} in the extra of the Airflow connection {spark.conn_id!r} is {found!r}: give it as an object, "
            'like {"spark.executor.memory": "2g"}'
        )
        raise ConnectionUnsuitable(msg)
    conf = {str(key): _text(value) for key, value in found.items()}
    for key, value in conf.items():
        if is_secret(key, value):
            msg = (
                f"{key!r} in the extra of the Airflow connection {spark.conn_id!r} is a secret, and would be an argument of "
                "spark-submit: put it into spark-defaults.conf in the SPARK_CONF_DIR of Airflow's workers"
            )
            raise ConnectionUnsuitable(msg)
    return conf


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
