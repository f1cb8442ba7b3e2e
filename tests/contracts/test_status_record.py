"""The text of a status record: any record survives it, no other text is taken for one, and it has a size."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe.status.record import StatusRecord
from floe.status.record_codec import MAX_BYTES, MAX_KEY, PREFIX, dump, fit, key_of, parse
from tests.support.repository import ROOT
from tests.support.status.records import NOW, RECORDS, large, status

GOOD = json.loads(dump(StatusRecord(status())))


@settings(max_examples=40)
@given(RECORDS)
def test_any_record_survives_its_text(record: StatusRecord) -> None:
    text = dump(record)
    assert parse(text) == record
    assert text.isascii()


@given(st.text())
def test_other_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


@given(
    st.recursive(st.none() | st.integers() | st.text() | st.floats(), st.lists) | st.dictionaries(st.text(), st.text())
)
def test_other_json_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError):
        parse(json.dumps(value))


@pytest.mark.parametrize(
    "changed",
    [
        {"record": 2},
        {"rows": "<script>"},
        {"rows": True},
        {"rows": 2**70},
        {"lag_seconds": "1"},
        {"lag_seconds": float("nan")},
        {"history": [{"at": "2026-01-02T03:04:05", "lag": 1, "rows": 1}]},
        {"history": [{"at": "now", "lag": 1, "rows": 1}]},
        {"history": [{"at": NOW.isoformat(), "lag": 1, "rows": 1, "more": 1}]},
        {"held": [{"table": {}, "topic": "t", "partition": 0, "spans": [], "more": 0}]},
        {"held": [{"table": "t", "topic": "t", "partition": 0, "spans": [[0, 2**70]], "more": 0}]},
        {"status": {**GOOD["status"], "name": None}},
        {"freshness": {"max_ms": "1", "through": None, "tables": [], "more": 0}},
        {"freshness": {"max_ms": 1, "through": "now", "tables": [], "more": 0}},
        {"freshness": {"max_ms": 1, "through": None, "tables": [{"table": "t"}], "more": 0}},
        {"status": {**GOOD["status"], "problems": 5}},
        {"status": {**GOOD["status"], "partitions": [1]}},
        {"events": None},
    ],
)
def test_record_with_a_value_of_another_type_is_refused(changed: dict[str, Any]) -> None:
    parse(json.dumps(GOOD))
    with pytest.raises(ValueError):
        parse(json.dumps({**GOOD, **changed}))


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5_000, '{"record":1' * 9, "x" * (2 * MAX_BYTES + 1)])
def test_text_that_harms_a_parser_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


@pytest.mark.parametrize(
    ("partitions", "topic", "tables"),
    [(1, "pizzas", 1), (1_000, "pizzas", 1), (1_000, "pizzas", 5), (1_000, "t" * 249, 1), (5_000, "t" * 249, 50)],
)
def test_record_of_a_large_connector_has_room(partitions: int, topic: str, tables: int) -> None:
    record = large(partitions, topic, tables)
    text = dump(record)
    assert len(text) <= MAX_BYTES
    found = parse(text)
    if topic == "pizzas":
        assert found.status.partitions == record.status.partitions
        assert [one.name for one in found.status.tables or ()] == [one.name for one in record.status.tables or ()]
        assert found.status.problems == ()
        assert found.held and found.events and found.history
    else:
        (problem,) = found.status.problems
        assert f"of {partitions:,} partitions" in problem
        assert f"the lag of all is {record.status.lag:,} records" in problem
        assert max(one.lag for one in found.status.partitions or ()) == partitions - 1


def test_small_record_loses_nothing() -> None:
    record = StatusRecord(status())
    assert fit(record) is record


def test_key_of_any_name_has_room_in_the_database() -> None:
    assert key_of("pizzas-on-ice") == f"{PREFIX}pizzas-on-ice"
    longest = ["a" * 243, "a" * 242 + "b", "ü" * 243]
    assert len({key_of(name) for name in longest}) == 3
    assert all(len(key_of(name)) <= MAX_KEY and key_of(name).startswith(PREFIX) for name in longest)


def test_what_reads_records_imports_nothing_heavy() -> None:
    code = (
        "import sys, floe.status.record_codec, floe.status.metrics\n"
        "print([m for m in ('airflow', 'pyspark', 'pyiceberg', 'pyarrow', 'confluent_kafka') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "plugins")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
