"""Sessions of a Spark Connect server that outlive a run, so that the next one finds its workers warm."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floe.operators.exceptions import JobFailed

log = logging.getLogger(__name__)

MOST_GENERATIONS = 20
_SESSIONS = uuid.UUID("3a8c5b52-0b5e-5f4e-8a3d-f10ef10ef10e")


@dataclass
class Session:
    """A Connect session; ``close`` lets go of it without stopping it on the server."""

    spark: Any
    tag: str

    def interrupt(self) -> None:
        """End what this run still has running on the server."""
        self.spark.interruptTag(self.tag)

    def close(self) -> None:
        """Close the channel only: a stopped session stays dead under its id."""
        self.spark.client.close()


def open_session(conn_id: str, archive: Path) -> Session:
    """Open the session that belongs to this version of the library, or take it up again.

    Its id is derived from the archive's name, which carries the hash of the code: other code, other session. A session
    that was closed on the server cannot come back; the next generation has another id. Raises JobFailed.
    """
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    url = SparkConnectHook(conn_id).get_connection_url()
    reason = "no session was tried"
    for generation in range(MOST_GENERATIONS):
        session_id = uuid.uuid5(_SESSIONS, f"{archive.name}/{generation}")
        spark = SparkSession.builder.remote(f"{url};session_id={session_id}").create()
        try:
            spark.addArtifacts(str(archive), pyfile=True)
        except PySparkException as error:
            reason = str(error)
            spark.client.close()
            if "SESSION" not in reason.upper():
                break
            log.info("session %s is closed on the server, trying the next", session_id)
            continue
        tag = f"floe-{uuid.uuid4().hex}"
        spark.addTag(tag)
        return Session(spark, tag)
    msg = f"no session on the Spark Connect server of connection {conn_id!r}: {reason[:300]}. Is the server up?"
    raise JobFailed(msg)
