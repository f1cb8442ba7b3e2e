"""The write task: the Spark job, by spark-submit or by Spark Connect, as the connection says at run time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from floe.config import Connector
from floe.config.secrets.deployment_key import without_keys
from floe.config.secrets.mask import hide
from floe.model.exceptions import WriteTimeout
from floe.operators import task_context
from floe.operators.connections import kafka_settings
from floe.operators.exceptions import ConnectionUnsuitable, JobFailed, JobRefused
from floe.operators.failures import floe_task
from floe.operators.spark import code_archive, local_mode
from floe.operators.spark.job_folder import job_folder
from floe.operators.spark.provider_internals import end_of, submitted
from floe.operators.spark.spark_home import SUBMIT
from floe.operators.spark.submit import RelayingHook, conf_of
from floe.operators.stored_plan import pulled
from floe.operators.write_timeout import GuardExpired, followed_up, stuck, write_guard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection, Context

    from floe.control.announcement import Announcement

_DEPLOY_MODE: Final = "spark.submit.deployMode"
_WORKERS_PYTHON: Final = "PYSPARK_PYTHON"


class WriteFilesOperator(SparkSubmitOperator):
    """Write the data files of a run's plan and announce them.

    A ``spark`` connection is submitted to, a ``spark_connect`` connection is connected to. The driver runs in or below
    this task's process, so cancelling the task ends it.
    """

    def __init__(self, *, connector: Connector, **kwargs: Any) -> None:
        # said always: it counts over a mode in a file of Spark's settings
        super().__init__(
            conn_id=connector.connections.spark, name=f"floe-{connector.name}", deploy_mode="client", **kwargs
        )
        self._connector = connector
        self._environment: dict[str, str] = {}
        self._session: Any = None

    @floe_task
    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]
        """Run the job and return what it announced, as read back from the control topic.

        Its error is stored for the commit, which fails with the same one.
        """
        return self._write(context)

    def _write(self, context: Context) -> dict[str, Any]:
        from floe.commit.run_commit import Committer
        from floe.planning.code_check import check_code

        plan, connector, key, _ = pulled(context, self._connector)
        settings = kafka_settings(connector)
        committer = Committer.open(plan, connector, settings, key)
        still_open = {plan.slice_id(slice_) for slice_ in committer.open_slices()}
        if not still_open:
            self.log.info("plan %s is committed already: no Spark job is started", plan.plan_id)
            return _summary({})
        found = committer.announcements([])
        if still_open <= found.keys():
            self.log.info("an earlier try announced all of plan %s: no Spark job is started", plan.plan_id)
            return _summary(found)
        if found:
            self.log.info("%s of %s slices were announced by an earlier try", len(found), len(plan.slices))
        done = frozenset(plan.slice_id(slice_) for slice_ in plan.slices) - still_open | found.keys()
        own = check_code(plan, connector)
        job = code_archive.write_job()
        self._conn_id = connector.connections.spark
        spark = task_context.connection(self._conn_id, "floe.spark.conn-id")
        request = job.JobRequest(plan, connector, settings, key, done)
        try:
            self._run(context, spark, request, job, own)
        except WriteTimeout as error:
            raise followed_up(error, plan, connector, settings) from error
        return _summary(committer.announcements(still_open))

    def _run(self, context: Context, spark: Connection, request: Any, job: Any, own: Mapping[str, str]) -> None:
        """Run the job as the connection says. Raises WriteTimeout when it took too long, by its own clock or by ours.

        ``own``: modules that are not floe's, by the names of their files.
        """
        if spark.conn_type == "spark":
            self._submit(context, spark, request, job, own)
        elif spark.conn_type == "spark_connect":
            self._connect(request, own)
        else:
            msg = (
                f"the Airflow connection {self._conn_id!r} is of type {spark.conn_type!r}: floe needs one of type 'spark' "
                "(spark-submit) or 'spark_connect'"
            )
            raise ConnectionUnsuitable(msg)

    # -- spark-submit -------------------------------------------------------------------------------------------------

    def _submit(self, context: Context, spark: Connection, request: Any, job: Any, own: Mapping[str, str]) -> None:
        """Submit the job with its request in a private folder, and raise the error that the job names."""
        conf = conf_of(spark)
        if "cluster" in (spark.extra_dejson.get("deploy-mode"), conf.get(_DEPLOY_MODE, "").strip().lower()):
            msg = (
                f"the Airflow connection {self._conn_id!r} asks for deploy-mode cluster: the request of a job holds secrets "
                "and is not shipped; use deploy-mode client, or a spark_connect connection"
            )
            raise ConnectionUnsuitable(msg)
        with job_folder() as folder:
            path = folder / "order.json"
            request.save(path)
            self._prepare(path, conf, code_archive.own_folder(folder, own))
            if _is_local(spark):
                binary = spark.extra_dejson.get("spark-binary") or SUBMIT
                with local_mode.settings(
                    folder, self.conf or {}, self._environment, binary, has_own_code=bool(own)
                ) as made:
                    self.conf, self._environment = made
                    self._carry_out(context, request, job, path)
            else:
                # by default the workers' Python would be the driver's too
                self.conf = {"spark.pyspark.driver.python": sys.executable, **(self.conf or {})}
                if _is_kubernetes(spark):
                    del self._environment[_WORKERS_PYTHON]  # the image has its own
                self.py_files = str(code_archive.archive(folder, own))
                self._carry_out(context, request, job, path)

    def _carry_out(self, context: Context, request: Any, job: Any, path: Path) -> None:
        from airflow.sdk.exceptions import AirflowException

        mark = job.SliceMark.of(path)
        try:
            with write_guard(request.connector.reading.write_timeout_ms, mark.get):
                super().execute(context)
        except GuardExpired:
            self.on_kill()
            raise stuck(request, mark.get()) from None
        except AirflowException as error:
            result = job.JobResult.load(job.JobResult.path_of(path))
            if result is None:
                submit = submitted(self._hook)
                end = end_of(submit.poll() if submit is not None else None)
                msg = f"The Spark driver {end} before floe reported a result. See the Spark log above."
                raise JobFailed(msg) from error
            if result.timed_out:
                raise WriteTimeout(str(result.error), result.timed_out) from None
            if result.error is not None:
                raise (JobFailed if result.retryable else JobRefused)(result.error, code=result.code) from None
            submit = submitted(self._hook)
            # by SIGKILL a local job ends its JVM; a shell in between adds 128
            if submit is None or submit.poll() not in (-signal.SIGKILL, 128 + signal.SIGKILL):
                reason = hide(str(error)).partition("\n")[0]
                self.log.warning("The job was done, and Spark failed at its end: %s", reason)
        finally:
            self._close_pipe()

    def _close_pipe(self) -> None:
        """Close the pipe that the provider's hook reads spark-submit's lines from and leaves open."""
        submit = submitted(self._hook)
        if submit is not None and submit.stdout is not None and submit.poll() is not None:
            submit.stdout.close()

    def _prepare(self, request: Path, conf: Mapping[str, str], own: Path | None = None) -> None:
        self.application = str(code_archive.application())
        self.application_args = [str(request)]
        self._environment = {
            **without_keys(os.environ),
            _WORKERS_PYTHON: sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYTHONPATH": code_archive.python_path(own),
            "PATH": _path_with_spark(),
            **(self.env_vars or {}),
        }
        self.env_vars = None  # which the provider would add to the task's environment, or to the arguments
        self.conf = {"spark.log.level": "WARN", **(self.conf or {}), **conf}
        self._hook = None

    def _get_hook(self) -> RelayingHook:
        hook = super()._get_hook()
        hook.__class__ = RelayingHook  # it is made of two dozen arguments, which are the operator's business
        made = cast("RelayingHook", hook)
        made.environment = self._environment
        return made

    # -- Spark Connect ------------------------------------------------------------------------------------------------

    def _connect(self, request: Any, own: Mapping[str, str]) -> None:
        """Run the job's driver in this process, its tasks in a session of the Connect server."""
        from floe.operators.spark.connect_session import open_session

        begun: list[str] = []
        with job_folder() as folder:
            try:
                with write_guard(request.connector.reading.write_timeout_ms, lambda: begun[-1] if begun else None):
                    archive = code_archive.archive(folder, own)
                    self._session = open_session(self._conn_id, archive)
                    code_archive.write_job().write_files(self._session.spark, request, begun.append)
            except GuardExpired:
                raise stuck(request, begun[-1] if begun else None) from None
            finally:
                if self._session is not None:
                    self._session.close()
                self._session = None

    def on_kill(self) -> None:
        """End the driver and all that it started. What Spark still runs is not announced."""
        if self._session is not None:
            self._session.interrupt()
        if self._hook is None:
            return
        import psutil

        submit = submitted(self._hook)
        family = psutil.Process(submit.pid).children(recursive=True) if submit and submit.poll() is None else []
        super().on_kill()
        for process in family:
            if process.is_running():
                process.kill()
        psutil.wait_procs(family, timeout=10)
        if submit is not None:
            with suppress(subprocess.TimeoutExpired):  # it was killed; it ends once the kernel lets it
                submit.wait(10)


def _is_local(spark: Connection) -> bool:
    """Return whether the master is this machine alone: ``local``, ``local[4]``; not ``spark://localhost:7077``."""
    return (spark.host or "").partition("[")[0] == "local" and not spark.port


def _is_kubernetes(spark: Connection) -> bool:
    return (spark.host or "").startswith("k8s://")


def _path_with_spark() -> str:
    """Put this interpreter's folder first: pip installs ``spark-submit`` beside it."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _summary(found: Mapping[str, Announcement]) -> dict[str, Any]:
    tables: dict[str, dict[str, int]] = {}
    for announcement in found.values():
        for name, one in announcement.tables.items():
            tables[name] = {"files": 0 if one.files is None else one.files.file_count, **one.counts.to_json()}
    return {"announced": sorted(found), "tables": tables}
