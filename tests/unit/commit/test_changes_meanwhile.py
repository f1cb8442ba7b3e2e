"""Committing a slice while others change the table between the look and the commit."""

import pytest
from pyiceberg.types import LongType

from floe.exceptions import Terminal
from floe.tables.exceptions import SliceStale
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import BY_SAUCE, LEDGER, SCHEMA, Lake, expected
from tests.support.tables.slices import Write
from tests.support.tables.wire import Wire, once


def test_foreign_append_in_between_is_kept_before_ours(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    client = lake.catalog()
    wire = Wire(client, before=once(lambda: append_foreign(lake, 1, 2)))
    assert not written.land(client).already
    assert wire.sent == 2
    assert lake.rows() == [*expected((0, 5)), (99, 1), (99, 2)]


def test_foreign_snapshot_on_other_branch_is_a_conflict_only(lake: Lake, write: Write) -> None:
    table = lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    head = table.metadata.current_snapshot_id
    assert head is not None
    table.manage_snapshots().create_branch(head, "audit").commit()
    written = write((0, 0, 5))
    client = lake.catalog()
    Wire(client, before=once(lambda: append_foreign(lake, 2, branch="audit")))
    assert not written.land(client).already
    assert lake.rows() == [*expected((0, 5)), (99, 1)]
    assert lake.rows("audit") == [(99, 1), (99, 2)]


def test_a_column_added_in_between_is_kept(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))

    def add_column() -> None:
        with lake.load().update_schema() as update:
            update.add_column("tip", LongType())

    client = lake.catalog()
    Wire(client, before=once(add_column))
    written.land(client)
    assert lake.rows() == expected((0, 5))
    assert lake.load().schema().find_field("tip").field_id == 4


def test_a_column_renamed_in_between_is_kept_and_its_values_too(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 3))

    def rename() -> None:
        with lake.load().update_schema() as update:
            update.rename_column("sauce", "topping")

    client = lake.catalog()
    Wire(client, before=once(rename))
    written.land(client)
    assert sorted(lake.load().scan().to_arrow()["topping"].to_pylist()) == ["light", "none", "regular"]


def test_partition_field_added_meanwhile_is_kept_files_keep_spec(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 6))

    def partition() -> None:
        with lake.load().update_spec() as update:
            update.add_identity("sauce")

    client = lake.catalog()
    Wire(client, before=once(partition))
    written.land(client)
    assert lake.rows() == expected((0, 6))
    assert lake.load().spec().fields[0].name == "sauce"
    assert {m.partition_spec_id for m in lake.load().current_snapshot().manifests(lake.load().io)} == {0}  # type: ignore[union-attr]


def test_a_property_set_in_between_is_not_overwritten(lake: Lake, write: Write) -> None:
    lake.create(properties={"owner": "another"})
    written = write((0, 0, 5))

    def own() -> None:
        lake.load().transaction().set_properties(owner="me", more="kept").commit_transaction()

    client = lake.catalog()
    Wire(client, before=once(own))
    written.land(client)
    properties = lake.load().properties
    assert (properties["owner"], properties["more"]) == ("me", "kept")
    assert LEDGER in properties
    assert lake.rows() == expected((0, 5))


def test_the_ledger_of_another_connector_is_left_alone(lake: Lake, write: Write) -> None:
    other = "floe.ledger.connect-other.main"
    lake.create(properties={other: "theirs"})
    write((0, 0, 5)).land()
    assert lake.load().properties[other] == "theirs"


def test_rival_commit_of_some_new_offsets_makes_slice_stale(lake: Lake, write: Write) -> None:
    lake.create()
    rival, written = write((0, 0, 3), plan_id="rival"), write((0, 0, 5))
    client = lake.catalog()
    Wire(client, before=once(rival.land))
    with pytest.raises(SliceStale, match=r"rpc\.pizzas.*plan-1/0.*plans again") as caught:
        written.land(client)
    assert isinstance(caught.value, Terminal)
    assert lake.rows() == expected((0, 3))


def test_rival_commit_of_all_new_offsets_is_not_joined(lake: Lake, write: Write) -> None:
    lake.create()
    rival, written = write((0, 0, 9), plan_id="rival"), write((0, 2, 5))
    client = lake.catalog()
    Wire(client, before=once(rival.land))
    committed = written.land(client)
    assert committed.already
    assert committed.snapshot_id is None
    assert lake.rows() == expected((0, 9))


@pytest.mark.parametrize("held_already", [(0, 0, 3), (0, 2, 7)])
def test_partly_committed_new_offsets_are_stale_and_add_nothing(
    lake: Lake, write: Write, held_already: tuple[int, int, int]
) -> None:
    lake.create()
    written, other = write((0, 0, 5)), write(held_already, plan_id="other")
    other.land()
    with pytest.raises(SliceStale):
        written.land()
    assert lake.rows() == expected(held_already[1:])
    assert len(lake.load().metadata.snapshots) == 1


def test_one_of_two_ranges_landed_is_stale(lake: Lake, write: Write) -> None:
    lake.create()
    written, other = write((0, 0, 5), (1, 0, 5)), write((1, 0, 5), plan_id="other")
    other.land()
    with pytest.raises(SliceStale):
        written.land()
    assert lake.rows() == expected((0, 5), partition=1)


def test_partitioned_table_takes_a_slice_like_any_other(lake: Lake, write: Write) -> None:
    lake.create(BY_SAUCE)
    write((0, 0, 9)).land()
    assert lake.rows() == expected((0, 9))
    light = lake.load().scan(row_filter="sauce = 'light'").to_arrow()
    assert sorted(light["kafka_offset"].to_pylist()) == [1, 4, 7]


def test_a_table_of_format_version_1_takes_a_slice(lake: Lake, write: Write) -> None:
    lake.create(BY_SAUCE, {"format-version": "1"}, SCHEMA)
    write((0, 0, 5)).land()
    write((0, 3, 8), plan_id="plan-2").land()
    assert lake.rows() == expected((0, 8))
