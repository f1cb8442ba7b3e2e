"""What the checks ask of dead letters: each record once, as Kafka has it, with the right reason, and in the books."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from tests.faults.oracle.evidence import DEAD, Evidence, TableEvidence
from tests.faults.oracle.kafka_log import LogKey
from tests.faults.oracle.stored_state import Spans, books_of, ledger_spans
from tests.faults.oracle.table_files import Snapshot


def doubled_letters(evidence: Evidence) -> Iterator[str]:
    """1: no record has two letters for one table, or one for a table and one for none."""
    for snapshot in evidence.dead_letters.snapshots if evidence.dead_letters else ():
        dead_letters = evidence.of_dead_letters(snapshot)
        for name, logs in dead_letters.counts.items():
            for log, found_counts in logs.items():
                if (found_counts > 1).any():
                    yield f"{snapshot.snapshot_id}: more than one letter ({name}) for {evidence.where(log, found_counts > 1)}"
                of_none = dead_letters.of(None, log)
                if name is not None and of_none is not None and (of_none & (found_counts > 0)).any():
                    yield f"{snapshot.snapshot_id}: a letter of {name} and of none for {evidence.where(log, of_none)}"


def misplaced_letters(evidence: Evidence) -> Iterator[str]:
    """3: no letter of a record that Kafka does not show, that is good, or that was meant for another table."""
    for snapshot in evidence.dead_letters.snapshots if evidence.dead_letters else ():
        dead_letters = evidence.of_dead_letters(snapshot)
        for dead_letter in dead_letters.unknown_rows:
            yield f"a letter of {dead_letter.log} at {dead_letter.offset}, which is not in Kafka"
        for name, logs in dead_letters.counts.items():
            for log, found_counts in logs.items():
                good = evidence.mask(log, lambda stamp: stamp not in evidence.poison and stamp not in evidence.doubtful)
                if ((found_counts > 0) & good).any():
                    yield f"letters ({name}) of good records: {evidence.where(log, (found_counts > 0) & good)}"
                if (found_counts < 0).any():
                    yield f"letters ({name}) that are resolved and were none: {evidence.where(log, found_counts < 0)}"
                if name is not None and ((found_counts > 0) & ~evidence.meant(name, log)).any():
                    wrong = (found_counts > 0) & ~evidence.meant(name, log)
                    yield f"letters of {name} for records that are none of its: {evidence.where(log, wrong)}"


def broken_letters(evidence: Evidence) -> Iterator[str]:
    """4: each letter has the record's bytes, step and reason."""
    table = evidence.dead_letters
    for path in {entry.path for s in table.snapshots for entry in evidence.files.live(s)} if table else ():
        for dead_letter in evidence.files.dead_letters(path):
            records = evidence.kafka.partitions.get(dead_letter.log)
            rank = bisect_left(records.offsets, dead_letter.offset) if records is not None else 0
            if records is None or rank == len(records.offsets) or records.offsets[rank] != dead_letter.offset:
                continue  # the third check tells
            where = f"the dead letter of {dead_letter.log} at {dead_letter.offset}"
            if dead_letter.kind != DEAD:
                continue
            if records.digests[rank] != dead_letter.digest:
                yield f"{where} is not the record as Kafka has it"
            stamp = records.stamps[rank]
            poison = evidence.poison.get(stamp) if stamp is not None else None
            if poison is not None and (
                dead_letter.stage != poison.stage or not re.search(poison.reason, dead_letter.reason)
            ):
                found = f"{dead_letter.stage!r}, {dead_letter.reason!r}"
                yield f"{where} says {found}: {poison.stage!r}, {poison.reason!r} is wrong"


def books_of_letters(evidence: Evidence, table: TableEvidence) -> Iterator[str]:
    """5: each snapshot of the letters added what its books say, and their ledger holds what they are of."""
    for snapshot in table.snapshots:
        where = f"{table.name} {snapshot.snapshot_id}"
        dead_letters = [
            dead_letter
            for entry in evidence.files.added(snapshot)
            for dead_letter in evidence.files.dead_letters(entry.path)
        ]
        counts = books_of(snapshot.summary) if "floe.books" in snapshot.summary else None
        if counts is None:
            continue
        if counts.table.get("rows", 0) != len(dead_letters):
            yield f"{where}: its books have {counts.table.get('rows', 0)} letters, its files {len(dead_letters)}"
        for dead_letter in dead_letters:
            at = dead_letter.log.topic, dead_letter.log.partition
            if not any(at == (t, p) and start <= dead_letter.offset < end for t, p, start, end in counts.ranges):
                yield f"{where}: a letter of {dead_letter.log} at {dead_letter.offset}, which is in none of its ranges"
    if table.metadata is not None and table.head is not None:
        ledger = ledger_spans(table.metadata.properties, evidence.group)
        for logs in evidence.dead.counts.values():
            for log, found_counts in logs.items():
                held = evidence.within(log, ledger.get(log, ()))
                if ((found_counts > 0) & ~held).any():
                    yield f"letters that their ledger does not hold: {evidence.where(log, (found_counts > 0) & ~held)}"


def dead_of_books(
    evidence: Evidence, table: str, where: str, snapshot: Snapshot, new_ranges: dict[LogKey, Spans]
) -> Iterator[str]:
    """5: the dead and the filtered of a live slice's books are those of the letters, and what was produced for no table."""
    counts = books_of(snapshot.summary)
    if counts is None or snapshot.summary.get("floe.kind") != "live":
        return
    ids = {(log.topic, log.partition): log for log in new_ranges}
    of_table = 0
    for (topic, partition, start, end), found_counts in counts.ranges.items():
        log = ids.get((topic, partition))
        if log is None:
            return
        inside = evidence.within(log, ((start, end),))
        no_record = np.zeros_like(inside)
        of_none = evidence.dead.of(None, log)
        unrouted = inside & (no_record if of_none is None else of_none)
        if found_counts.get("dead", 0) != unrouted.sum():
            yield f"{where}: {log} [{start}, {end}) has {unrouted.sum()} letters of no table, the books have {found_counts}"
        wanted = [evidence.meant(one.name, log) for one in evidence.tables]
        filtered = inside & ~unrouted & ~np.logical_or.reduce(wanted)
        if sum(found_counts.get(name, 0) for name in ("filtered", "filtered_by_transforms")) != filtered.sum():
            yield f"{where}: {log} [{start}, {end}) has {filtered.sum()} records for no table, the books have {found_counts}"
        mine = evidence.dead.of(table, log)
        of_table += int((inside & mine).sum()) if mine is not None else 0
    # what the table had been through before is not judged again, it counts as held
    if not 0 <= of_table - counts.table.get("dead", 0) <= counts.table.get("held", 0):
        yield f"{where}: it has {of_table} letters, its books have {counts.table}"
