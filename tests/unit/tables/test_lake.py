"""The state of a table in one question: existing or not, the expected one or not, its ledger, why it refuses."""

from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform, VoidTransform
from pyiceberg.types import BinaryType, FixedType, IcebergType, LongType, NestedField, StringType, StructType, UUIDType

from floe.catalogs.exceptions import CatalogUnreachable, TableMissing, TableUnsuitable
from floe.exceptions import Retryable
from floe.model.route_hash import route_hash
from floe.tables.exceptions import TableRefused, TableReplaced
from floe.tables.table_state import Since, ledger_of
from tests.support.tables.lake import CLUSTER, OTHER_TABLE, SCHEMA, TABLE, TOPIC, Lake
from tests.support.tables.slices import Write, make_plan

BRANCH = "audit"


class Needs:
    """One more column."""

    def __init__(self, name: str = "crust") -> None:
        self.name = name

    def count(self) -> int:
        return 1

    def new_schema(self) -> Schema:
        return Schema(NestedField(1, self.name, StringType(), required=False))

    def apply(self, update: UpdateSchema) -> None:
        update.add_column(self.name, StringType())


# -- open -------------------------------------------------------------------------------------------------------------


def test_open_table_that_exists_has_ledger_branch_and_routes(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    state = lake.opened().states([TABLE], [TOPIC], must_exist=True)[TABLE]
    assert state.required().metadata.table_uuid == lake.load().metadata.table_uuid
    assert (state.branch, dict(state.routes)) == ("main", {TOPIC: route_hash(TOPIC, "main")})
    assert [spans.spans for held in state.ledger.holdings.values() for spans in held.held.values()] == [((0, 5),)]
    assert (state.problem, state.is_new) == (None, False)


def test_open_table_on_a_branch_has_its_branch_and_routes(lake: Lake) -> None:
    lake.create()
    keys = {"iceberg.tables.default-commit-branch": BRANCH}
    state = lake.opened(**keys).state(TABLE, [TOPIC])
    assert (state.branch, dict(state.routes)) == (BRANCH, {TOPIC: route_hash(TOPIC, BRANCH)})


def test_open_missing_table_that_may_be_created_is_new(lake: Lake) -> None:
    state = lake.opened().state(TABLE)
    assert state.is_new
    assert state.ledger.cluster_id == CLUSTER
    assert not state.ledger.holdings
    with pytest.raises(TableRefused, match="does not exist any more"):
        state.required()


def test_open_missing_table_that_must_exist_has_a_problem(lake: Lake) -> None:
    state = lake.opened().states([TABLE], (), must_exist=True)[TABLE]
    assert isinstance(state.problem, TableMissing)
    assert not state.is_new
    with pytest.raises(TableMissing):
        state.required()


def test_open_many_tables_one_refuses_others_do_not(lake: Lake) -> None:
    lake.create(properties={"floe.ledger.connect-pizzas.main": "no ledger"})
    lake.create(name=OTHER_TABLE)
    found = lake.opened().states([TABLE, OTHER_TABLE, "rpc.none"], [TOPIC])
    assert list(found) == [TABLE, OTHER_TABLE, "rpc.none"]
    assert "is not a ledger" in str(found[TABLE].problem)
    assert found[TABLE].table is None
    assert found[OTHER_TABLE].required()
    assert found["rpc.none"].is_new


def test_open_unreachable_catalog_is_no_tables_problem(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: str) -> None:
        msg = "the catalog is away"
        raise CatalogUnreachable(msg)

    asked = lake.opened()
    monkeypatch.setattr(asked.client.catalog, "load_table", away)
    with pytest.raises(CatalogUnreachable):
        asked.states([TABLE, OTHER_TABLE], (), must_exist=False)


# -- the expected table -----------------------------------------------------------------------------------------------


def test_open_table_of_the_expected_uuid_has_no_problem(lake: Lake) -> None:
    uuid = lake.create().metadata.table_uuid
    for expected in (uuid, str(uuid)):
        assert lake.opened().state(TABLE, uuid={TABLE: expected}).required()


@pytest.mark.parametrize("exists", [False, True])
def test_open_table_of_another_uuid_is_refused(lake: Lake, exists: bool) -> None:
    uuid = lake.create().metadata.table_uuid
    lake.catalog().drop_table(TABLE)
    if exists:
        lake.create()
    since = Since("after its files were written", "Run again.")
    what = "replaced" if exists else "dropped"
    with pytest.raises(TableRefused, match=rf"{what} after its files were written \(for UUID {uuid}.*Run again\."):
        lake.opened().state(TABLE, uuid={TABLE: uuid}, since=since)


def test_open_table_where_none_is_expected_is_refused(lake: Lake) -> None:
    lake.create()
    with pytest.raises(TableRefused, match="was replaced after this run was planned"):
        lake.opened().state(TABLE, uuid={TABLE: None})


# -- evolve -----------------------------------------------------------------------------------------------------------


def test_evolve_new_table_is_created(lake: Lake) -> None:
    asked = lake.opened()
    evolved = asked.evolve(asked.state(TABLE), Needs())
    assert evolved.required().schema().column_names == ["crust"]


def test_evolve_existing_table_gets_the_column(lake: Lake) -> None:
    lake.create()
    asked = lake.opened()
    evolved = asked.evolve(asked.state(TABLE), Needs())
    assert "crust" in evolved.required().schema().column_names


def test_evolve_table_that_changed_meanwhile_is_loaded_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create()
    asked = lake.opened()
    state = asked.state(TABLE)

    class Late(Needs):
        def apply(self, update: UpdateSchema) -> None:
            with lake.load().update_schema() as other:
                other.add_column("theirs", LongType())
            super().apply(update)

    evolved = asked.evolve(state, Late())
    assert "theirs" in evolved.required().schema().column_names


def test_evolve_replaced_table_raises(lake: Lake) -> None:
    lake.create()
    asked = lake.opened()
    state = asked.state(TABLE)
    lake.catalog().drop_table(TABLE)
    lake.create()
    with pytest.raises(TableReplaced, match="Nothing was announced") as caught:
        asked.evolve(state, Needs())
    assert isinstance(caught.value, Retryable)


def test_evolve_table_that_does_not_take_it_has_a_problem(lake: Lake) -> None:
    asked = lake.opened(**{"iceberg.tables.default-partition-by": "no_such_column"})
    evolved = asked.evolve(asked.state(TABLE), Needs())
    assert isinstance(evolved.problem, TableUnsuitable)
    assert evolved.table is None


# -- dead letters -----------------------------------------------------------------------------------------------------


def test_open_dead_letters_without_a_table_are_none(lake: Lake) -> None:
    ranges: list[Any] = []
    assert not lake.opened().open_dead_letters(ranges)


def create_with_fixed_partition(lake: Lake, column: IcebergType, transform: Transform[Any, Any]) -> None:
    inner = StructType(NestedField(11, "digest", column, required=False))
    schema = Schema(*SCHEMA.fields, NestedField(10, "file", inner, required=False))
    table = lake.create(schema=schema)
    source_id = table.schema().find_field("file.digest").field_id
    with table.update_spec() as update:
        update.add_field("file.digest", transform, "digest")
    assert table.spec() == PartitionSpec(PartitionField(source_id, 1000, transform, "digest"), spec_id=1)


def test_a_table_partitioned_by_a_fixed_column_is_refused(lake: Lake) -> None:
    create_with_fixed_partition(lake, FixedType(4), IdentityTransform())
    with pytest.raises(TableRefused, match=r"'file.digest', which is of type fixed\[4\].*Nothing was written.*bucket"):
        ledger_of(lake.load(), "main", make_plan((0, 0, 5)))


def test_state_of_such_a_table_is_its_problem(lake: Lake) -> None:
    create_with_fixed_partition(lake, FixedType(4), IdentityTransform())
    found = lake.opened().states([TABLE], [TOPIC])
    assert isinstance(found[TABLE].problem, TableRefused) and found[TABLE].table is None


@pytest.mark.parametrize(
    ("column", "transform"),
    [
        (FixedType(4), BucketTransform(4)),
        (FixedType(4), VoidTransform()),
        (BinaryType(), IdentityTransform()),
        (UUIDType(), IdentityTransform()),
    ],
)
def test_partitions_that_all_read_alike_are_taken(
    lake: Lake, column: IcebergType, transform: Transform[Any, Any]
) -> None:
    create_with_fixed_partition(lake, column, transform)
    assert not ledger_of(lake.load(), "main", make_plan((0, 0, 5))).holdings
