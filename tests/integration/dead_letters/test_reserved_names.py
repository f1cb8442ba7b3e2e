"""Fields of records that have the name of a partition field: no column can get it, and nothing else waits for that."""

from __future__ import annotations

from typing import Any

import pytest

from floe_job.exceptions import SliceRefused
from tests.support.runs.pipeline import MakePipeline, Pipeline

DEAD_LETTERS = {"floe.deadletter.table": "db.letters"}
BUCKETS = {"iceberg.tables.default-partition-by": "bucket(id, 3)"}


def reasons(one: Pipeline) -> list[str]:
    return one.table("db.letters").scan().to_arrow()["reason"].to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "field", [{"id_bucket": 1}, {"new": 1, "id_bucket": {"a": 2}}], ids=["plain", "beside another"]
)
def test_such_a_record_becomes_a_letter_and_its_neighbours_land(pipeline: MakePipeline, field: dict[str, Any]) -> None:
    one = pipeline(1, **DEAD_LETTERS, **BUCKETS)
    one.produce([{"id": 1}])
    one.run()
    one.produce([{"id": 2}, {"id": 3, **field}, {"id": 4, "sauce": "light"}])
    one.run()
    assert one.column("id") == [1, 2, 4]
    (reason,) = reasons(one)
    assert "column 'id_bucket': a partition field of the table has this name" in reason


def test_without_tolerance_the_record_is_named_with_the_way_out(pipeline: MakePipeline) -> None:
    one = pipeline(1, **BUCKETS)
    one.produce([{"id": 1}])
    one.run()
    one.produce([{"id": 3, "id_bucket": 1}])
    plan = one.plan()
    with pytest.raises(SliceRefused, match=r"offset 1.*'id_bucket': a partition field.*evolve-schema-enabled to false"):
        one.write(plan)
    one = one.changed(**{"iceberg.tables.evolve-schema-enabled": "false"})
    one.run()
    assert one.column("id") == [1, 3]


def test_renamed_or_dropped_field_leaves_its_name_to_old_spec(pipeline: MakePipeline) -> None:
    one = pipeline(1, **DEAD_LETTERS, **{"iceberg.tables.default-partition-by": "sauce"})
    one.produce([{"id": 1, "sauce": "light"}])
    one.run()
    with one.table().update_spec() as spec:
        spec.remove_field("sauce")
    with one.table().update_schema() as schema:
        schema.rename_column("sauce", "topping")
    one.produce([{"id": 2, "sauce": "none"}, {"id": 3, "topping": "none"}])
    one.run()
    assert one.column("id") == [1, 3]
    assert len(reasons(one)) == 1
