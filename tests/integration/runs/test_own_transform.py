"""Transforms in Python, from a topic to a table: the example of the docs, wrong classes, and code that changes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from floe.config import restore_config
from floe.model.accounting import RangeCounts
from floe.model.exceptions import CodeChanged, WriteTimeout
from floe.model.plan import Plan
from floe.operators.exceptions import JobFailed
from floe.operators.spark import code_archive
from floe.operators.write import WriteFilesOperator
from floe.tables.exceptions import DeadLettersLeft
from floe_job.application.write_files import write_files
from floe_job.contract.result import TaskResult
from floe_job.contract.task import Task
from floe_job.exceptions import SliceRefused
from floe_job.runtime import time_limit
from floe_job.runtime.job_files import JobRequest
from stack.services.spark_connect import ConnectServer
from stack.settings import free_port
from tests.support.job.python_classes import Modules, source
from tests.support.keys import KEY_TEXT
from tests.support.repository import ROOT
from tests.support.runs.pipeline import MakePipeline, Pipeline, in_process
from tests.support.runs.replays import replay
from tests.support.task_instance import TaskInstance

PAGE = (ROOT / "docs" / "how-to" / "own-transform.md").read_text()
DEAD_LETTERS = "db.letters"
TOKEN = "token-of-the-connect-server"
OWN = {"transforms": "x", "transforms.x.type": "python:own_runs.Own", "floe.deadletter.table": DEAD_LETTERS}
MARK = "return batch.with_objects([v and {{**v, 'mark': {!r}}} for v in batch.objects()])"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    """A module that the operator allows."""
    (tmp_path / "path").mkdir()
    made = Modules(tmp_path / "path", monkeypatch)
    made.allow("own_runs", "pizza_transforms")
    made.write("own_runs", source("return batch"))
    yield made
    for name in ("own_runs", "pizza_transforms"):
        sys.modules.pop(name, None)


def block(language: str) -> str:
    """Return the one block of a language on the page."""
    (found,) = re.findall(rf"^( *)```{language}\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    return "".join(line.removeprefix(found[0]) for line in found[1].splitlines(keepends=True))


def mark(text: str, version: int = 1) -> str:
    return source(MARK.format(text), version)


def marks(one: Pipeline) -> dict[int, str | None]:
    return {row["id"]: row.get("mark") for row in one.table().scan().to_arrow().to_pylist()}


def test_example_of_the_docs_runs(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("pizza_transforms", block("python"))
    one = pipeline(**json.loads(block("json")))
    one.produce([{"id": 1, "price": 1.5}, {"id": 2, "price": 2, "test": True}, None, {"id": 3, "price": 12.34}])
    plan = one.plan()
    (announcement,) = one.write(plan)
    one.commit(plan)
    assert (one.column("id"), one.column("price")) == ([1, 3], [150, 1234])
    ((_, counts),) = announcement.counts
    assert counts == RangeCounts(routed=2, tombstones=1, filtered_by_transforms=1)
    (version, digest) = plan.code["pizza_transforms.PriceInCents"]
    summary = one.table().current_snapshot().summary  # type: ignore[union-attr]
    assert version == 1
    assert json.loads(summary["floe.code"]) == {"pizza_transforms.PriceInCents": [1, digest]}  # type: ignore[index]


def test_refused_rows_are_dead_letters_as_kafka_has_them(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write(
        "own_runs", source("return batch.refuse({r: 'odd' for r, v in enumerate(batch.objects()) if v['id'] % 2})")
    )
    one = pipeline(**OWN)
    one.produce([{"id": 1}, {"id": 2}, {"id": 3}])
    one.run()
    assert one.column("id") == [2]
    letters = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    assert sorted((row["offset"], row["stage"], row["reason"], row["value"]) for row in letters) == [
        (0, "transform", "odd", b'{"id": 1}'), (2, "transform", "odd", b'{"id": 3}')
    ]  # fmt: skip


def test_values_with_a_schema_get_another_column(pipeline: MakePipeline, modules: Modules) -> None:
    body = (
        "if not pa.types.is_struct(batch.value.type):\n    return batch\n"
        "ids = batch.value.field('id')\n"
        "return batch.changed(value=pa.StructArray.from_arrays([ids, pa.array(['seen'] * len(batch))], ['id', 'mark']))"
    )
    modules.write("own_runs", source(body))
    schema = {"type": "struct", "fields": [{"field": "id", "type": "int64"}, {"field": "gone", "type": "string"}]}
    one = pipeline(**OWN, **{"value.converter.schemas.enable": "true"})
    one.produce([{"schema": schema, "payload": {"id": i, "gone": "x"}} for i in range(3)] + [None])
    one.run()
    assert marks(one) == {0: "seen", 1: "seen", 2: "seen"}
    assert one.table().schema().column_names == ["id", "mark"]


# -- other code -------------------------------------------------------------------------------------------------------


def test_retry_with_other_code_is_refused_a_new_run_is_not(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("own_runs", mark("first"))
    one = pipeline(**OWN)
    one.produce([{"id": 1}])
    plan = one.plan()
    modules.write("own_runs", mark("second"))
    with pytest.raises(
        CodeChanged, match=r"'own_runs\.Own' has version 1 and hash .*Trigger a new run.*put the former code"
    ):
        one.write(plan)
    assert one.position() == {0: 0}
    one.changed().run()
    assert marks(one) == {1: "second"}


def test_retry_with_the_former_code_goes_on(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("own_runs", mark("first"))
    one = pipeline(**OWN)
    one.produce([{"id": 1}])
    plan = one.plan()
    modules.write("own_runs", "")
    with pytest.raises(CodeChanged, match="cannot be found now: its module has no class 'Own'"):
        one.write(plan)
    modules.write("own_runs", mark("first"))
    one.write(plan)
    one.write(plan)
    one.commit(plan)
    assert marks(one) == {1: "first"}
    assert one.run().slices == ()


def test_code_that_changes_after_the_write_is_committed(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("own_runs", mark("first"))
    one = pipeline(**OWN)
    one.produce([{"id": 1}])
    plan = one.plan()
    one.write(plan)
    modules.write("own_runs", mark("second", version=2))
    restored = Pipeline(one.bootstrap, one.topic, restore_config(plan.config, one.connector).with_code(plan.code))
    assert restored.connector.code == plan.code
    restored.commit(plan)
    assert marks(one) == {1: "first"}
    assert one.position() == {0: 1}


def test_other_version_between_runs_repeats_and_loses_nothing(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("own_runs", mark("first"))
    one = pipeline(**OWN)
    one.produce([{"id": 1}, {"id": 2}])
    one.run()
    modules.write("own_runs", mark("second", version=2))
    newer = one.changed()
    assert newer.connector.route_rule("db.t", one.topic) != one.connector.route_rule("db.t", one.topic)
    newer.produce([{"id": 3}])
    newer.run()
    assert marks(one) == {1: "first", 2: "first", 3: "second"}
    assert newer.run().slices == ()


def test_replay_has_the_present_code(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("own_runs", mark("first"))
    one = pipeline(**OWN)
    one.produce([{"id": 1}])
    one.run()
    modules.write("own_runs", mark("corrected"))
    replay(one.changed(), overlap="append")
    assert one.column("mark") == ["corrected", "first"]


# -- wrong classes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise ConnectionError('no answer')", r"raised ConnectionError: no answer \(own_runs\.py, line \d+\)"),
        ("return Batch.of([{}] * (len(batch) + 1))", "returned 3 rows in column 'topic' for 2 records"),
        ("return batch.changed(value=pa.array([1] * len(batch)))", "returned values of type int64"),
    ],
)
def test_wrong_class_fails_the_run_and_announces_nothing(
    pipeline: MakePipeline, modules: Modules, body: str, problem: str
) -> None:
    modules.write("own_runs", source(body))
    one = pipeline(**OWN)
    one.produce([{"id": 1}, {"id": 2}])
    with pytest.raises(SliceRefused, match=rf"transforms\.x \(python:own_runs\.Own\) {problem}") as found:
        one.write(one.plan())
    assert found.value.code == "FLOE-521"
    assert one.position() == {0: 0}
    modules.write("own_runs", mark("corrected"))
    one.changed().run()
    assert marks(one) == {1: "corrected", 2: "corrected"}


RAISES = "if 7 in [v['id'] for v in batch.objects()]:\n    raise ValueError('seven')\nreturn batch"


def test_records_for_which_the_class_raises_are_dead_letters(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("own_runs", source(RAISES))
    one = pipeline(**OWN)
    one.produce([{"id": i} for i in range(20)])
    one.run()
    assert one.column("id") == [i for i in range(20) if i != 7]
    (letter,) = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    assert (letter["offset"], letter["stage"], letter["table"]) == (7, "transform", None)
    assert re.fullmatch(
        r"transforms\.x \(python:own_runs\.Own\) raised ValueError: seven \(own_runs\.py, .*", letter["reason"]
    )
    modules.write("own_runs", mark("corrected", version=2))
    replay(one.changed(), dead_letters=True)
    assert marks(one)[7] == "corrected"


def test_record_for_which_the_class_raises_fails_a_run_without_a_place(
    pipeline: MakePipeline, modules: Modules
) -> None:
    modules.write("own_runs", source(RAISES))
    one = pipeline(**{**OWN, "floe.deadletter.table": None})
    one.produce([{"id": 7}, {"id": 8}])
    with pytest.raises(SliceRefused, match=r"offset 0.*raised ValueError: seven") as found:
        one.write(one.plan())
    assert found.value.code == "FLOE-501"
    assert one.position() == {0: 0}


def test_dead_letter_of_a_table_that_a_new_class_refuses_stays_one(pipeline: MakePipeline, modules: Modules) -> None:
    modules.write("own_runs", source("return batch"))
    one = pipeline(**OWN)
    one.produce([{"id": 1}])
    one.run()
    one.produce([{"id": "x"}, {"id": "y"}])
    one.run()
    modules.write(
        "own_runs",
        source("return batch.refuse({r: 'odd' for r, v in enumerate(batch.objects()) if v['id'] == 'x'})", 2),
    )
    with pytest.raises(DeadLettersLeft):
        replay(one.changed(), dead_letters=True)
    letters = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    assert sorted((row["offset"], row["table"], row["kind"]) for row in letters) == [
        (1, "db.t", "dead"),
        (2, "db.t", "dead"),
    ]


class InProcess:
    """In the place of Spark's jobs: what runs in this process cannot be cancelled."""

    def __init__(self, _: object) -> None:
        pass

    def run(self, tasks: Sequence[Task]) -> list[TaskResult]:
        return in_process(tasks)

    def cancel(self) -> None:
        pass

    def progress(self) -> str:
        return "0 of 1 tasks were done"


