"""Sinks with dead letters: their records, good and bad, and the rows of the dead-letter table."""

from __future__ import annotations

from collections import Counter

from tests.faults.harness.sink import Sink
from tests.faults.oracle.evidence import DEAD
from tests.faults.oracle.table_files import DeadLetter
from tests.support.runs.poison import MALFORMED, UNFIT, Poison

DEAD_LETTERS = "dead.letters"
POISON = {**MALFORMED, **UNFIT}


def known(sink: Sink) -> Sink:
    """Give the table its columns: ``n`` is a long, ``note`` a text."""
    mixed(sink, {})
    sink.run()
    return sink


def mixed(sink: Sink, kinds: dict[str, Poison], good: int = 40) -> None:
    """Produce poison of every kind, good records before, between and behind them, in both partitions."""
    for partition in (0, 1):
        for i in range(good):
            sink.producer.write(partition=partition, n=i, note="good")
        for kind, poison in kinds.items():
            sink.producer.write(poison, partition, key=b"k", headers=[("h", kind.encode()), ("h", None)], n=1, note="")
            sink.producer.write(partition=partition, n=1, note="a neighbour")
    sink.producer.flush()


def dead_letters(sink: Sink) -> Counter[tuple[str, str | None]]:
    """Count the dead letters by stage and table."""
    return Counter((one.stage, one.table) for one in letter_rows(sink) if one.kind == DEAD)


def resolved(sink: Sink) -> int:
    """Count the letters that are marked resolved."""
    return sum(one.kind == "resolved" for one in letter_rows(sink))


def letter_rows(sink: Sink) -> list[DeadLetter]:
    """Return what is in the table of dead letters."""
    table = sink.oracle.look_at(DEAD_LETTERS, sink.pointer(DEAD_LETTERS))
    paths = [entry.path for entry in sink.oracle.files.live(table.head)] if table.head else []
    return [dead_letter for path in paths for dead_letter in sink.oracle.files.dead_letters(path)]


DYNAMIC = {
    "iceberg.tables": None,
    "iceberg.tables.dynamic-enabled": True,
    "iceberg.tables.route-field": "to",
    "floe.deadletter.table": DEAD_LETTERS,
}
