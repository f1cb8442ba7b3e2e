"""``spark-submit``: the settings in the extra of an Airflow connection, and its log."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from floe.config.secrets.detection import is_secret
from floe.config.secrets.mask import hide
from floe.kafka import client_log
from floe.operators.exceptions import ConnectionUnsuitable

if TYPE_CHECKING:
    from airflow.sdk import Connection


# Spark settings in the extra of an Airflow connection, for those who cannot or will not change Spark's own files.


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


# The lines of a submitted Spark job in the task's log: each at its own level, under its own logger, secrets hidden.


OTHER = "floe.spark"
"""The logger of lines that name none."""

_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "CRITICAL": logging.CRITICAL,
}
_NAMES = "|".join(_LEVELS)
_OF_FLOE = re.compile(rf"({_NAMES}) ([\w.-]+): (.*)", re.DOTALL)
_OF_SPARK = re.compile(rf"(?:\d{{2,4}}[-/]\d\d[-/]\d\d[ T][\d:.,]+ )({_NAMES}) ([\w.$-]+): (.*)", re.DOTALL)
_CONTINUED = re.compile(
    r"\s|Traceback \(|Caused by: |During handling of|The above exception|\w+(\.\w+)*(Error|Exception)\b"
)


class OutputLine(NamedTuple):
    """A line of the job's output: its level for Python, its logger, its text."""

    level: int
    logger: str
    text: str


def parse(line: str, before: OutputLine | None = None) -> OutputLine:
    """Read a line of floe's driver, of Spark or of librdkafka; one of a traceback belongs to the line ``before`` it."""
    if client := client_log.parse_line(line):
        level, facility, text = client
        return OutputLine(level, client_log.log.name, f"{facility} {text}")
    if found := _OF_FLOE.fullmatch(line):
        return OutputLine(_LEVELS[found[1]], found[2], found[3])
    if found := _OF_SPARK.fullmatch(line):
        return OutputLine(_LEVELS[found[1]], f"spark.{found[2]}", found[3])
    if before is not None and _CONTINUED.match(line):
        return OutputLine(before.level, before.logger, line)
    return OutputLine(logging.INFO, OTHER, line)


class RelayingHook(SparkSubmitHook):
    """Writes what the driver logs to the task's log as if it had been logged there.

    ``environment``: the whole of spark-submit's. The provider's ``env_vars`` become arguments on YARN and Kubernetes, and on
    the latter the driver has the task's environment all the same.
    """

    environment: Mapping[str, str]

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Run spark-submit until it ends."""
        return super().submit(application, env=dict(self.environment), **kwargs)

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        if self._is_kubernetes:
            self._spark_exit_code = 0  # floe's driver runs here: its own exit code counts
        repetitions = client_log.Repetitions()
        before: OutputLine | None = None
        for raw in itr:
            text = hide(str(raw).rstrip())
            if not text:
                continue
            line = parse(text, before)
            if line.logger != client_log.log.name or not repetitions.is_one(line.text):
                logging.getLogger(line.logger).log(line.level, "%s", line.text)
            before = line
