"""The assets of a connector: what its DAGs name, and the events that a run raises."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.sdk import Asset, AssetAlias, Variable
from airflow.sdk.execution_time.context import OutletEventAccessors
from airflow.sdk.execution_time.task_runner import _build_asset_profiles, _serialize_outlet_events

from floe.commit.run_commit import CommitReport
from floe.commit.table_commit import TableCommit
from floe.config import Connector, parse_connector
from floe.config.names import table_uri
from floe.control.announcement import Announcement, TableAnnouncement, TableFiles
from floe.control.wire.events import TableReference, TopicPartitionOffset
from floe.model.accounting import TableCounts
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan
from floe.operators import task_context
from floe.operators.commit import CommitOperator, keep_committed
from floe.operators.dags.assets import MAX_KEPT, MAX_RANGES, keep_events, outlets_of, raise_events, raise_kept
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.sink_dag import sink_dag
from floe.operators.failures import say_failure
from tests.support.connectors import MINIMAL

NOW = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
PLAN = Plan("p" * 32, "one", "connect-one", "C1", {}, "c", {}, (), ())


def connector(**keys: Any) -> Connector:
    fields = {**MINIMAL, "iceberg.catalog": "demo", **keys}
    return parse_connector({key: value for key, value in fields.items() if value is not None})


def uris(one: Connector) -> list[str]:
    return [outlet.uri for outlet in outlets_of(one) if isinstance(outlet, Asset)]


def files_of(table: str, branch: str = "main", ranges: int = 1) -> TableFiles:
    namespace, name = table.split(".")
    new = tuple((OffsetRange("t", "id", p, 0, 9), Intervals(((0, 4), (6, 9)))) for p in range(ranges))
    reference = TableReference("demo", (namespace,), name, None)
    return TableFiles(reference, branch, 0, new, {}, ())


def report_of(*commits: tuple[TableFiles, int | None]) -> CommitReport:
    assigned = (TopicPartitionOffset("t", 0, 9, NOW),)
    counts = TableCounts(7, 7)
    tables = {str(i): TableAnnouncement(counts, one) for i, (one, _) in enumerate(commits)}
    announcement = Announcement("p/0", uuid.uuid4(), "live", (), tables, (), assigned)
    committed = tuple(TableCommit(one, counts, snapshot, False) for one, snapshot in commits)
    return CommitReport(False, committed, (announcement,))


def events_of(report: CommitReport, one: Connector | None = None) -> list[dict[str, Any]]:
    """Return the events as Airflow's API server gets them."""
    accessors = OutletEventAccessors()
    raise_events(accessors, one or connector(), PLAN, report)
    return list(_serialize_outlet_events(accessors))


# -- what the DAGs name ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("catalog", "table", "uri"),
    [
        ("demo", "rpc.pizzas", "iceberg://demo/rpc/pizzas"),
        ("demo", "a.b.c", "iceberg://demo/a.b/c"),
        ("Demo", "RPC.Pizzas", "iceberg://Demo/RPC/Pizzas"),
        ("a:b@c", "ü.x y", "iceberg://a%3Ab%40c/%C3%BC/x%20y"),
        ("a/b", "n.50%&q=1;", "iceberg://a%2Fb/n/50%25%26q%3D1%3B"),
    ],
)
def test_uri_of_table_is_kept_by_airflow_as_it_is(catalog: str, table: str, uri: str) -> None:
    assert table_uri(catalog, table) == uri
    assert (Asset(uri).name, Asset(uri).uri) == (uri, uri)


def test_outlets_are_the_tables_dead_letters_and_an_alias() -> None:
    one = connector(**{"iceberg.tables": "rpc.a,rpc.b", "floe.deadletter.table": "rpc.dead", "errors.tolerance": "all"})
    assert uris(one) == ["iceberg://demo/rpc/a", "iceberg://demo/rpc/b", "iceberg://demo/rpc/dead"]
    assert outlets_of(one)[-1] == AssetAlias("floe.pizzas")


def test_tables_that_records_name_are_behind_the_alias() -> None:
    one = connector(**{"iceberg.tables": None, "floe.route.template": "raw.{topic}"})
    assert outlets_of(one) == [AssetAlias("floe.pizzas")]


def test_table_with_too_long_a_name_has_no_asset() -> None:
    long = ".".join(["ü" * 100] * 5)
    one = connector(**{"iceberg.tables": f"rpc.a,{long}"})
    assert uris(one) == ["iceberg://demo/rpc/a"]
    namespace, _, name = long.rpartition(".")
    reference = TableReference("demo", (namespace,), name, None)
    files = TableFiles(reference, "main", 0, (), {}, ())
    assert events_of(report_of((files, 1)), one) == []


def test_one_dag_produces_the_assets_and_no_task_runs_with_them() -> None:
    one = connector(**{"floe.deadletter.table": "rpc.dead", "errors.tolerance": "all"})
    for dag, outlets in ((sink_dag(one), outlets_of(one)), (replay_dag(one), [AssetAlias("floe.pizzas")])):
        commit = dag.get_task("commit")
        assert isinstance(commit, CommitOperator)
        assert commit.outlets == outlets
        assert commit.prepare_for_execution().outlets == []
        assert commit.outlets == outlets, "the DAG's own operator is as it was"
        assert [task.outlets for task in dag.tasks if task is not commit] == [[], []]


# -- events ------------------------------------------------------------------------------------------------------------


