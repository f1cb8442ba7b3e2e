"""Metrics of status records, read back by a parser that takes no more than Prometheus' text format has."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from floe.model.offsets import Intervals
from floe.status.connector_status import Backlog, ConnectorStatus, PartitionStatus, TableStatus
from floe.status.freshness import Freshness, TableFreshness
from floe.status.metrics import FAMILIES, metrics
from floe.status.record import DeadLetterReason, StatusRecord
from tests.support.repository import ROOT
from tests.support.status.records import NOW, RECORDS, commit, status, table

Labels = frozenset[tuple[str, str]]

_HELP = re.compile(r"# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\n\\]+)")
_TYPE = re.compile(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)")
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (-?[0-9.e+-]+)", re.DOTALL)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
_PLAIN = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def parsed(text: str) -> dict[str, dict[Labels, float]]:
    """Return the samples by metric and labels. Each metric has its help and its type first, and no sample is there twice."""
    assert text == "" or text.endswith("\n")
    found: dict[str, dict[Labels, float]] = {}
    name = ""
    lines = text.split("\n")[:-1]
    for i, line in enumerate(lines):
        if line.startswith("# HELP"):
            helped = _HELP.fullmatch(line)
            assert helped is not None and helped[1] not in found
            name = helped[1]
            found[name] = {}
            typed = _TYPE.fullmatch(lines[i + 1])
            assert typed is not None and typed[1] == name
            assert (typed[2] == "counter") == name.endswith("_total")
        elif not line.startswith("# TYPE"):
            sample = _SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample[1] == name
            labels = _labels(sample[2])
            assert labels not in found[name]
            found[name][labels] = float(sample[3])
    return found


def _labels(text: str) -> Labels:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        label = _LABEL.match(text, at)
        assert label is not None, text
        assert label[1] not in found
        found[label[1]] = re.sub(r'\\[\\"n]', lambda escape: _PLAIN[escape[0]], label[2])
        at = label.end()
    return frozenset(found.items())


def of(record: StatusRecord, name: str) -> dict[tuple[str, ...], float]:
    """Return one metric of a record, by the values of its labels but the connector's."""
    samples = parsed(metrics([record], NOW))[name]
    return {
        tuple(value for label, value in sorted(labels) if label != "connector"): number
        for labels, number in samples.items()
    }


def test_metrics_say_what_the_record_says() -> None:
    partitions = (
        PartitionStatus("pizzas", 0, 2, 5, 9, 4, Intervals(((2, 5),)), "lost"),
        PartitionStatus("p", 1, 9, 0, 9, 0),
    )
    tables = (table("db.t", commit(2, NOW), commit(1)), TableStatus("db.u", "main", False, problem="dropped"))
    backlog = (Backlog("db.u", "pizzas", 0, 2, 6), Backlog("db.u", "pizzas", 1, 0, 3))
    record = StatusRecord(
        ConnectorStatus("one", "g", NOW - timedelta(seconds=7), partitions, backlog, tables, ("why",)),
        dead_letters=(DeadLetterReason("db.t", "s", "E", 3), DeadLetterReason("db.t", "s", "F", 4)),
        lag_seconds=12.5,
        seconds_until_lost=60.0,
        rows=99,
    )
    assert of(record, "floe_lag_records") == {("0", "pizzas"): 4, ("1", "p"): 0}
    assert of(record, "floe_lost_records") == {("0", "pizzas"): 3}
    assert of(record, "floe_lag_seconds") == {(): 12.5}
    assert of(record, "floe_seconds_until_lost") == {(): 60}
    assert of(record, "floe_backlog_records") == {("db.t",): 0, ("db.u",): 7}
    assert of(record, "floe_last_commit_timestamp_seconds") == {("db.t",): NOW.timestamp()}
    assert of(record, "floe_valid_through_timestamp_seconds") == {("db.t",): NOW.timestamp()}
    assert of(record, "floe_dead_letters_open") == {("db.t",): 7}
    assert of(record, "floe_rows_total") == {(): 99}
    assert of(record, "floe_problems") == {(): 3}
    assert of(record, "floe_status_age_seconds") == {(): 7}


def test_what_is_not_known_has_no_sample() -> None:
    record = StatusRecord(ConnectorStatus("one", "g", NOW, problems=("no broker",)))
    found = {name for name, samples in parsed(metrics([record], NOW)).items() if samples}
    assert found == {"floe_rows_total", "floe_problems", "floe_status_age_seconds"}


def test_connector_without_lag_has_an_age_of_zero() -> None:
    assert of(StatusRecord(status(lag=0)), "floe_lag_seconds") == {(): 0}
    assert of(StatusRecord(status(lag=1)), "floe_lag_seconds") == {}


def test_late_tables_are_counted_where_freshness_is_watched() -> None:
    late = TableFreshness("db.t", NOW, is_late=True)
    freshness = Freshness(1000, NOW, (late, replace(late, table="db.u", is_late=False)), more=2)
    assert of(StatusRecord(status(), freshness=freshness), "floe_late_tables") == {(): 3}
    assert of(StatusRecord(status(), freshness=Freshness(1000)), "floe_late_tables") == {(): 0}
    assert of(StatusRecord(status()), "floe_late_tables") == {}


def test_no_open_dead_letters_are_zero_not_nothing() -> None:
    assert of(StatusRecord(status(), dead_letters=()), "floe_dead_letters_open") == {("",): 0}


def test_metrics_without_connectors_have_no_samples() -> None:
    assert parsed(metrics([], NOW)) == {family.name: {} for family in FAMILIES}


def test_page_about_monitoring_names_the_metrics_that_there_are() -> None:
    page = (ROOT / "docs" / "how-to" / "monitor.md").read_text()
    assert set(re.findall(r"\bfloe_[a-z_]+", page)) == {family.name for family in FAMILIES}


def test_hostile_names_stay_in_their_labels() -> None:
    name = 'a"} 1\nfloe_lag_records{x="\\'
    hostile = status(name=name)
    hostile = replace(hostile, partitions=(PartitionStatus("t\ud800\n", 0, 0, 0, 0, 0),))
    text = metrics([StatusRecord(hostile)], NOW)
    (labels,) = parsed(text)["floe_lag_records"]
    assert dict(labels) == {"connector": name, "topic": "t?\n", "partition": "0"}
    text.encode()


def test_odd_numbers_of_one_record_do_not_break_the_others() -> None:
    odd = StatusRecord(replace(status(), backlog=(Backlog("t", "p", 0, 9, 3), Backlog("u", "p", 0, -1, 2**63 - 1))))
    assert of(odd, "floe_backlog_records") == {("db.t",): 0, ("t",): 0, ("u",): 2**63}
    assert of(replace(odd, lag_seconds=True), "floe_lag_seconds") == {(): 1}


@settings(max_examples=20)
@given(st.lists(RECORDS, max_size=3, unique_by=lambda one: one.status.name))
def test_metrics_of_any_records_can_be_parsed(records: list[StatusRecord]) -> None:
    apart = [replace(one, status=replace(one.status, partitions=None, tables=None)) for one in records]
    found = parsed(metrics(apart, NOW))
    assert len(found["floe_problems"]) == len(records)
