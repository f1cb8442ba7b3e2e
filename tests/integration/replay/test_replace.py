"""Replacing: the rows of a range are removed and written again in one snapshot, whatever comes in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, TruncateTransform
from pyiceberg.types import LongType, StringType

from floe.catalogs.client import CatalogClient
from floe.config.exceptions import ConfigError
from floe.model.exceptions import PlanRefused
from floe.model.ledger_codec import property_name, read_properties, write_properties
from floe.model.plan import Plan
from floe.model.route_hash import KAFKA_CONNECT_ROUTE
from floe.planning.replay_plan import draft_replay
from floe.tables.exceptions import TableRefused
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import orders, read_ids
from tests.support.runs.replacements import META, NESTED, REPLACE, append_foreign, eaten, kinds
from tests.support.runs.replays import drafted, drop, opened, replay, trace


def summary(one: Pipeline, table: str = "db.t") -> dict[str, str]:
    snapshot = one.table(table).current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    return {"operation": snapshot.summary.operation.value, **snapshot.summary.additional_properties}


def files(table: Table) -> set[str]:
    return {task.file.file_path for task in table.scan().plan_files()}


def spoil(one: Pipeline) -> None:
    """Change rows as a user would by hand, with their origin left as it is."""
    table = one.table()
    rows = table.scan().to_arrow()
    at = rows.schema.get_field_index("sauce")
    spoilt = rows.set_column(at, rows.schema.field(at), pa.array(["spoilt"] * len(rows), rows.schema.field(at).type))
    table.overwrite(spoilt)


# -- what it does -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [META, NESTED], ids=["flat", "nested"])
def test_rows_of_a_range_are_written_anew_and_the_others_stay(pipeline: MakePipeline, keys: dict[str, Any]) -> None:
    one = eaten(pipeline, **keys)
    spoil(one)
    before = one.table().current_snapshot()
    assert before is not None
    plan = replay(one, ranges={"0": [30, 60]}, **REPLACE)
    assert [s.kind for s in plan.slices] == ["replace"]
    assert one.column("id") == list(range(200))
    fresh = [row["id"] for row in one.table().scan().to_arrow().to_pylist() if row["sauce"] != "spoilt"]
    assert sorted(fresh) == list(range(30, 60))
    found = summary(one)
    assert (found["operation"], found["floe.kind"], found["floe.removed-rows"]) == ("overwrite", "replace", "30")
    assert json.loads(found["floe.replaced"])[one.topic]["ranges"] == [[0, 30, 60]]
    assert (found["total-records"], found["added-records"], found["deleted-records"]) == ("200", "200", "200")
    after = one.table().current_snapshot()
    assert after is not None
    assert after.parent_snapshot_id == before.snapshot_id
    one.produce(orders(200, 210), partition=0)
    one.run()
    assert one.column("id") == list(range(210))
    assert replay(one).slices == ()


def test_replace_leaves_rows_once_and_keeps_untouched_files(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    replay(one, ranges={"0": [0, 10]}, overlap="append")
    before = files(one.table())
    replay(one, ranges={"0": [0, 10]}, **REPLACE)
    assert one.column("id") == list(range(200))
    assert len(before & files(one.table())) == 3
    replay(one, ranges={"0": [0, 10]}, **REPLACE)
    assert one.column("id") == list(range(200))


def test_whole_files_go_without_being_written_anew(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    replay(one, ranges={"1": [0, 100]}, **REPLACE)
    found = summary(one)
    assert (found["deleted-data-files"], found["deleted-records"], found["added-records"]) == ("2", "100", "100")
    assert one.column("id") == list(range(200))


def test_replace_removes_records_that_are_routed_elsewhere_now(pipeline: MakePipeline) -> None:
    keys = {"iceberg.tables": "db.a,db.b", "iceberg.tables.route-field": "sauce", "floe.route.on-unroutable": "drop"}
    one = eaten(pipeline, **keys, **{f"iceberg.table.db.{t}.route-regex": ".*" for t in "ab"})
    assert one.column("id", "db.a") == one.column("id", "db.b") == list(range(200))
    moved = one.changed(**{"iceberg.table.db.a.route-regex": "no-such", "iceberg.table.db.b.route-regex": "light"})
    with pytest.raises(PlanRefused, match="set overlap to replace"):
        drafted(moved)
    replay(moved, **REPLACE)
    assert one.column("id", "db.a") == []
    assert one.column("id", "db.b") == [i for i in range(200) if i % 3 == 1]
    assert replay(moved).slices == ()
    moved.produce(orders(200, 203), partition=0)
    moved.run()
    assert one.column("id", "db.b") == [i for i in range(203) if i % 3 == 1]


def test_rows_of_another_route_are_taken_over(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    name = property_name(one.connector.group_id, "main")
    table = one.table()
    ledger = read_properties(name, table.properties)
    assert ledger is not None
    with table.transaction() as change:
        change.set_properties(
            write_properties(name, ledger.rerouted(dict.fromkeys(ledger.routes(), KAFKA_CONNECT_ROUTE)))
        )
    replay(one, ranges={"0": [20, 40]}, **REPLACE)
    assert one.column("id") == list(range(200))
    assert replay(one, ranges={"0": [20, 40]}).slices == ()
    with pytest.raises(PlanRefused, match="under other routes"):
        drafted(one, ranges={"0": [0, 40]})
    assert json.loads(summary(one)["floe.net"]) == {}


def test_replace_keeps_partitions_of_several_specs_and_row_order(pipeline: MakePipeline) -> None:
    one = pipeline(**META, **{"iceberg.table.db.t.partition-by": "sauce"})
    one.produce(orders(0, 30))
    one.run()
    with one.table().update_spec() as update:
        update.add_field("id", TruncateTransform(10), "tens")
        update.remove_field("sauce")
    one.produce(orders(30, 60))
    one.run()
    with one.table().update_spec() as update:
        update.add_field("sauce", IdentityTransform(), "kind")
    one.produce(orders(60, 90))
    one.run()
    replay(one, ranges={"0": [7, 35]}, **REPLACE)
    assert one.column("id") == list(range(90))
    assert sorted(one.table().scan("sauce = 'light'").to_arrow()["id"].to_pylist()) == list(range(1, 90, 3))
    for task in one.table().scan().plan_files():
        rows = pq.read_table(task.file.file_path.removeprefix("file://"))
        assert rows["id"].to_pylist() == sorted(rows["id"].to_pylist())
        assert len(rows) == task.file.record_count
    assert {task.file.spec_id for task in one.table().scan().plan_files()} == {0, 1, 2}


def rows_in_files(one: Pipeline) -> dict[int, dict[str, object]]:
    """Read rows from the files themselves, without PyIceberg, which loses nulls."""
    paths = [path.removeprefix("file://") for path in files(one.table())]
    return {row["id"]: row for path in paths for row in pq.ParquetFile(path).read().to_pylist()}


def test_rows_beside_the_range_keep_their_nulls(pipeline: MakePipeline) -> None:
    one = pipeline(1, **META)
    one.produce(
        [
            {"id": 0},
            {"id": 1, "list": [{"x": 1}], "struct": {"list": [{"x": 1}], "k": 1}, "lists": [[{"x": 1}]]},
            {"id": 2, "list": None, "struct": {"list": None, "k": 2}, "lists": [None, [], [None]]},
            {"id": 3, "list": [], "struct": None, "lists": None},
            {"id": 4, "list": [None, {"x": None}], "struct": {"list": []}, "lists": []},
        ]
    )
    one.run()
    before = rows_in_files(one)
    assert (before[2]["list"], before[3]["list"]) == (None, [])
    replay(one, ranges={"0": [0, 1]}, **REPLACE)
    assert rows_in_files(one) == before


def test_partitions_of_doubles_keep_all_their_digits(pipeline: MakePipeline) -> None:
    merged = {"iceberg.tables.auto-create-props.commit.manifest.min-count-to-merge": 2}
    one = pipeline(1, **META, **merged, **{"iceberg.tables.default-partition-by": "price"})
    for price in (12.34, 1e300, 12.34):
        one.produce([{"id": i, "price": price} for i in range(2)])
        one.run()
    replay(one, ranges={"0": [0, 1]}, **REPLACE)
    table = one.table()
    assert table.scan(EqualTo("price", 12.34)).to_arrow().num_rows == 4
    assert table.scan(EqualTo("price", 1e300)).to_arrow().num_rows == 2
    assert {task.file.partition[0] for task in table.scan().plan_files()} == {12.34, 1e300}


def test_replace_writes_files_in_the_current_schema(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    with one.table().update_schema() as update:
        update.rename_column("sauce", "topping")
        update.add_column("extra", LongType())
    replay(one, ranges={"0": [10, 20]}, **REPLACE)
    rows = one.table().scan().to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(200))
    assert sum(row["topping"] is None for row in rows) == 10  # the records still say sauce


def test_a_branch_gets_it_and_main_stays(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    spoil(one)
    for _ in range(2):
        replay(one, branch="audit", ranges={"0": [0, 100]}, **REPLACE)
        assert read_ids(one, branch="audit") == read_ids(one, branch="main") == list(range(200))
    audit = one.table().snapshot_by_name("audit")
    assert audit is not None
    rows = one.table().scan("sauce = 'spoilt'", snapshot_id=audit.snapshot_id).to_arrow()
    assert len(rows) == 100
    assert len(one.table().scan("sauce = 'spoilt'").to_arrow()) == 200


def test_slices_each_replace_their_part(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    spoil(one)
    plan = replay(one, max_records=30, **REPLACE)
    assert len(plan.slices) == 7
    assert one.column("id") == list(range(200))
    assert len(one.table().scan("sauce = 'spoilt'").to_arrow()) == 0


def test_replace_resolves_open_dead_letters_and_adds_new_ones(pipeline: MakePipeline) -> None:
    one = pipeline(**META, **{"floe.deadletter.table": "letters.all"})
    one.produce([{"id": 0}])
    one.run()
    one.produce([{"id": 1}, {"id": "two"}, {"id": 3}])
    one.run()
    numbers = one.table().schema()
    assert one.column("id") == [0, 1, 3]
    drop(one)
    replay(one, ranges={"0": [2, 3]}, **REPLACE)
    replay(one)
    assert one.column("id") == ["0", "1", "3", "two"]
    assert kinds(one) == ["dead", "resolved"]
    drop(one)
    CatalogClient.of(one.connector).create("db.t", numbers)
    replay(one, **REPLACE)
    assert one.column("id") == [0, 1, 3]
    assert kinds(one) == ["dead", "dead", "resolved"]


# -- dry run and refusals ----------------------------------------------------------------------------------------------


def test_a_dry_run_tells_how_many_rows_go_and_writes_nothing(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    before = trace(one)
    params = {"ranges": {"0": [30, 60]}, **REPLACE}
    message = draft_replay(one.connector, one.settings, params, dry_run=True)
    assert trace(one) == before
    assert message.to_json()["removes"] == [{"table": "db.t", "rows": 100, "exact": False}]
    assert str(message.removals[0]) == "at most 100"
    (nothing,) = drafted(one, ranges={"0": [0, 1]}, tables=[], **REPLACE).removals
    assert (nothing.rows, nothing.is_exact) == (50, False)


def test_without_the_transform_it_is_refused_with_what_to_add(pipeline: MakePipeline) -> None:
    one = pipeline()
    one.produce(orders(0, 10))
    one.run()
    before = trace(one)
    for connector in (one, one.changed(**META)):
        with pytest.raises(TableRefused, match=r"none can be replaced: .*Add \"transforms\": .*KafkaMetadataTransform"):
            drafted(connector, **REPLACE)
    assert trace(one) == before
    drop(one)
    with pytest.raises(TableRefused, match="has no KafkaMetadataTransform"):
        drafted(one, **REPLACE)


def test_rows_that_do_not_tell_where_they_came_from_are_refused(pipeline: MakePipeline) -> None:
    one = pipeline()
    one.produce(orders(0, 10))
    one.run()
    message = one.changed(**META)
    message.produce(orders(10, 20))
    message.run()
    assert one.table().schema().find_field("kafka_offset")
    with pytest.raises(TableRefused, match=r"rows without topic, partition or offset.*Fill in these columns"):
        drafted(message, ranges={"0": [12, 15]}, **REPLACE)


def test_late_foreign_row_without_origin_is_refused_at_commit(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    plan, effective = opened(one, ranges={"0": [10, 60]}, **REPLACE)
    effective.write(plan)
    append_foreign(one, kafka_offset=None)
    with pytest.raises(TableRefused, match="rows without topic, partition or offset"):
        effective.commit(plan)
    assert one.column("id") == [*range(200), 999]


def test_columns_of_another_type_are_refused_by_name(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    with one.table().update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("kafka_offset")
    with one.table().update_schema() as update:
        update.add_column("kafka_offset", StringType())
    with pytest.raises(TableRefused, match=r"'kafka_offset' is of type string, and must be int or long"):
        drafted(one, **REPLACE)


def test_rows_of_another_connector_on_same_records_are_refused(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    other = pipeline(topic=one.topic, **META)
    other.run()
    with pytest.raises(TableRefused, match=r"partition 0 of another connector \(connect-.*cannot tell those rows"):
        drafted(one, ranges={"0": [10, 20]}, **REPLACE)


def test_rows_of_another_connector_in_branch_are_refused(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    other = pipeline(topic=one.topic, **META)
    other.run()
    replay(one, branch="audit", overlap="append", ranges={"0": [0, 10]})
    before = read_ids(one, branch="audit")
    with pytest.raises(TableRefused, match=r"partition 0 of another connector \(connect-.*cannot tell those rows"):
        replay(one, branch="audit", ranges={"0": [10, 20]}, **REPLACE)
    assert read_ids(one, branch="audit") == before


def test_replace_on_compacted_topic_is_refused(pipeline: MakePipeline, topic: Callable[..., str]) -> None:
    one = pipeline(topic=topic(cleanup_policy="compact"), **META)
    for value in orders(0, 10):
        one.produce([value], record={"key": b"k"})
    one.run()
    before = trace(one)
    with pytest.raises(PlanRefused, match=r"is compacted \(cleanup.policy=compact\).*overlap=skip or append"):
        drafted(one, **REPLACE)
    assert trace(one) == before
    replay(one, overlap="append")
    assert one.column("id") == sorted([*range(10)] * 2)


def test_where_records_name_their_tables_these_are_to_be_named(pipeline: MakePipeline) -> None:
    one = pipeline(**META, **{"iceberg.tables": None, "floe.route.template": "by.{topic}"})
    one.produce(orders(0, 10))
    one.run()
    with pytest.raises(PlanRefused, match="overlap=replace needs `tables`"):
        drafted(one, **REPLACE)
    name = f"by.{one.topic.replace('-', '_')}"
    replay(one, tables=[name], **REPLACE)
    assert one.column("id", name) == list(range(10))


def test_it_does_not_go_with_dead_letters(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    with pytest.raises(PlanRefused, match="dead_letters and overlap=replace"):
        drafted(one, dead_letters=True, **REPLACE)
    with pytest.raises(ConfigError):
        drafted(one, branch="a\nb", **REPLACE)


def test_a_plan_survives_its_json(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    plan = drafted(one, **REPLACE).plan
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
