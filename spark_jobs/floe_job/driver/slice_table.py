"""One table of a slice: what it takes, what tasks receive about it, and its part of the announcement."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.table import Table

from floe.config import Connector
from floe.control.announcement import TableFiles
from floe.control.data_files import partition_type_of
from floe.control.spec_files import SpecFiles
from floe.control.wire.events import TableReference
from floe.exceptions import FloeError
from floe.model.dead_letters import MAX_SPANS, DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe.model.ranges import OffsetRange
from floe.modes.base import WriteMode
from floe.modes.registry import mode_of
from floe.tables.exceptions import REFUSALS
from floe.tables.table_state import TableState
from floe_job.contract.target import TableTarget
from floe_job.driver.job import SliceJob
from floe_job.driver.write_check import check_writable
from floe_job.exceptions import REASON_LENGTH, SliceRefused, clip
from floe_job.schema.rules import ColumnRules

NewOffsets = tuple[tuple[OffsetRange, Intervals], ...]


@dataclass(frozen=True)
class SliceTable:
    """A table with the content of its ledger for the slice.

    ``new_offsets``: of the ranges whose rows it takes, the offsets to be written; of a table that refuses, those whose
    records are dead letters, and none where it is behind. ``recovered``: dead letters in these ranges whose records are rows
    according to its ledger. ``mode``: how it gets its rows; None where it takes none.
    """

    state: TableState
    new_offsets: NewOffsets = ()
    recovered: Mapping[LogId, Intervals] = field(default_factory=dict)
    mode: WriteMode | None = None

    @classmethod
    def of(cls, job: SliceJob, state: TableState) -> "SliceTable":
        """Return what a table takes of a slice; one that refuses, or that no file can be written for, takes nothing."""
        if state.problem is not None:
            return cls(state)
        scope = job.scope
        mode, taken = mode_of(scope, state.name), scope.taken(state.name)
        new: NewOffsets = ()
        try:
            mode.check(state, scope, job.connector)
            new = tuple((r, mode.wanted(state, scope, r)) for r in taken)
            recovered = {LogId.of(r): rows for r in taken if (rows := state.ledger.recovered(r))}
            found = cls(state, new, recovered, mode)
            check_writable(found.target(job))
        except REFUSALS as error:
            return cls(state, new).refused(job, error)
        return found

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def table(self) -> Table | None:
        """The table; None while it does not exist, and where it refuses."""
        return self.state.table

    @property
    def problem(self) -> FloeError | None:
        """Why the table takes nothing."""
        return self.state.problem

    @property
    def names_dead_letters(self) -> bool:
        """Whether its dead letters of the ranges are announced, and their records are watched."""
        return self.mode is not None and self.mode.names_dead_letters

    @property
    def is_for_dead_letters(self) -> bool:
        """Whether the table refuses and its records become dead letters; if it refuses otherwise, it is behind."""
        return self.problem is not None and bool(self.new_offsets)

    def in_state(self, job: SliceJob, state: TableState) -> "SliceTable":
        """Return the table after a change of it."""
        return replace(self, state=state) if state.problem is None else self.refused(job, state.problem)

    def refused(self, job: SliceJob, problem: FloeError) -> "SliceTable":
        """Return the table as one that takes nothing. Where its ledger is known, its records can be dead letters."""
        is_known = self.table is not None and job.gives_dead_letters_for(self.name)
        return SliceTable(self.state.refused(problem), self.new_offsets if is_known else ())

    def without_rows(self, job: SliceJob) -> "SliceTable":
        """Return a table that refuses, and that contains no row of the slice: all its records become dead letters."""
        taken = job.plan.taken(job.slice, self.name)
        return replace(self, new_offsets=tuple((r, _whole(r)) for r in taken))

    def target(self, job: SliceJob, open_dead_letters: DeadLetterOffsets | None = None) -> TableTarget:
        """Return what a worker needs to know of the table."""
        # every task contains this: of thousands of ranges only those that the table already contains in a repeated run
        held = {r: held for r, new in self.new_offsets if (held := _whole(r) - new)}
        backlog = frozenset(job.slice.ranges) - {r for r, _ in self.new_offsets}
        watched = {r: found for r in job.slice.ranges if (found := self._watched(r, open_dead_letters))}
        refusal = _refusal(self.name, self.problem) if self.is_for_dead_letters else None
        target = replace(
            new_target(self.name, job.connector), held=held, backlog=backlog, dead_letters=watched, refusal=refusal
        )
        if self.table is None:
            return target
        # workers need schema, spec, location and properties; the snapshots would be shipped to each of them
        slim = self.table.metadata.model_copy(
            update={"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}, "current_snapshot_id": None}
        )
        properties = {**self.table.metadata.properties, **job.connector.write_props}
        return replace(target, metadata=slim, io=self.table.io, properties=properties)

    def _watched(self, r: OffsetRange, open_dead_letters: DeadLetterOffsets | None) -> Intervals:
        """Return the records whose outcome counts: with open dead letters, and those recovered that are to be replaced."""
        waiting = open_dead_letters.reaching(self.name, r) if open_dead_letters else Intervals()
        return waiting | self.recovered.get(LogId.of(r), Intervals()) if self.names_dead_letters else waiting

    def written(self, connector: Connector, files: Iterable[SpecFiles]) -> TableFiles | None:
        """Return what is to be committed to the table; None where nothing is.

        Raises SliceRefused for more recovered dead letters than an announcement can name.
        """
        by_spec = _by_spec(files)
        is_announced = bool(by_spec) or (self.mode is not None and self.mode.commits_without_files)
        if self.table is None or not is_announced:
            return None
        metadata = self.table.metadata
        if not by_spec:
            spec_id = metadata.default_spec_id
            by_spec[spec_id] = SpecFiles(spec_id, partition_type_of(metadata.spec(), metadata.schema()), ())
        seen = self.recovered if self.names_dead_letters else {}
        if sum(len(offsets.spans) for offsets in seen.values()) > MAX_SPANS:
            msg = (
                f"table {self.name!r} has rows of dead letters in more than {MAX_SPANS} spans of the offsets that are to be "
                "replaced: an announcement names no more. Nothing was announced; replay with a smaller max_records"
            )
            raise SliceRefused(msg)
        *namespace, name = self.name.split(".")
        return TableFiles(
            reference=TableReference(connector.catalog.name, tuple(namespace), name, metadata.table_uuid),
            branch=self.state.branch,
            schema_id=metadata.current_schema_id,
            new_ranges=self.new_offsets,
            routes=self.state.routes,
            files=tuple(by_spec.values()),
            seen=seen,
        )


def raise_if_none_is_left(tables: Sequence[SliceTable]) -> None:
    """Raise the first problem when no table takes anything of the slice."""
    problem = next((table.problem for table in tables if table.problem is not None), None)
    if problem is not None and not any(table.new_offsets for table in tables):
        raise problem


def new_target(name: str, connector: Connector) -> TableTarget:
    """Return what a worker receives about a table that does not exist."""
    schema = connector.schema
    rules = ColumnRules(
        evolve=schema.evolve,
        case_insensitive=schema.case_insensitive,
        on_conflict=schema.on_conflict,
        force_optional=schema.force_optional,
        debezium_types=schema.debezium_types,
        case_twins=schema.case_twins,
    )
    return TableTarget(name, rules=rules, transforms=connector.transforms)


def _refusal(name: str, problem: FloeError | None) -> str:
    """Describe why a record is a dead letter, and what to do; the end of it is never cut."""
    remedy = "; fix the table, then trigger the replay DAG with dead_letters"
    begin = f"table {clip(name, 80)!r} takes no rows: {' '.join(str(problem).split())}"
    return clip(begin.rstrip("."), REASON_LENGTH - len(remedy)) + remedy


def _whole(r: OffsetRange) -> Intervals:
    return Intervals.of([(r.start, r.end)])


def _by_spec(written: Iterable[SpecFiles]) -> dict[int, SpecFiles]:
    """Put the files of several tasks together by partition spec."""
    by_spec: dict[int, SpecFiles] = {}
    for spec in written:
        known = by_spec.get(spec.spec_id)
        files = spec.files if known is None else known.files + spec.files
        by_spec[spec.spec_id] = SpecFiles(spec.spec_id, (known or spec).partition_type, files)
    return by_spec
