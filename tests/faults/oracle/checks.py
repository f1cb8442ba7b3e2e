"""The checks of the oracle: each takes the evidence and yields what is wrong, nothing when all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tests.faults.oracle.dead_letter_checks import (
    books_of_letters,
    broken_letters,
    dead_of_books,
    doubled_letters,
    misplaced_letters,
)
from tests.faults.oracle.evidence import Contents, Evidence, Letters, TableEvidence
from tests.faults.oracle.kafka_log import LogKey
from tests.faults.oracle.stamps import BROKEN, RAW
from tests.faults.oracle.stored_state import Position, Spans, books_of, control_offsets, ledger_spans, net_spans
from tests.faults.oracle.table_files import Snapshot, local

Check = Callable[[Evidence], Iterator[str]]


def kafka_is_sound(evidence: Evidence) -> Iterator[str]:
    """0: Kafka shows what it acknowledged, where it said, and nothing that was aborted."""
    for first, second in evidence.kafka.twice:
        yield f"one record is in Kafka twice: {first.log} at {first.offset} and {second.log} at {second.offset}"
    for acks in evidence.acks:
        for stamp in acks.aborted & evidence.kafka.places.keys():
            yield f"{stamp} was aborted, and is visible at {evidence.kafka.places[stamp]}"
        for stamp, (topic, partition, offset) in acks.places.items():
            if stamp in acks.aborted:
                continue
            place = evidence.kafka.places.get(stamp)
            if place is None:
                yield f"{stamp} was acknowledged at {topic}-{partition} {offset}, and Kafka does not show it"
            elif (place.log.topic, place.log.partition, place.offset) != (topic, partition, offset):
                yield f"{stamp} was acknowledged at {topic}-{partition} {offset}, and is at {place}"


def no_row_is_there_twice(evidence: Evidence) -> Iterator[str]:
    """1: no record has two rows in one table, two dead letters, or a row and a dead letter, in any snapshot."""
    for table in evidence.tables:
        for snapshot in table.snapshots:
            for log, found_counts in evidence.of_snapshot(snapshot).counts.items():
                if (found_counts > 1).any():
                    where = evidence.where(log, found_counts > 1)
                    yield f"{table.name} {snapshot.snapshot_id}: more than one row for {where}"
                both = (found_counts > 0) & evidence.lettered(table.name, log)
                if both.any():
                    yield f"{table.name} {snapshot.snapshot_id}: a row and a letter for {evidence.where(log, both)}"
    yield from doubled_letters(evidence)


def no_record_is_missing(evidence: Evidence) -> Iterator[str]:
    """2: every visible record is in every table it is meant for, or in the dead letters, but for what was declared lost
    (and what waits, while things run)."""
    for table in evidence.tables:
        contents = evidence.of_snapshot(table.head) if table.head else None
        for log, offsets in evidence.offsets.items():
            if not len(offsets):
                continue
            missing = evidence.needed(table.name, log)
            if contents is not None:
                missing &= contents.counts[log] == 0
            if not evidence.is_quiet:
                position = evidence.positions.get((log.topic, log.partition), Position(0))
                missing &= evidence.below(log, position, table.name)
            if missing.any():
                yield f"{table.name} lacks {evidence.where(log, missing)}"
        for stamp in set(evidence.foreign.get(table.name, ())) - set(contents.foreign if contents else ()):
            yield f"{table.name} lost the foreign row {stamp}"


def nothing_else_is_there(evidence: Evidence) -> Iterator[str]:
    """3: no row or dead letter that Kafka does not show: aborted, never produced, foreign; none in a wrong place."""
    yield from misplaced_letters(evidence)
    for table in evidence.tables:
        yield from _misplaced_rows(evidence, table)
        for snapshot in table.snapshots:
            contents = evidence.of_snapshot(snapshot)
            for stamp, count in Counter(s for s in contents.unknown_rows if s != BROKEN).items():
                yield f"{table.name} {snapshot.snapshot_id}: {count} row(s) of {stamp}, which is not in Kafka"
            for stamp, count in Counter(contents.foreign).items():
                if count > 1:
                    yield f"{table.name} {snapshot.snapshot_id}: the foreign {stamp} is there {count} time(s)"


def _misplaced_rows(evidence: Evidence, table: TableEvidence) -> Iterator[str]:
    for snapshot in table.snapshots:
        for log, found_counts in evidence.of_snapshot(snapshot).counts.items():
            wrong = (found_counts > 0) & ~evidence.meant(table.name, log)
            if wrong.any():
                yield f"{table.name} {snapshot.snapshot_id}: rows meant for others: {evidence.where(log, wrong)}"
            bad = (found_counts > 0) & evidence.mask(log, lambda stamp: stamp in evidence.poison)
            if bad.any():
                yield f"{table.name} {snapshot.snapshot_id}: rows of poison: {evidence.where(log, bad)}"


def every_row_is_whole(evidence: Evidence) -> Iterator[str]:
    """4: each row's checksum is that of its fields, each dead letter is the record byte by byte, and says
    what is wrong with it."""
    for stamp, place in evidence.kafka.places.items():
        if stamp.run == RAW and stamp not in evidence.poison:
            yield f"a record in Kafka is broken: {place}"
    yield from broken_letters(evidence)
    for table in evidence.tables:
        for path in {entry.path for s in table.snapshots for entry in evidence.files.live(s)}:
            broken = sum(stamp == BROKEN for stamp in evidence.of_file(path).unknown_rows)
            if broken:
                yield f"{table.name}: {broken} row(s) of {path} have a wrong checksum"


def rows_are_in_the_books(evidence: Evidence) -> Iterator[str]:
    """5: each snapshot added what its new offsets and record counts say, and the ledger holds what the head holds."""
    for table in evidence.tables:
        for snapshot in table.snapshots:
            if snapshot.summary.get("floe.group") == evidence.group:
                yield from _books_of_snapshot(evidence, table, snapshot)
        yield from _ledger_of_table(evidence, table)
    if evidence.dead_letters is not None:
        yield from books_of_letters(evidence, evidence.dead_letters)


def _books_of_snapshot(evidence: Evidence, table: TableEvidence, snapshot: Snapshot) -> Iterator[str]:
    where = f"{table.name} {snapshot.snapshot_id}"
    added = evidence.files.added(snapshot)
    rows = sum(entry.records for entry in added)
    if int(snapshot.summary.get("added-records", 0)) != rows:
        yield f"{where}: added-records is {snapshot.summary.get('added-records')}, its files have {rows}"
    contents = evidence.of_files(entry.path for entry in added)
    new_ranges = net_spans(snapshot.summary)
    if new_ranges is not None:
        yield from _net_of_snapshot(evidence, table, where, contents, new_ranges)
    if "floe.books" in snapshot.summary:
        yield from _written_books(evidence, table.name, where, snapshot, rows, new_ranges or {})
    elif rows:
        yield f"{where}: {rows} rows and no books"


def _net_of_snapshot(
    evidence: Evidence, table: TableEvidence, where: str, contents: Contents, new_ranges: dict[LogKey, Spans]
) -> Iterator[str]:
    for log, found_counts in contents.counts.items():
        new_offsets = evidence.within(log, new_ranges.get(log, ()))
        if ((found_counts > 0) & ~new_offsets).any():
            yield f"{where}: rows outside its net: {evidence.where(log, (found_counts > 0) & ~new_offsets)}"
        missing = new_offsets & (found_counts == 0) & evidence.needed(table.name, log)
        if missing.any():
            yield f"{where}: its net has no row for {evidence.where(log, missing)}"


def _written_books(
    evidence: Evidence, table: str, where: str, snapshot: Snapshot, rows: int, new_ranges: dict[LogKey, Spans]
) -> Iterator[str]:
    counts = books_of(snapshot.summary)
    if counts is None:
        return
    if counts.table.get("rows", 0) != rows:
        yield f"{where}: its books have {counts.table.get('rows', 0)} rows, its files {rows}"
    ids = {(log.topic, log.partition): log for log in new_ranges}
    if evidence.dead_letters is not None:
        yield from dead_of_books(evidence, table, where, snapshot, new_ranges)
    for (topic, partition, start, end), found_counts in counts.ranges.items():
        if sum(found_counts.values()) != end - start:
            yield f"{where}: the books of {topic}-{partition} [{start}, {end}) do not balance: {found_counts}"
        log = ids.get((topic, partition))
        if log is not None:
            yield from _books_of_range(evidence, where, log, start, end, dict(found_counts))


def _books_of_range(
    evidence: Evidence, where: str, log: LogKey, start: int, end: int, found_counts: dict[str, int]
) -> Iterator[str]:
    records = evidence.kafka.partitions.get(log)
    if records is None:
        yield f"{where}: its net names {log} of id {log.topic_id}, which Kafka never showed"
        return
    if any(first < end and start < last for first, last in records.removed):
        return
    seen = list(records.between(start, end))
    tombstones = sum(stamp is None for _, stamp in seen)
    if found_counts.get("tombstones", 0) != tombstones:
        yield f"{where}: {log} [{start}, {end}) has {tombstones} tombstones, the books have {found_counts}"
    values = ("routed", "dead", "filtered", "filtered_by_transforms", "dropped")
    if sum(found_counts.get(name, 0) for name in values) != len(seen) - tombstones:
        yield f"{where}: {log} [{start}, {end}) has {len(seen) - tombstones} values, the books have {found_counts}"


def _ledger_of_table(evidence: Evidence, table: TableEvidence) -> Iterator[str]:
    if table.metadata is None or table.head is None:
        return
    ledger = ledger_spans(table.metadata.properties, evidence.group)
    for log, found_counts in evidence.of_snapshot(table.head).counts.items():
        held, needed = evidence.within(log, ledger.get(log, ())), evidence.needed(table.name, log)
        if ((found_counts > 0) & ~held).any():
            yield f"{table.name}: rows that its ledger does not hold: {evidence.where(log, (found_counts > 0) & ~held)}"
        if (held & (found_counts == 0) & needed).any():
            yield f"{table.name}: its ledger holds, its rows lack {evidence.where(log, held & (found_counts == 0) & needed)}"


def no_snapshot_has_a_hole(evidence: Evidence) -> Iterator[str]:
    """6: whoever sees a record in any snapshot ever visible sees all that were before it in its partition, or why not in the
    dead letters of that time."""
    for table in evidence.tables:
        for snapshot in table.snapshots:
            yield from _holes(evidence, table.name, snapshot, evidence.dead)
    for sample in evidence.samples if evidence.dead_letters is not None else ():
        dead_letters = evidence.of_dead_letters(sample.heads.get(evidence.dead_letters.name))
        for table in evidence.tables:
            head = sample.heads.get(table.name)
            if head is not None:
                yield from _holes(evidence, table.name, head, dead_letters)


def _holes(evidence: Evidence, table: str, snapshot: Snapshot, dead_letters: Letters) -> Iterator[str]:
    for log, found_counts in evidence.of_snapshot(snapshot).counts.items():
        present = found_counts > 0
        if not present.any():
            continue
        last = int(present.nonzero()[0][-1])
        hole = ~present & evidence.needed(table, log, dead_letters)
        hole[last:] = False
        if hole.any():
            yield f"{table} {snapshot.snapshot_id} has a hole: {evidence.where(log, hole)}"


def files_are_referenced_once(evidence: Evidence) -> Iterator[str]:
    """7: no snapshot refers to a file twice or to one that is missing or other than it says."""
    for table in evidence.every_table:
        for snapshot in table.snapshots:
            entries = evidence.files.live(snapshot)
            where = f"{table.name} {snapshot.snapshot_id}"
            for path, count in Counter(entry.path for entry in entries).items():
                if count > 1:
                    yield f"{where} refers {count} times to {path}"
            for entry in entries:
                if entry.content != 0:
                    yield f"{where} has a delete file, which floe never writes: {entry.path}"
                elif not local(entry.path).exists():
                    yield f"{where} refers to a file that is missing: {entry.path}"
                elif (entry.size, entry.records) != _measured(evidence, table, entry.path):
                    yield f"{where}: {entry.path} has other size or rows than {entry.size} bytes, {entry.records} rows"


def _measured(evidence: Evidence, table: TableEvidence, path: str) -> tuple[int, int]:
    return local(path).stat().st_size, evidence.row_count(table, path)


def orphans(evidence: Evidence) -> dict[str, list[str]]:
    """8: list, per table, the data files that no snapshot refers to. They are no fault: killed writers leave them."""
    found = {}
    for table in evidence.every_table:
        if table.metadata is not None:
            used = {str(local(e.path)) for s in table.metadata.snapshots.values() for e in evidence.files.entries(s)}
            used |= {str(local(e.path)) for s in table.vanished for e in evidence.files.entries(s)}
            there = {str(path) for path in (local(table.metadata.table_location) / "data").rglob("*.parquet")}
            found[table.name] = sorted(there - used)
    return found


def summaries_never_go_back(evidence: Evidence) -> Iterator[str]:
    """9: along the ancestry neither sequence numbers nor control offsets go back."""
    for table in evidence.every_table:
        before: dict[str, int] = {}
        sequence = -1
        for snapshot in table.history:
            if snapshot.sequence_number <= sequence:
                yield f"{table.name} {snapshot.snapshot_id}: sequence number {snapshot.sequence_number} after {sequence}"
            sequence = snapshot.sequence_number
            for name, offset in control_offsets(snapshot.summary, evidence.group).items():
                if offset < before.get(name, 0):
                    yield f"{table.name} {snapshot.snapshot_id}: {name} went back from {before[name]} to {offset}"
                before[name] = offset


def every_snapshot_can_be_read(evidence: Evidence) -> Iterator[str]:
    """10: a read of each snapshot works and finds as many rows as its summary says."""
    for table in evidence.every_table:
        for snapshot in table.snapshots:
            try:
                rows = sum(evidence.row_count(table, e.path) for e in evidence.files.live(snapshot))
            except (OSError, ValueError, KeyError) as error:
                yield f"{table.name} {snapshot.snapshot_id} cannot be read: {type(error).__name__}: {error}"
                continue
            total = snapshot.summary.get("total-records")
            if total is not None and int(total) != rows:
                yield f"{table.name} {snapshot.snapshot_id}: total-records is {total}, it has {rows} rows"


def positions_are_backed(evidence: Evidence) -> Iterator[str]:
    """11: each table had, or had in its backlog, all below the position that was seen before it, or the dead letters
    had it; backlogs end."""
    names = {table.name for table in evidence.tables}
    for sample in evidence.samples:
        dead_letters = (
            evidence.of_dead_letters(sample.heads.get(evidence.dead_letters.name)) if evidence.dead_letters else None
        )
        for table, head in ((table, head) for table, head in sample.heads.items() if table in names):
            contents = evidence.of_snapshot(head) if head else evidence.of_files(())
            for (topic, partition), position in sample.positions.items():
                log = LogKey(topic, position.topic_id or "", partition)
                if log not in evidence.offsets:
                    continue
                missing = evidence.below(log, position, table) & (contents.counts[log] == 0)
                missing &= evidence.needed(table, log, dead_letters)
                if missing.any():
                    yield f"{table} lacked {evidence.where(log, missing)} when the position was {position}"
    if evidence.is_quiet:
        for (topic, partition), position in evidence.positions.items():
            for table, start in position.backlogs.items():
                yield f"{table} is still behind on {topic}-{partition} from {start} on"


CHECKS: tuple[Check, ...] = (
    kafka_is_sound,
    no_row_is_there_twice,
    no_record_is_missing,
    nothing_else_is_there,
    every_row_is_whole,
    rows_are_in_the_books,
    no_snapshot_has_a_hole,
    files_are_referenced_once,
    summaries_never_go_back,
    every_snapshot_can_be_read,
    positions_are_backed,
)
"""All but the eighth, which lists and does not judge."""
