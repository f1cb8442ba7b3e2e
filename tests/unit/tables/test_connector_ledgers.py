"""What a connector's tables tell when the offsets do not, and rows of the sink that no ledger knows of."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from floe.catalogs.exceptions import CatalogLoginRefused
from floe.model.exceptions import LedgerUnreadable, PlanRefused
from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import write_properties
from floe.model.offsets import Intervals, PartitionLog, TopicPartition
from floe.model.positions import LeaderEpoch, PartitionBacklog, Position, PositionMetadata
from floe.tables import connector_ledgers as module
from floe.tables.connector_ledgers import Ledgers, check_no_rows_of_sink
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import CLUSTER, GROUP, LEDGER, OFFSETS, OTHER_TABLE, ROUTE, TABLE, TOPIC, TOPIC_ID, Lake
from tests.support.tables.sink_leftovers import Sink, as_the_sink
from tests.support.tables.slices import Write

BOTH = (TABLE, OTHER_TABLE)
LOG = PartitionLog(TopicPartition(TOPIC, 0), TOPIC_ID, 0, 100)


@pytest.fixture
def ledgers(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ledgers]:
    """Read the ledgers of a connector of both tables."""

    def make(**keys: str) -> Ledgers:
        monkeypatch.setattr(module.CatalogClient, "of", lambda _: lake.tables())
        return Ledgers(lake.connector(**{"iceberg.tables": ",".join(BOTH), **keys}))

    return make


@pytest.fixture
def both(lake: Lake) -> None:
    """Create both tables."""
    for name in BOTH:
        lake.create(name=name)


def land(write: Write, *ranges: tuple[int, int, int], table: str = TABLE, **of_plan: object) -> None:
    write(*ranges, tables=(table,), **of_plan).land()


def newest(ledgers: Callable[..., Ledgers]) -> Position | None:
    return ledgers().newest_position(LOG)


def at(offset: int, **backlogs: int) -> Position:
    backlog = {f"rpc.{table}": PartitionBacklog(start, ROUTE) for table, start in backlogs.items()}
    return Position(LOG.tp, offset, PositionMetadata("routing", 0, TOPIC_ID, CLUSTER, backlogs=backlog).encode())


def is_behind(**starts: int) -> dict[str, PartitionBacklog]:
    return {f"rpc.{table}": PartitionBacklog(start, ROUTE) for table, start in starts.items()}


def test_the_catalog_is_opened_only_when_a_ledger_is_asked_for(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(_: object) -> object:
        raise AssertionError

    monkeypatch.setattr(module.CatalogClient, "of", of)
    assert Ledgers(lake.connector()).routes.branch(TABLE) == "main"


# -- whose offsets are held -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("both")
def test_topic_in_no_ledger_is_new_unless_group_lost_everything(ledgers: Callable[..., Ledgers], write: Write) -> None:
    assert ledgers().contained_ids(TOPIC, group_is_known=False) is None
    land(write, (0, 0, 5), table=OTHER_TABLE)
    assert ledgers().contained_ids(TOPIC, group_is_known=True) == {TOPIC_ID}
    assert ledgers().contained_ids("drinks", group_is_known=True) is None
    assert ledgers().contained_ids("drinks", group_is_known=False) == frozenset()


def test_tables_that_do_not_exist_hold_nothing(ledgers: Callable[..., Ledgers]) -> None:
    assert ledgers().contained_ids(TOPIC, group_is_known=False) is None
    assert newest(ledgers) is None
    assert ledgers().of(TABLE) is None


def test_the_ledgers_of_other_branches_are_not_asked(lake: Lake, ledgers: Callable[..., Ledgers], write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    land(write, (0, 0, 5), branch="audit")
    assert ledgers().contained_ids(TOPIC, group_is_known=True) is None
    assert ledgers().contained_ids(TOPIC, group_is_known=False) == frozenset(), "but they tell that the group has read"
    audit = ledgers(**{"iceberg.tables.default-commit-branch": "audit"})
    assert audit.contained_ids(TOPIC, group_is_known=True) == {TOPIC_ID}


def test_login_that_the_catalog_does_not_take_is_raised_not_a_refusing_table(
    lake: Lake, ledgers: Callable[..., Ledgers], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ledgers()

    def refuse(_self: object, _name: str) -> None:
        msg = "not allowed"
        raise CatalogLoginRefused(msg)

    monkeypatch.setattr(type(one.tables), "load", refuse)
    with pytest.raises(CatalogLoginRefused):
        one.of(TABLE)
    with pytest.raises(CatalogLoginRefused):
        one.look_up([TABLE])


def test_unreadable_table_keeps_group_known_and_others_readable(
    lake: Lake, ledgers: Callable[..., Ledgers], write: Write
) -> None:
    for name in BOTH:
        lake.create(name=name)
    land(write, (0, 0, 5))
    lake.load(OTHER_TABLE).transaction().set_properties(**{LEDGER: "{}"}).commit_transaction()
    one = ledgers()
    assert set(one.known) == {TABLE}
    assert one.refused == {OTHER_TABLE}
    assert one.contained_ids(TOPIC, group_is_known=True) == {TOPIC_ID}
    assert one.contained_ids("drinks", group_is_known=False) == frozenset()
    assert one.of(TABLE) is not None
    with pytest.raises(LedgerUnreadable):
        one.of(OTHER_TABLE)


def test_a_branch_to_come_is_told_of_by_main(lake: Lake, ledgers: Callable[..., Ledgers], write: Write) -> None:
    lake.create()
    land(write, (0, 0, 5))
    audit = ledgers(**{"iceberg.tables.default-commit-branch": "audit", "iceberg.tables": TABLE})
    assert audit.known[TABLE].origin == "main"
    assert audit.contained_ids(TOPIC, group_is_known=True) == {TOPIC_ID}
    assert audit.newest_position(LOG) == at(5)


# -- the newest position ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("both")
def test_newest_position_is_highest_copy_over_offsets_of_all(ledgers: Callable[..., Ledgers], write: Write) -> None:
    land(write, (0, 0, 5))
    assert newest(ledgers) == at(0)
    land(write, (0, 0, 5), table=OTHER_TABLE)
    assert newest(ledgers) == at(5)
    land(write, (0, 5, 9), plan_id="plan-2")
    assert newest(ledgers) == at(5)
    land(write, (0, 5, 7), table=OTHER_TABLE, plan_id="plan-2b")
    assert newest(ledgers) == at(7)


@pytest.mark.usefixtures("both")
def test_table_without_recent_rows_does_not_move_the_position(ledgers: Callable[..., Ledgers], write: Write) -> None:
    land(write, (0, 0, 5))
    land(write, (0, 0, 5), table=OTHER_TABLE)
    land(write, (0, 20, 30), plan_id="plan-2")
    assert newest(ledgers) == at(20)


@pytest.mark.parametrize(("first", "second"), [(40, 30), (30, 40)])
@pytest.mark.usefixtures("both")
def test_backlogs_return_with_copy_as_older_of_two_accounts(
    ledgers: Callable[..., Ledgers], write: Write, first: int, second: int
) -> None:
    land(write, (0, 50, 60), backlogs=is_behind(audit=first))
    assert newest(ledgers) == at(60, audit=first)
    land(write, (0, 50, 60), table=OTHER_TABLE, plan_id="plan-2", backlogs=is_behind(audit=second), kind="catch-up")
    assert newest(ledgers) == at(60, audit=30)


@pytest.mark.usefixtures("both")
def test_debts_of_lower_copies_were_paid_since(ledgers: Callable[..., Ledgers], write: Write) -> None:
    land(write, (0, 50, 60), backlogs=is_behind(audit=40))
    land(write, (0, 60, 70), table=OTHER_TABLE, plan_id="plan-2")
    assert newest(ledgers) == at(60)


@pytest.mark.usefixtures("both")
def test_a_table_that_owes_does_not_hold_the_position_back(ledgers: Callable[..., Ledgers], write: Write) -> None:
    land(write, (0, 0, 5), backlogs=is_behind(audit=0))
    position = newest(ledgers)
    assert position is not None
    assert position.offset == 5


@pytest.mark.usefixtures("both")
def test_a_copy_of_a_position_that_is_none_is_passed_by(
    lake: Lake, ledgers: Callable[..., Ledgers], write: Write
) -> None:
    land(write, (0, 0, 5))
    land(write, (0, 0, 5), table=OTHER_TABLE)
    position = newest(ledgers)
    garbled = json.loads(lake.load().properties[LEDGER])
    garbled["logs"][0][5] = [99, '{"floe":1}']
    with lake.load().transaction() as change:
        change.set_properties({LEDGER: json.dumps(garbled)})
    assert newest(ledgers) == position


@pytest.mark.usefixtures("both")
def test_another_incarnation_of_the_topic_has_no_position(ledgers: Callable[..., Ledgers], write: Write) -> None:
    land(write, (0, 0, 5))
    assert ledgers().newest_position(replace(LOG, topic_id="T2")) is None
    assert ledgers().newest_position(replace(LOG, tp=TopicPartition(TOPIC, 1))) is None


def test_offsets_under_another_route_do_not_move_the_position(lake: Lake, ledgers: Callable[..., Ledgers]) -> None:
    log_id = LogId(TOPIC, TOPIC_ID, 0)
    held = {"another-route": Intervals(((0, 50),))}
    made = Ledger(CLUSTER, {log_id: Holding(held, 50, (20, at(20).metadata))})
    lake.create(properties=write_properties(LEDGER, made))
    assert ledgers(**{"iceberg.tables": TABLE}).newest_position(LOG) == at(20)


def check_sink(lake: Lake, **keys: object) -> None:
    connector = lake.connector(**keys)
    check_no_rows_of_sink(Ledgers(connector), connector)


def test_table_missing_or_never_written_by_sink_is_accepted(lake: Lake) -> None:
    check_sink(lake)
    lake.create()
    append_foreign(lake, 1)
    check_sink(lake)


def test_a_table_of_the_sink_is_refused_until_it_is_taken_over(lake: Lake) -> None:
    lake.create()
    as_the_sink(lake)
    with pytest.raises(PlanRefused, match=rf"'rpc\.pizzas' has rows that .* group '{GROUP}' wrote.*`takeover`"):
        check_sink(lake)
    Sink(lake).land()
    check_sink(lake)


def test_a_sink_that_ran_after_floe_is_refused_again(lake: Lake) -> None:
    lake.create()
    Sink(lake).land()
    as_the_sink(lake)
    append_foreign(lake, 1)
    with pytest.raises(PlanRefused, match="no ledger contains their offsets"):
        check_sink(lake)


def test_the_sink_of_another_connector_does_not_matter(lake: Lake) -> None:
    assert OFFSETS.endswith(GROUP)
    lake.create()
    as_the_sink(lake)
    check_sink(lake, **{"iceberg.connect.group-id": "connect-other"})


@pytest.mark.parametrize(
    ("copies", "last"),
    [
        (((20, LeaderEpoch(3, 30)), (20, LeaderEpoch(5, 40))), LeaderEpoch(5, 40)),
        (((20, LeaderEpoch(5, 40)), (20, LeaderEpoch(3, 30))), LeaderEpoch(5, 40)),
        (((20, None), (20, LeaderEpoch(5, 40))), LeaderEpoch(5, 40)),
        (((20, LeaderEpoch(3, 30)), (10, LeaderEpoch(5, 40))), LeaderEpoch(5, 40)),
        (((20, None), (20, None)), None),
    ],
)
def test_newest_position_has_the_last_leader_epoch_of_all_copies(
    lake: Lake,
    ledgers: Callable[..., Ledgers],
    copies: tuple[tuple[int, LeaderEpoch | None], ...],
    last: LeaderEpoch | None,
) -> None:
    """A table refused a run's rows, and another took those of a later run from the same position on."""
    for name, (offset, epoch) in zip(BOTH, copies, strict=True):
        metadata = replace(at(20).metadata_fields, epoch=epoch).encode()
        made = Ledger(CLUSTER, {LogId(TOPIC, TOPIC_ID, 0): Holding({}, None, (offset, metadata))})
        lake.create(name=name, properties=write_properties(LEDGER, made))
    found = newest(ledgers)
    assert found is not None
    assert (found.offset, found.metadata_fields.epoch) == (20, last)
