"""A check of Spark's server: is the Airflow connection one of Spark, and does what it names answer as that?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from floe.config.connection_fields import ConnectionFields
from floe.doctor.check import About, Case, Finding
from floe.doctor.listener import named, servers_of, speaks_http2, unreachable

SUBMIT, CONNECT = "spark", "spark_connect"
CONNECT_PORT, MASTER_PORT = 15002, 7077

_MASTERS = re.compile(r"local(\[[^]]+\])?|local-cluster\[[^]]+\]|yarn|k8s://.+|spark://.+")


def find_master(case: Case, about: About) -> Iterator[Finding]:
    """Look at the Airflow connection to Spark, and connect to the server that it names."""
    spark = case.spark
    if spark is None:
        yield about.not_checked(f"the Airflow connection {case.connector.connections.spark!r} was not looked up")
        return
    where = f"the Airflow connection {spark.conn_id!r}"
    if spark.conn_type not in (SUBMIT, CONNECT):
        yield about.problem(
            f"{where} is of type {spark.conn_type!r}",
            "floe needs one of type 'spark' (spark-submit) or 'spark_connect': change its type, or set floe.spark.conn-id",
        )
        return
    if spark.extra.get("deploy-mode", "client") == "cluster":
        yield about.problem(
            f"{where} asks for deploy-mode cluster", "use client, which sends no job file with secrets elsewhere"
        )
    server = server_of(spark)
    if server is not None:
        yield _answers(spark, *server, about)
    elif spark.conn_type == SUBMIT and _MASTERS.fullmatch(spark.host):
        yield about.ok(f"{where} is of type {spark.conn_type!r} with master {spark.host!r}")
    else:
        wanted = "the server's name" if spark.conn_type == CONNECT else "a master: local[2], yarn, spark://… or k8s://…"
        yield about.problem(f"the host of {where} is {spark.host!r}", f"give it {wanted}")


def server_of(spark: ConnectionFields) -> tuple[str, int] | None:
    """Return the server that a connection names; None for ``local``, YARN and Kubernetes, and where it names none."""
    scheme, _, address = spark.host.rpartition("://")
    default = CONNECT_PORT if spark.conn_type == CONNECT else MASTER_PORT
    if spark.conn_type == CONNECT or scheme == "spark" or (spark.port and not scheme and spark.host != "yarn"):
        host, port = next(servers_of(address, spark.port or default), ("", 0))
        return (host, spark.port or port) if host else None
    return None


def _answers(spark: ConnectionFields, host: str, port: int, about: About) -> Finding:
    where = f"the Airflow connection {spark.conn_id!r}"
    name = named(host, port)
    if (why := unreachable(host, port)) is not None:
        return about.problem(
            f"Spark at {name} cannot be reached: {why}", f"start it, open its port, or correct host and port in {where}"
        )
    tls = str(spark.extra.get("use_ssl", "")).strip().lower() == "true"
    if spark.conn_type == CONNECT and not speaks_http2(host, port, tls=tls):
        how = "with TLS (use_ssl)" if tls else "without TLS"
        remedy = f"correct port and use_ssl in {where}: a Connect server listens on {CONNECT_PORT}, a master is none"
        return about.problem(f"what listens at {name} is no Connect server {how}", remedy)
    return about.ok(f"Spark at {name} can be reached")
