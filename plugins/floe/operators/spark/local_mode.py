"""What makes a job start and end quickly where its Spark is a process on this machine, for that one job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from floe.operators.spark.class_archive import class_archive
from floe.operators.spark.spark_home import SUBMIT, home_of_submit

DAEMON, DAEMON_SOCKET = "spark.python.daemon.module", "FLOE_DAEMON_SOCKET"

CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    DAEMON: "floe_job.runtime.prefork_daemon",
    "spark.floe.halt": "true",
}
"""Only this machine takes part, workers are forked from the driver, and no orderly shutdown is needed.

Of its users, none reaches the driver: to authenticate, Spark makes a secret in memory.
"""

JAVA_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"
"""The JVM of such a job carries messages: it is too short-lived for the code of its second compiler to pay."""

COLLECTOR = "-XX:+UseSerialGC"
WITHOUT_PANDAS = "FLOE_WITHOUT_PANDAS"
OPTIONS, LAUNCHER_OPTIONS, DRIVER_OPTIONS = "SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "spark.driver.extraJavaOptions"
TEMPORARY, TEMPORARY_CONF = "SPARK_LOCAL_DIRS", "spark.local.dir"

Settings = tuple[dict[str, str], dict[str, str]]


@contextmanager
def settings(
    folder: Path, conf: Mapping[str, str], env: Mapping[str, str], binary: str = SUBMIT, *, has_own_code: bool = True
) -> Iterator[Settings]:
    """Yield the conf and the whole environment of a local job. What the user has set in either takes precedence.

    ``has_own_code``: workers run classes of the user's, which may make data frames.

    Java's options go where Spark's launcher puts those of the user behind them. Spark's files go into ``folder``, which
    is the job's own, so that a JVM which is halted leaves nothing behind.
    """
    given = " ".join(filter(None, [env.get(OPTIONS), conf.get(DRIVER_OPTIONS)]))
    options = JAVA_OPTIONS if "GC" in given else f"{JAVA_OPTIONS} {COLLECTOR}"
    with class_archive(env, f"{options} {given}") as archive:
        conf = {**CONF, **conf}
        if archive is not None and archive.is_draft:
            conf["spark.floe.halt"] = "false"  # a JVM archives its classes when it ends in order
        java = [options, f'"-Djava.io.tmpdir={folder}"', archive.option if archive else "", env.get(OPTIONS, "")]
        home = home_of_submit(env, binary)
        made = {LAUNCHER_OPTIONS: options, **env, **home, OPTIONS: " ".join(filter(None, java))}
        if _takes_fork(conf):
            made[DAEMON_SOCKET] = str(folder / "daemon.sock")
        if not has_own_code:
            made[WITHOUT_PANDAS] = "true"
        if TEMPORARY not in env and TEMPORARY_CONF not in conf:
            made[TEMPORARY] = str(folder)
        yield conf, made


def _takes_fork(conf: Mapping[str, str]) -> bool:
    """Return whether the driver's fork can be the workers' daemon: it began with the driver's environment."""
    is_ours = conf[DAEMON] == CONF[DAEMON] and conf.get("spark.python.use.daemon", "true") == "true"
    return is_ours and not any(key.startswith("spark.executorEnv.") for key in conf)