def test_slow_class_is_ended_by_the_write_timeout(
    pipeline: MakePipeline, modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("floe_job.runtime.spark_jobs.SparkJobs", InProcess)
    monkeypatch.setattr(time_limit, "GRACE", 3)
    modules.write("own_runs", "import time\n" + source("time.sleep(2)\nreturn batch"))
    one = pipeline(**OWN, **{"floe.write.timeout": 1000})
    one.produce([{"id": 1}])
    plan = one.plan()
    with pytest.raises(WriteTimeout, match=r"took longer than floe\.write\.timeout \(1 s\)"):
        write_files(None, JobRequest(plan, one.connector, one.settings, one.key(plan)))
    assert one.position() == {0: 0}


# -- Spark's workers --------------------------------------------------------------------------------------------------


class Airflows(TaskInstance):
    """A task instance that takes what the task leaves."""

    def xcom_push(self, key: str, value: Any) -> None:
        """Keep nothing of it."""


def submit(one: Pipeline, plan: Plan) -> None:
    write = WriteFilesOperator(task_id="write", connector=one.connector)
    write.execute({"ti": Airflows(plan)})  # type: ignore[arg-type]


@pytest.fixture
def shipped(pipeline: MakePipeline, modules: Modules, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A connector whose class is in a package, in a folder that is on the path of this process alone."""
    modules.write("own_folder.helper", "MARK = 'shipped'\n")
    body = "return batch.with_objects([{**v, 'mark': MARK} for v in batch.objects()])"
    modules.write("own_folder.own", "from own_folder.helper import MARK\n" + source(body))
    modules.allow("own_folder.*")
    one = pipeline(**{**OWN, "transforms.x.type": "python:own_folder.own.Own"})
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": one.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(kafka))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)
    one.produce([{"id": 1}, {"id": 2}])
    return one


def test_local_spark_runs_the_class_of_a_package(
    shipped: Pipeline, modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = shipped.plan()
    submit(shipped, plan)
    shipped.commit(plan)
    assert marks(shipped) == {1: "shipped", 2: "shipped"}
    assert "own_folder" not in sys.modules
    shipped.produce([{"id": 3}])
    later = shipped.plan()
    modules.write("own_folder.helper", "MARK = 'other'\n")
    monkeypatch.setattr(code_archive, "write_job", lambda: pytest.fail("Spark was started"))
    with pytest.raises(CodeChanged):
        submit(shipped, later)


def test_connect_server_runs_the_present_code(
    shipped: Pipeline, modules: Modules, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other code comes in another archive, which has a session of its own, though the first one's workers are warm."""
    server = ConnectServer(tmp_path, free_port(), token=TOKEN)
    server.start()
    try:
        # pyspark sends a token to the name localhost alone, or over TLS
        connection = {"conn_type": "spark_connect", "host": "localhost", "port": server.port}
        plan = shipped.plan()
        for others in ({}, {"password": "of-another-server"}):
            monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({**connection, **others}))
            with pytest.raises(JobFailed, match="FLOE-517") as refused:
                submit(shipped, plan)
            assert TOKEN not in str(refused.value) and "of-another-server" not in str(refused.value)
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({**connection, "password": TOKEN}))
        assert not [part for part in psutil.Process(server.pid).cmdline() if TOKEN in part]
        submit(shipped, plan)
        shipped.commit(plan)
        shipped.produce([{"id": 3}])
        modules.write("own_folder.helper", "MARK = 'other'\n")
        newer = shipped.changed()
        plan = newer.plan()
        submit(newer, plan)
        newer.commit(plan)
    finally:
        server.stop()
    assert marks(shipped) == {1: "shipped", 2: "shipped", 3: "other"}
