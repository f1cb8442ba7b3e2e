"""What queries print: rows as a table, errors with the next step. No Spark is started."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from floe.query import statements
from floe.query.exceptions import QueryFailed, QueryRefused
from floe.query.statements import as_json, cell, explain, first_lines, missing


class NotFound(PySparkException):
    """Spark's error for a table that is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(message=f"[TABLE_OR_VIEW_NOT_FOUND] The table or view {name} cannot be found.")
        self._name = name

    def getMessageParameters(self) -> dict[str, str]:
        return {"relationName": self._name}


class Found:
    """What a statement gives."""

    def __init__(self, columns: list[str], rows: list[list[Any]]) -> None:
        self.columns = columns
        self.rows = rows

    def take(self, count: int) -> list[list[Any]]:
        return self.rows[:count]

    def collect(self) -> list[Any]:
        return self.rows


class Session:
    """A Spark with two tables that has one answer, or one error, for everything else."""

    def __init__(self, answer: Found | Exception) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.catalog = SimpleNamespace(currentCatalog=lambda: "demo")

    def sql(self, text: str) -> Any:
        self.asked.append(text)
        if text == "show namespaces":
            return Found([], [["rpc"]])
        if text == "show tables in `rpc`":
            return Found([], [{"tableName": name} for name in ("pizzas", "orders")])  # type: ignore[list-item]
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_rows_are_a_table_with_a_count(capsys: pytest.CaptureFixture[str]) -> None:
    spark = Session(Found(["store_id", "count"], [[1, 85294], [37, None]]))
    statements.print_rows(spark, " select 1; ")  # type: ignore[arg-type]
    assert spark.asked == ["select 1"]
    assert capsys.readouterr().out.splitlines() == [
        "+------------+---------+",
        "| store_id   | count   |",
        "|------------+---------|",
        "| 1          | 85294   |",
        "| 37         | NULL    |",
        "+------------+---------+",
        "2 rows",
    ]


def test_rows_beyond_the_limit_are_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    statements.print_rows(Session(Found(["n"], [[i] for i in range(5000)])), "select n")  # type: ignore[arg-type]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "The first 1000 rows; add a limit to the statement."
    assert len(lines) == 1000 + 5


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "NULL"),
        ("a\nb\x1b[2J", "a\\nb\\x1b[2J"),
        (bytearray(b"\x00\xff"), "00ff"),
        (datetime(2024, 1, 4, 12, 28), "2024-01-04 12:28:00"),  # noqa: DTZ001 - without a zone
        ("x" * 500, "x" * 199 + "…"),
        ("\x1b" * 200, "\\x1b" * 49 + "\\x1…"),
    ],
)
def test_values_are_one_short_line_without_escapes(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_missing_table_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(QueryFailed, match=r"no table demo\.rpc\.pizas\. Nearest: rpc\.pizzas"):
        statements.print_rows(Session(NotFound("`demo`.`rpc`.`pizas`")), "select 1")  # type: ignore[arg-type]


def test_missing_table_without_a_near_name_lists_some() -> None:
    assert missing("x.unlike", ["a.b", "c.d"], "demo") == "there is no table x.unlike. Tables are: a.b, c.d"
    assert missing("x.y", list("abcdef"), "demo").endswith("Tables are: a, b, c, d, e, …")


def test_missing_table_of_an_empty_catalog_names_the_first_run() -> None:
    assert "the catalog has none yet. A connector's first run makes" in missing("rpc.pizzas", [], "demo")


def test_statement_that_changes_tables_says_that_query_reads() -> None:
    error = PySparkException(message="[SQLITE_READONLY] attempt to write a readonly database")
    assert explain(error, Session(error)).startswith("no table was changed")  # type: ignore[arg-type]


def test_wrong_statement_is_explained_without_plan_and_frames() -> None:
    text = "[UNRESOLVED_COLUMN] A column `x` cannot be resolved.; line 1 pos 7;\n'Project ['x]\n+- SubqueryAlias demo"
    assert first_lines(text) == "[UNRESOLVED_COLUMN] A column `x` cannot be resolved.; line 1 pos 7"
    assert first_lines("[X] a; line 1 pos 4;\nAggregate [n#1L]\n") == "[X] a; line 1 pos 4"
    assert first_lines("[PARSE]\n== SQL ==\nselec 1\n^^^") == "[PARSE]\n== SQL ==\nselec 1\n^^^"
    assert first_lines("") == "Spark failed without a message"


def test_lines_of_python_have_the_session(capsys: pytest.CaptureFixture[str]) -> None:
    spark = Session(Found(["n"], [[7]]))
    statements.run_lines(spark, "def n():\n    return spark.sql('q').rows\nprint(n())\n")  # type: ignore[arg-type]
    assert capsys.readouterr().out == "[[7]]\n"


def test_error_of_spark_in_lines_is_explained_too() -> None:
    with pytest.raises(QueryFailed, match=r"Nearest: rpc\.orders"):
        statements.run_lines(Session(NotFound("rpc.order")), "spark.sql('select')")  # type: ignore[arg-type]


def test_prompt_explains_errors_of_spark_without_frames(capsys: pytest.CaptureFixture[str]) -> None:
    prompt = statements.Prompt(Session(NotFound("rpc.order")))  # type: ignore[arg-type]
    for line in ("spark.sql('select')", "sql('select')", "n = 6 * 7", "n", "1 / 0"):
        assert not prompt.push(line)
    shown = capsys.readouterr()
    assert shown.err.splitlines()[:2] == ["there is no table rpc.order. Nearest: rpc.orders"] * 2
    assert shown.err.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert shown.out == "42\n"


def test_rows_as_json_keep_numbers_flags_and_nulls() -> None:
    row = [1, 2.5, True, None, "a", b"\x00", float("nan"), datetime(2024, 1, 4)]  # noqa: DTZ001 - without a zone
    assert as_json(list("abcdefgh"), [row]) == [
        dict(zip("abcdefgh", [1, 2.5, True, None, "a", "00", "nan", "2024-01-04 00:00:00"], strict=True))
    ]


def test_prompt_says_that_a_change_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    prompt = statements.Prompt(Session(QueryRefused("no table was changed: queries only read")))  # type: ignore[arg-type]
    prompt.push("spark.sql('drop table x')")
    assert capsys.readouterr().err == "no table was changed: queries only read\n"


def test_error_without_a_store_client_names_the_jars() -> None:
    error = PySparkException(message='UnsupportedFileSystemException: No FileSystem for scheme "s3"')
    assert "iceberg-aws-bundle" in explain(error, Session(error))  # type: ignore[arg-type]
