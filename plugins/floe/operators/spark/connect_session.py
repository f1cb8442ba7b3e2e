"""Sessions of a Spark Connect server that outlive a run, so that the next one finds its workers warm."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floe.config.secrets.mask import clip
from floe.operators.exceptions import JobFailed
from floe.operators.spark.code_archive import send

log = logging.getLogger(__name__)

MAX_GENERATIONS = 20
TIMEOUT_S = {"max_retries": 9, "initial_backoff": 50, "backoff_multiplier": 2, "max_backoff": 5000, "jitter": 0}
"""About twenty seconds for a server that does not answer: Airflow tries again. Spark's own would be ten minutes."""

HAS_ARCHIVE = "spark.floe.archive"
"""A setting of a session: the archive that it has. It ends with the session, as the archive does."""

CONF = {"spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false"}
"""Of floe's sessions: a job of one row a task is planned and started sooner without."""

_SESSIONS = uuid.UUID("3a8c5b52-0b5e-5f4e-8a3d-f10ef10ef10e")


@dataclass
class Session:
    """A Connect session; ``close`` releases it without stopping it on the server."""

    spark: Any
    tag: str

    def interrupt(self) -> None:
        """End what this run still has running on the server."""
        self.spark.interruptTag(self.tag)

    def close(self) -> None:
        """Close the channel only: a stopped session stays dead under its id."""
        self.spark.client.close()


def session_id(archive: str, generation: int) -> uuid.UUID:
    """Name a session by the archive that it has; one that was closed stays closed, and the next generation follows."""
    return uuid.uuid5(_SESSIONS, f"{archive}/{generation}")


def open_session(conn_id: str, archive: Path) -> Session:
    """Open the session that belongs to this version of the library, or take it up again.

    Its id is derived from the archive's name, which carries the hash of the code: other code, other session. A session
    that was closed on the server cannot come back; the next generation has another id. Raises JobFailed.
    """
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook
    from grpc import RpcError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    url = SparkConnectHook(conn_id).get_connection_url()
    reason = "no session was tried"
    for generation in range(MAX_GENERATIONS):
        own = session_id(archive.name, generation)
        spark = SparkSession.builder.remote(f"{url};session_id={own}").create()
        spark.client.set_retry_policies([DefaultPolicy(**TIMEOUT_S)])
        try:
            _equip(spark, archive)
        except (PySparkException, RpcError) as error:
            reason = str(error.details()) if isinstance(error, RpcError) else str(error)
            spark.client.close()
            if "SESSION" not in reason.upper():
                break
            log.info("session %s is closed on the server, trying the next", own)
            continue
        tag = f"floe-{uuid.uuid4().hex}"
        spark.addTag(tag)
        return Session(spark, tag)
    msg = f"no session on the Spark Connect server of connection {conn_id!r}: {clip(reason, 300)}. Is the server up?"
    raise JobFailed(msg, code="FLOE-517")


def _equip(spark: Any, archive: Path) -> None:
    """Give a session the archive and its settings, unless an earlier run did. Of several at once, each does it."""
    if spark.conf.get(HAS_ARCHIVE, "") == archive.name:
        return
    send(spark, archive)
    for key, value in {**CONF, HAS_ARCHIVE: archive.name}.items():  # last, what says that all is there
        spark.conf.set(key, value)
