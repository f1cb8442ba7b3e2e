"""The dead letters of a slice, as the driver sees them: their table, what it has already, and their share."""

from collections.abc import Iterable, Sequence

from floe.catalogs.catalog import Tables
from floe.commit.open_letters import open_letters
from floe.commit.routes import Routes
from floe.commit.table_ledger import ledger_of
from floe.config import Connector
from floe.config.table_settings import TableSettings
from floe.control.announcement import TableShare
from floe.kafka.cluster import Cluster
from floe.kafka.letter_topic import ensure_letter_topic
from floe.kafka.settings import KafkaSettings
from floe.offsets.books import TableBooks
from floe.offsets.intervals import Intervals
from floe.offsets.letters import LetterOffsets
from floe.offsets.plan import Plan, Slice
from floe.offsets.ranges import OffsetRange
from floe_job.letters import LETTERS_SCHEMA, refuse_unsuitable
from floe_job.letters.letterbox import LetterRules, LettersResult
from floe_job.slices.table import SliceTable, refuse_dropped
from floe_job.slices.write_check import check_writable


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

    def rules(self) -> LetterRules:
        """Return what tasks need to keep letters."""
        return LetterRules(
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
