"""The oracle on tables made by hand: each fault that is planted turns the check red that is there for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.faults.oracle import checks
from tests.faults.oracle.checks import Check
from tests.faults.oracle.evidence import Evidence, Excuses
from tests.faults.oracle.faulty_table import LOG, TABLE, TOPIC, Planted, stamp
from tests.faults.oracle.kafka_log import Place
from tests.faults.oracle.oracle import Oracle
from tests.faults.oracle.stamps import Stamp, read_stamp, write_stamp
from tests.faults.oracle.stored_state import Position, joined, read_position
from tests.faults.oracle.watcher import Sample

pytestmark = pytest.mark.ci

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


def a_row_outside_its_new_offsets(planted: Planted) -> Evidence:
    planted.commit(0, 10, [stamp(o) for o in range(11)])
    planted.commit(10, 30, [stamp(o) for o in range(11, 30)])
    return planted.evidence()


def counts_that_do_not_add_up(planted: Planted) -> Evidence:
    counts = {"ranges": [[TOPIC, 0, 0, 30, {"routed": 29}]], "table": {"rows": 30}}
    planted.commit(0, 30, **{"floe.books": json.dumps(counts)})
    return planted.evidence()


def counts_that_are_wrong(planted: Planted) -> Evidence:
    counts = {"ranges": [[TOPIC, 0, 0, 30, {"routed": 29, "tombstones": 1}]], "table": {"rows": 30}}
    planted.commit(0, 30, **{"floe.books": json.dumps(counts)})
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


def a_backlog_that_was_never_read(planted: Planted) -> Evidence:
    planted.commit(0, 30)
    planted.position = Position(30, "T1", {TABLE: 30})
    return planted.evidence()


def an_acknowledged_record_that_is_gone(planted: Planted) -> Evidence:
    planted.acks.places[Stamp("run", TOPIC, 55)] = (TOPIC, 0, 55)
    return whole(planted)


def a_record_that_is_in_kafka_twice(planted: Planted) -> Evidence:
    planted.kafka.twice.append((Place(LOG, 1), Place(LOG, 2)))
    return whole(planted)


def dead(planted: Planted, *offsets: int, **changes: Any) -> Evidence:
    """Commit all but the offsets 4 and 24, which are spoiled, and letters of those given."""
    planted.spoil(4, 24)
    planted.add_dead_letters(*offsets, **changes)
    planted.commit(0, 30)
    return planted.evidence()


def a_dead_letter_that_is_missing(planted: Planted) -> Evidence:
    return dead(planted, 4)


def a_dead_letter_of_another_table(planted: Planted) -> Evidence:
    return dead(planted, 4, 24, table="db.other")


def a_dead_letter_twice(planted: Planted) -> Evidence:
    planted.add_dead_letters(4)
    return dead(planted, 4, 24)


def a_dead_letter_of_a_table_and_of_none(planted: Planted) -> Evidence:
    planted.add_dead_letters(4, table=None)
    return dead(planted, 4, 24)


def a_dead_letter_and_a_row(planted: Planted) -> Evidence:
    planted.spoil(24)
    planted.commit(0, 10)
    planted.spoil(4)
    planted.add_dead_letters(4, 24)
    planted.commit(10, 30)
    return planted.evidence()


def a_dead_letter_of_a_good_record(planted: Planted) -> Evidence:
    return dead(planted, 4, 5, 24)


def a_dead_letter_resolved_that_is_none(planted: Planted) -> Evidence:
    planted.add_dead_letters(7, kind="resolved")
    return dead(planted, 4, 24)


def a_dead_letter_resolved_without_a_row(planted: Planted) -> Evidence:
    planted.add_dead_letters(4, kind="resolved", value=None)
    return dead(planted, 4, 24)


def a_dead_letter_of_nothing(planted: Planted) -> Evidence:
    return dead(planted, 4, 24, 99)


def a_dead_letter_with_other_bytes(planted: Planted) -> Evidence:
    return dead(planted, 4, 24, value=b"{}")


def a_dead_letter_with_another_key(planted: Planted) -> Evidence:
    return dead(planted, 4, 24, key=b"k")


def a_dead_letter_with_a_wrong_reason(planted: Planted) -> Evidence:
    return dead(planted, 4, 24, reason="column 'm': no")


def a_broken_record_that_was_not_declared(planted: Planted) -> Evidence:
    planted.kafka.put(LOG, 30, b"{")
    return whole(planted)


def a_dead_letter_outside_its_ledger(planted: Planted) -> Evidence:
    return dead(planted, 4, 24, held=(0, 20))


def counts_without_the_dead_letters(planted: Planted) -> Evidence:
    planted.spoil(4)
    planted.add_dead_letters(4)
    planted.commit(0, 30, **{"floe.kind": "live"})
    return planted.evidence()


def a_row_that_was_seen_before_the_dead_letter_under_it(planted: Planted) -> Evidence:
    evidence = dead(planted, 4, 24)
    planted.samples.append(Sample({}, {TABLE: planted.snapshots[0]}))
    return evidence


def a_position_above_a_dead_letter_that_was_not_there_yet(planted: Planted) -> Evidence:
    evidence = dead(planted, 4, 29)
    planted.spoil(29)
    planted.samples.append(Sample({(TOPIC, 0): Position(30, "T1")}, {TABLE: planted.snapshots[0]}))
    return evidence


def a_row_meant_for_another_table(planted: Planted) -> Evidence:
    planted.acks.meant[stamp(4)] = frozenset(["db.other"])
    return whole(planted)


PLANTS: dict[Plant, Check] = {
    a_row_twice: checks.no_row_is_there_twice,
    a_lost_row: checks.no_record_is_missing,
    a_lost_tail: checks.no_record_is_missing,
    a_phantom: checks.nothing_else_is_there,
    an_aborted_row: checks.nothing_else_is_there,
    a_bad_checksum: checks.every_row_is_whole,
    a_row_outside_its_new_offsets: checks.rows_are_in_the_books,
    counts_that_do_not_add_up: checks.rows_are_in_the_books,
    counts_that_are_wrong: checks.rows_are_in_the_books,
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
    a_backlog_that_was_never_read: checks.positions_are_backed,
    an_acknowledged_record_that_is_gone: checks.kafka_is_sound,
    a_record_that_is_in_kafka_twice: checks.kafka_is_sound,
    a_dead_letter_that_is_missing: checks.no_record_is_missing,
    a_dead_letter_of_another_table: checks.no_record_is_missing,
    a_dead_letter_twice: checks.no_row_is_there_twice,
    a_dead_letter_of_a_table_and_of_none: checks.no_row_is_there_twice,
    a_dead_letter_and_a_row: checks.no_row_is_there_twice,
    a_dead_letter_of_a_good_record: checks.nothing_else_is_there,
    a_dead_letter_resolved_that_is_none: checks.nothing_else_is_there,
    a_dead_letter_resolved_without_a_row: checks.no_record_is_missing,
    a_dead_letter_of_nothing: checks.nothing_else_is_there,
    a_row_meant_for_another_table: checks.nothing_else_is_there,
    a_dead_letter_with_other_bytes: checks.every_row_is_whole,
    a_dead_letter_with_another_key: checks.every_row_is_whole,
    a_dead_letter_with_a_wrong_reason: checks.every_row_is_whole,
    a_broken_record_that_was_not_declared: checks.every_row_is_whole,
    a_dead_letter_outside_its_ledger: checks.rows_are_in_the_books,
    counts_without_the_dead_letters: checks.rows_are_in_the_books,
    a_row_that_was_seen_before_the_dead_letter_under_it: checks.no_snapshot_has_a_hole,
    a_position_above_a_dead_letter_that_was_not_there_yet: checks.positions_are_backed,
}


def test_a_whole_table_is_green(tmp_path: Path) -> None:
    report = Oracle().judge(whole(Planted(tmp_path)))
    assert report.is_green, str(report)
    assert (report.records, report.snapshots) == (30, 3)


def test_a_table_and_its_letters_are_green(tmp_path: Path) -> None:
    report = Oracle().judge(dead(Planted(tmp_path), 4, 24))
    assert report.is_green, str(report)


def test_a_dead_letter_that_became_a_row_is_green(tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    planted.acks.doubtful.add(stamp(4))
    planted.add_dead_letters(4)
    planted.add_dead_letters(4, kind="resolved", value=None)
    report = Oracle().judge(whole(planted))
    assert report.is_green, str(report)


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


def test_oracle_counts_waiting_records_missing_only_when_quiet(tmp_path: Path) -> None:
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


def test_positions_of_others_have_no_topic_id_backlogs_are_read() -> None:
    assert read_position(5, "mine") == Position(5)
    message = '{"floe":1,"topic":"T1","debts":{"db.t":[3,"route"]}}'
    assert read_position(5, message) == Position(5, "T1", {"db.t": 3})
    assert joined([(3, 5), (0, 1), (5, 9)]) == ((0, 1), (3, 9))
