"""The oracle on tables made by hand: each fault that is planted turns the check red that is there for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from faults import checks
from faults.checks import Check
from faults.evidence import Evidence, Excuses
from faults.kafka_log import Place
from faults.marks import Position, joined, read_position
from faults.oracle import Oracle
from faults.planted import LOG, TABLE, TOPIC, Planted, stamp
from faults.stamps import Stamp, read_stamp, write_stamp
from faults.watcher import Sample

pytestmark = pytest.mark.quick

Plant = Callable[[Planted], Evidence]


def whole(planted: Planted) -> Evidence:
    planted.commit(0, 10)
    planted.commit(10, 20)
    planted.commit(20, 30)
    return planted.evidence()


def a_row_twice(planted: Planted) -> Evidence:
    planted.commit(0, 20)
    planted.commit(20, 30, [stamp(19), *(stamp(o) for o in range(20, 30))])
    return planted.evidence()


def a_lost_row(planted: Planted) -> Evidence:
    planted.commit(0, 20)
    planted.commit(20, 30, [stamp(o) for o in range(20, 30) if o != 24])
    return planted.evidence()


def a_lost_tail(planted: Planted) -> Evidence:
    planted.commit(0, 20)
    return planted.evidence()


def a_phantom(planted: Planted) -> Evidence:
    planted.commit(0, 30, [*(stamp(o) for o in range(30)), Stamp("run", TOPIC, 99)])
    return planted.evidence()


def an_aborted_row(planted: Planted) -> Evidence:
    aborted = Stamp("run", TOPIC, 77)
    planted.acks.aborted.add(aborted)
    planted.acks.places[aborted] = (TOPIC, 0, 77)
    planted.commit(0, 30, [*(stamp(o) for o in range(30)), aborted])
    return planted.evidence()


def a_bad_checksum(planted: Planted) -> Evidence:
    planted.commit(0, 20)
    planted.commit(20, 30, crc=1)
    return planted.evidence()


def a_row_outside_its_net(planted: Planted) -> Evidence:
    planted.commit(0, 10, [stamp(o) for o in range(11)])
    planted.commit(10, 30, [stamp(o) for o in range(11, 30)])
    return planted.evidence()


def books_that_do_not_balance(planted: Planted) -> Evidence:
    books = {"ranges": [[TOPIC, 0, 0, 30, {"routed": 29}]], "table": {"rows": 30}}
    planted.commit(0, 30, **{"floe.books": json.dumps(books)})
    return planted.evidence()


def books_that_count_wrong(planted: Planted) -> Evidence:
    books = {"ranges": [[TOPIC, 0, 0, 30, {"routed": 29, "tombstones": 1}]], "table": {"rows": 30}}
    planted.commit(0, 30, **{"floe.books": json.dumps(books)})
    return planted.evidence()


def a_ledger_that_holds_too_little(planted: Planted) -> Evidence:
    planted.commit(0, 30)
    planted.held[:] = [(0, 29)]
    return planted.evidence()


def a_ledger_that_holds_too_much(planted: Planted) -> Evidence:
    planted.commit(0, 20)
    planted.held[:] = [(0, 30)]
    return planted.evidence()


def a_hole_that_was_filled_later(planted: Planted) -> Evidence:
    planted.commit(0, 10)
    planted.commit(20, 30)
    planted.commit(10, 20)
    return planted.evidence()


def a_hole_that_only_a_reader_saw(planted: Planted) -> Evidence:
    planted.commit(0, 10)
    planted.commit(20, 30)
    holed = replace(planted.snapshots[-1], snapshot_id=99)
    (planted.folder / "other").mkdir()
    other = Planted(planted.folder / "other")
    other.commit(0, 30)
    seen = other.evidence()
    return replace(seen, tables=[replace(seen.tables[0], vanished=(holed,))])


def a_file_referred_to_twice(planted: Planted) -> Evidence:
    path = planted.commit(0, 30)
    planted.refer([path], [30], {})
    return planted.evidence()


def a_missing_file(planted: Planted) -> Evidence:
    path = planted.commit(0, 10)
    planted.commit(10, 30)
    Path(path).unlink()
    return planted.evidence()


def a_file_of_another_size(planted: Planted) -> Evidence:
    path = planted.commit(0, 30)
    with Path(path).open("ab") as file:
        file.write(b"more")
    return planted.evidence()


def control_offsets_that_go_back(planted: Planted) -> Evidence:
    planted.commit(0, 20, **{"kafka.connect.offsets.control.connect-planted": '{"0":50}'})
    planted.commit(20, 30, **{"kafka.connect.offsets.control.connect-planted": '{"0":49}'})
    return planted.evidence()


def a_summary_with_a_wrong_total(planted: Planted) -> Evidence:
    planted.commit(0, 30, **{"total-records": "31"})
    return planted.evidence()


def a_position_above_what_the_table_held(planted: Planted) -> Evidence:
    planted.commit(0, 10)
    planted.commit(10, 30)
    planted.samples.append(Sample({(TOPIC, 0): Position(20, "T1")}, {TABLE: planted.snapshots[0]}))
    return planted.evidence()


def a_debt_that_was_never_paid(planted: Planted) -> Evidence:
    planted.commit(0, 30)
    planted.position = Position(30, "T1", {TABLE: 30})
    return planted.evidence()


def an_acknowledged_record_that_is_gone(planted: Planted) -> Evidence:
    planted.acks.places[Stamp("run", TOPIC, 55)] = (TOPIC, 0, 55)
    return whole(planted)


def a_record_that_is_in_kafka_twice(planted: Planted) -> Evidence:
    planted.kafka.twice.append((Place(LOG, 1), Place(LOG, 2)))
    return whole(planted)


PLANTS: dict[Plant, Check] = {
    a_row_twice: checks.no_row_is_there_twice,
    a_lost_row: checks.no_record_is_missing,
    a_lost_tail: checks.no_record_is_missing,
    a_phantom: checks.nothing_else_is_there,
    an_aborted_row: checks.nothing_else_is_there,
    a_bad_checksum: checks.every_row_is_whole,
    a_row_outside_its_net: checks.rows_are_in_the_books,
    books_that_do_not_balance: checks.rows_are_in_the_books,
    books_that_count_wrong: checks.rows_are_in_the_books,
    a_ledger_that_holds_too_little: checks.rows_are_in_the_books,
    a_ledger_that_holds_too_much: checks.rows_are_in_the_books,
    a_hole_that_was_filled_later: checks.no_snapshot_has_a_hole,
    a_hole_that_only_a_reader_saw: checks.no_snapshot_has_a_hole,
    a_file_referred_to_twice: checks.files_are_referenced_once,
    a_missing_file: checks.files_are_referenced_once,
    a_file_of_another_size: checks.files_are_referenced_once,
    control_offsets_that_go_back: checks.summaries_never_go_back,
    a_summary_with_a_wrong_total: checks.every_snapshot_can_be_read,
    a_position_above_what_the_table_held: checks.positions_are_backed,
    a_debt_that_was_never_paid: checks.positions_are_backed,
    an_acknowledged_record_that_is_gone: checks.kafka_is_sound,
    a_record_that_is_in_kafka_twice: checks.kafka_is_sound,
}


def test_a_whole_table_is_green(tmp_path: Path) -> None:
    report = Oracle().judge(whole(Planted(tmp_path)))
    assert report.is_green, str(report)
    assert (report.records, report.snapshots) == (30, 3)


def test_gaps_between_offsets_and_tombstones_are_no_findings(tmp_path: Path) -> None:
    planted = Planted(tmp_path, offsets=[3, 4, 9, 15, 29])
    report = Oracle().judge(whole(planted))
    assert report.is_green, str(report)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_each_planted_fault_turns_its_check_red(tmp_path: Path, plant: Plant) -> None:
    planted = Planted(tmp_path)
    evidence = plant(planted)
    report = Oracle().judge(evidence)
    red = [verdict.check for verdict in report.verdicts if not verdict.is_green]
    assert " ".join((PLANTS[plant].__doc__ or "").split()).rstrip(".") in red, str(report)


def test_every_check_has_a_fault_planted_for_it() -> None:
    assert set(PLANTS.values()) == set(checks.CHECKS)


def test_what_waits_or_is_owed_is_missing_only_when_all_should_be_quiet(tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    planted.commit(0, 20)
    for position in (Position(20, "T1"), Position(30, "T1", {TABLE: 20})):
        planted.position = position
        assert Oracle().judge(planted.evidence(is_quiet=False)).is_green
        assert not Oracle().judge(planted.evidence()).is_green
    planted.position = Position(21, "T1")
    assert not Oracle().judge(planted.evidence(is_quiet=False)).is_green


def test_declared_losses_are_excused_and_only_those(tmp_path: Path) -> None:
    evidence = a_lost_row(Planted(tmp_path))
    assert Oracle().judge(replace(evidence, excuses=Excuses({("*", LOG): ((24, 25),)}))).is_green
    assert not Oracle().judge(replace(evidence, excuses=Excuses({("*", LOG): ((25, 26),)}))).is_green
    assert not Oracle().judge(replace(evidence, excuses=Excuses({("db.other", LOG): ((24, 25),)}))).is_green


def test_orphans_are_listed(tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    evidence = whole(planted)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "left.parquet").touch()
    report = Oracle().judge(evidence)
    assert report.orphans == {TABLE: [str(tmp_path / "data" / "left.parquet")]}
    assert report.is_green


def test_stamps_survive_and_changed_ones_are_broken() -> None:
    value = write_stamp(Stamp("r", "p", 7), "päd", {"more": 1})
    assert read_stamp(value) == Stamp("r", "p", 7)
    assert read_stamp(value.replace(b'"seq": 7', b'"seq": 8')).seq == -1
    assert read_stamp(b"{").seq == -1


def test_positions_of_others_have_no_topic_id_and_debts_are_read() -> None:
    assert read_position(5, "mine") == Position(5)
    told = '{"floe":1,"topic":"T1","debts":{"db.t":[3,"route"]}}'
    assert read_position(5, told) == Position(5, "T1", {"db.t": 3})
    assert joined([(3, 5), (0, 1), (5, 9)]) == ((0, 1), (3, 9))
