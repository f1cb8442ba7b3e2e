"""The dead letters of a slice, as the driver sees them: their table, what it has already, and their share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.config.sections.tables import TableSettings
from floe.control.announcement import TableShare
from floe.kafka.admin import Cluster
from floe.kafka.dead_letter_topic import ensure_letter_topic
from floe.kafka.settings import KafkaSettings
from floe.model.accounting import TableBooks
from floe.model.dead_letters import MOST_SPANS, LetterOffsets
from floe.model.intervals import Intervals
from floe.model.ledger import LogId
from floe.model.plan import Plan, Slice
from floe.model.ranges import OffsetRange
from floe.tables.open_dead_letters import open_letters
from floe.tables.routes import Routes
from floe.tables.table_ledger import ledger_of
from floe_job.contract.letter_outcomes import LetterFates, Offsets
from floe_job.contract.result import LettersResult
from floe_job.contract.task import DeadLetterRules
from floe_job.dead_letters import LETTERS_SCHEMA, refuse_unsuitable
from floe_job.driver.slice_table import SliceTable, refuse_dropped
from floe_job.driver.write_check import check_writable
from floe_job.exceptions import SliceRefused


class Settled(NamedTuple):
    """``revived``: records with open letters that are rows of this slice, by table. ``resolved``: letters to be marked."""

    revived: LetterOffsets = LetterOffsets()
    resolved: LetterOffsets = LetterOffsets()


def settle(
    letters: LetterOffsets,
    fates: Mapping[str, Sequence[LetterFates]],
    revived_before: Mapping[str, Offsets],
    *,
    is_whole: bool,
) -> Settled:
    """Tell from what became of records in each table which of the open ``letters`` are dealt with.

    A letter of a table is, once its record is a row there. A letter of none is, once each table that the record reaches
    has its row or a letter of its own: only a slice for all tables tells. ``revived_before``: by table, letters that its
    ledger knows to be rows. Raises SliceRefused when they are more than an announcement can name.
    """
    joined = {name: _joined(several) for name, several in fates.items()}
    revived = LetterOffsets.of(
        (name, log_id, offsets) for name, one in joined.items() for log_id, offsets in _of(one.rows)
    )
    here, anew, undone = [], [], []
    for name, one in joined.items():
        before = revived_before.get(name, {})
        there = {log_id: offsets & before.get(log_id, Intervals()) for log_id, offsets in one.passed.items()}
        rows = [*_of(one.rows), *_of(there)]
        here += [(name, log_id, offsets & letters.at(name, log_id)) for log_id, offsets in rows]
        anew += [(None, log_id, offsets & letters.at(None, log_id)) for log_id, offsets in [*rows, *_of(one.dead)]]
        undone += [(None, log_id, offsets - there[log_id]) for log_id, offsets in one.passed.items()]
    of_none = LetterOffsets.of(anew) - LetterOffsets.of(undone) if is_whole else LetterOffsets()
    settled = Settled(revived, LetterOffsets.of(here) | of_none)
    if max(settled.revived.spans, settled.resolved.spans) > MOST_SPANS:
        msg = (
            f"{settled.resolved.count} records with open dead letters become rows, in {settled.resolved.spans} spans of "
            f"offsets: an announcement names at most {MOST_SPANS}. Nothing was announced; run again with a smaller "
            "max_records"
        )
        raise SliceRefused(msg)
    return settled


def _joined(several: Sequence[LetterFates]) -> LetterFates:
    return LetterFates(
        _union(one.rows for one in several), _union(one.dead for one in several), _union(one.passed for one in several)
    )


def _union(parts: Iterable[Offsets]) -> dict[LogId, Intervals]:
    joined: dict[LogId, list[tuple[int, int]]] = {}
    for part in parts:
        for log_id, offsets in part.items():
            joined.setdefault(log_id, []).extend(offsets)
    return {log_id: Intervals.of(spans) for log_id, spans in joined.items()}


def _of(offsets: Offsets) -> Iterable[tuple[LogId, Intervals]]:
    return offsets.items()


class SliceLetters:
    """Prepares the places of a slice's letters, and announces them.

    ``open``: letters of the slice's offsets from earlier runs, which are not dealt with yet.
    """

    def __init__(self, tables: Tables, plan: Plan, piece: Slice, connector: Connector, settings: KafkaSettings) -> None:
        self._plan = plan
        self._slice = piece
        self._connector = connector
        self._settings = settings
        self._routes = Routes(connector)
        name = connector.errors.table
        self._table = None if name is None else self._load(tables, name)
        self.open = LetterOffsets() if self._table is None else self._look_up(tables, self._table)
        if connector.errors.topic is not None:
            policy = connector.errors
            ensure_letter_topic(Cluster.of_control(settings), connector.errors.topic, policy.topic_replication)

    def rules(self) -> DeadLetterRules:
        """Return what tasks need to keep letters."""
        return DeadLetterRules(
            policy=self._connector.errors,
            connector=self._connector.name,
            commit_id=str(self._plan.commit_id),
            target=None if self._table is None else self._table.target(self._slice, self._connector),
            known=self.open,
            conf=self._settings.control if self._connector.errors.topic is not None else {},
        )

    def books(self, results: Iterable[LettersResult]) -> TableBooks | None:
        """Return the books of the table of dead letters; None without one."""
        return None if self._table is None else sum((result.books for result in results), TableBooks())

    def share(self, results: Sequence[LettersResult]) -> TableShare | None:
        """Return what is announced of the table; None when it got nothing."""
        books = self.books(results)
        if self._table is None or books is None:
            return None
        written = [result.files for result in results if result.files and result.files.files]
        topics = {r.topic for r in self._slice.ranges}
        return self._table.share(self._connector, written, self._routes.of(self._table.name, topics), books)

    def _load(self, tables: Tables, name: str) -> SliceTable:
        found = tables.load(name)
        refuse_dropped(self._plan, name, found)
        table = found or tables.create(name, LETTERS_SCHEMA, TableSettings())
        refuse_unsuitable(name, table.schema())
        ledger = ledger_of(table, self._routes.branch(name), self._plan)
        routes = self._routes.of(name, {r.topic for r in self._slice.ranges})
        nets = tuple((r, ledger.net(r, routes[r.topic])) for r in self._slice.ranges)
        loaded = SliceTable(name, table, nets)
        check_writable(loaded.target(self._slice, self._connector))
        return loaded

    def _look_up(self, tables: Tables, letters: SliceTable) -> LetterOffsets:
        """Return the open letters of the offsets that the table has seen before.

        Those are read a second time because a run died, because a table that owed is caught up, or by a replay.
        """
        seen = [
            OffsetRange(r.topic, r.topic_id, r.partition, start, end)
            for r, net in letters.nets
            for start, end in Intervals.of([(r.start, r.end)]) - net
        ]
        if letters.table is None or not seen:
            return LetterOffsets()
        with tables.reading(letters.name):
            return open_letters(letters.table, self._routes.branch(letters.name), self._plan.connector, seen)