def test_event_tells_snapshot_offsets_rows_and_valid_through() -> None:
    (event,) = events_of(report_of((files_of("rpc.pizzas"), 2**62)))
    assert event["source_alias_name"] == "floe.pizzas"
    assert event["dest_asset_key"] == {"name": "iceberg://demo/rpc/pizzas", "uri": "iceberg://demo/rpc/pizzas"}
    assert event["extra"] == {
        "connector": "pizzas",
        "branch": "main",
        "snapshot_id": str(2**62),
        "commit_id": str(PLAN.commit_id),
        "kind": "live",
        "rows": 7,
        "files": 0,
        "ranges": [["t", 0, 0, 4], ["t", 0, 6, 9]],
        "more_ranges": 0,
        "valid_through": NOW.isoformat(),
    }


def test_each_snapshot_raises_one_event_also_of_one_table() -> None:
    found = events_of(report_of((files_of("rpc.pizzas"), 1), (files_of("rpc.pizzas"), 2), (files_of("rpc.b"), 3)))
    assert [(one["dest_asset_key"]["uri"], one["extra"]["snapshot_id"]) for one in found] == [
        ("iceberg://demo/rpc/pizzas", "1"),
        ("iceberg://demo/rpc/pizzas", "2"),
        ("iceberg://demo/rpc/b", "3"),
    ]


def test_run_without_snapshot_raises_no_event() -> None:
    assert events_of(CommitReport(done=True)) == []
    assert events_of(report_of((files_of("rpc.pizzas"), None))) == []


def test_snapshot_on_branch_of_replay_raises_no_event() -> None:
    audit = {"iceberg.tables.default-commit-branch": "audit"}
    report = report_of((files_of("rpc.pizzas", "audit"), 1))
    assert events_of(report) == []
    assert len(events_of(report, connector(**audit))) == 1


def test_many_ranges_are_cut_and_counted() -> None:
    (event,) = events_of(report_of((files_of("rpc.pizzas", ranges=MAX_RANGES), 1)))
    assert (len(event["extra"]["ranges"]), event["extra"]["more_ranges"]) == (MAX_RANGES, MAX_RANGES)


# -- events of commits that failed --------------------------------------------------------------------------------------


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Airflow's variables, stood in for."""
    kept: dict[str, str] = {}
    monkeypatch.setattr(Variable, "get", lambda key, default: kept.get(key, default))
    monkeypatch.setattr(Variable, "set", lambda key, value: kept.update({key: value}))
    monkeypatch.setattr(Variable, "delete", kept.pop)
    return kept


def test_events_of_failed_commit_are_raised_by_the_next_plan(variables: dict[str, str]) -> None:
    one, report = connector(), report_of((files_of("rpc.pizzas"), 1), (files_of("rpc.b"), None))
    keep_events(one, PLAN, report)
    keep_events(one, PLAN, report_of((files_of("rpc.pizzas"), 2)))
    assert list(variables) == ["floe.events.pizzas"]
    accessors = OutletEventAccessors()
    assert raise_kept(accessors, one)
    found = list(_serialize_outlet_events(accessors))
    assert [event["extra"]["snapshot_id"] for event in found] == ["1", "2"]
    assert [event["dest_asset_key"]["uri"] for event in found] == ["iceberg://demo/rpc/pizzas"] * 2
    assert variables == {}
    assert not raise_kept(accessors, one)


def test_commit_that_landed_nothing_keeps_nothing(variables: dict[str, str]) -> None:
    keep_events(connector(), PLAN, CommitReport(done=False))
    operator = CommitOperator(task_id="commit", connector=connector())
    keep_committed({"task": operator})  # type: ignore[typeddict-item]
    keep_committed({"task": object()})  # type: ignore[typeddict-item]
    assert variables == {}


def test_at_most_so_many_events_are_kept(variables: dict[str, str]) -> None:
    for snapshot in range(1, MAX_KEPT + 3):
        keep_events(connector(), PLAN, report_of((files_of("rpc.pizzas"), snapshot)))
    accessors = OutletEventAccessors()
    raise_kept(accessors, connector())
    found = [event["extra"]["snapshot_id"] for event in _serialize_outlet_events(accessors)]
    assert (len(found), found[0], found[-1]) == (MAX_KEPT, "3", str(MAX_KEPT + 2))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "7",
        "[" * 100_000,
        '[7, {"uri": "s3://x", "extra": {}}, {"uri": "iceberg://a/b/c"}, {"uri": 1, "extra": {}}]',
        '[{"uri": "iceberg://a/b/c", "extra": []}]',
    ],
    ids=lambda text: text[:20],
)
def test_variable_that_others_edited_raises_nothing_foreign(variables: dict[str, str], text: str) -> None:
    variables["floe.events.pizzas"] = text
    accessors = OutletEventAccessors()
    assert raise_kept(accessors, connector())
    assert list(_serialize_outlet_events(accessors)) == []


def test_commit_keeps_its_events_when_airflow_gives_up() -> None:
    callbacks = sink_dag(connector()).get_task("commit").on_failure_callback
    assert list(callbacks) == [say_failure, keep_committed]  # type: ignore[arg-type]


def test_airflow_takes_outlets_from_the_task_that_ran() -> None:
    one = CommitOperator(task_id="commit", connector=connector(), outlets=outlets_of(connector()))
    ran = one.prepare_for_execution()
    ran.outlets = [AssetAlias("floe.pizzas")]
    assert [(o.type, o.name) for o in _build_asset_profiles(ran.outlets)] == [("AssetAlias", "floe.pizzas")]


def test_error_of_events_fails_no_task_that_has_committed(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        msg = "no API server"
        raise RuntimeError(msg)

    assert task_context.tried("Events of assets", broken, "raised") is None
    assert (
        "Events of assets could not be raised, which changes nothing else: RuntimeError: no API server" in caplog.text
    )
