"""The tables of a slice in one round, and what tasks receive about them. Immutable: each round makes new ones."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from floe.config import Connector
from floe.config.sections.transforms import reads_keys
from floe.model.dead_letters import DeadLetterOffsets
from floe_job.contract.target import TableTarget
from floe_job.contract.task import RouteRules
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_table import SliceTable, new_target
from floe_job.exceptions import BadRecords


@dataclass(frozen=True)
class SliceTables:
    """Tables by name. ``are_all``: no record can name another one. ``recent``: those that earlier runs wrote to."""

    by_name: Mapping[str, SliceTable] = field(default_factory=dict)
    are_all: bool = False
    recent: frozenset[str] = frozenset()

    @property
    def refusing(self) -> list[SliceTable]:
        """The tables that take nothing."""
        return [table for table in self.by_name.values() if table.problem is not None]

    def including(self, tables: Iterable[SliceTable]) -> "SliceTables":
        """Return the tables with some added, or in another state."""
        return replace(self, by_name={**self.by_name, **{table.name: table for table in tables}})

    def without(self, names: Collection[str]) -> "SliceTables":
        """Return the tables without some of them."""
        return replace(self, by_name={name: table for name, table in self.by_name.items() if name not in names})

    def found_in(self, later: "SliceTables") -> bool:
        """Whether one of these tables was created, or began to refuse, since then."""
        return any(
            (now := later.by_name.get(name)) is not None and _existence(now) != _existence(table)
            for name, table in self.by_name.items()
        )

    def without_columns(self, job: SliceJob, assigned: Mapping[str, int]) -> list[str]:
        """Return tables that cannot be created, because none of their records has a field; ``assigned``: rows by table.

        Raises BadRecords where the connector names the table.
        """
        names = [
            name
            for name, rows in assigned.items()
            if rows and (table := self.by_name.get(name)) is not None and table.state.is_new
        ]
        for name in names:
            if not job.connector.routing.is_dynamic or name in job.slice.tables:
                msg = (
                    f"table {name!r} cannot be created: none of the {assigned[name]} records has a field with a "
                    "value. Nothing was announced; create the table yourself, or wait for records with fields."
                )
                raise BadRecords(msg)
        return names

    # -- what tasks receive -------------------------------------------------------------------------------------------

    def targets(self, job: SliceJob, open_dead_letters: DeadLetterOffsets) -> tuple[TableTarget, ...]:
        """Return what tasks receive about each table."""
        return tuple(table.target(job, open_dead_letters) for table in self.by_name.values())

    def assumed_target(self, connector: Connector) -> TableTarget | None:
        """Return the target assumed for an unknown table; None where floe may not create it."""
        return None if self.are_all or not connector.creation.is_on else new_target("", connector)

    def route_rules(self, job: SliceJob) -> RouteRules:
        """Return what tasks need to route."""
        connector = job.connector
        needs_keys = connector.routing.by == "key" or reads_keys(connector.transforms)
        return RouteRules(
            routing=connector.routing,
            tables=tuple((name, connector.table(name)) for name in connector.tables),
            only=None if job.is_for_all_tables else frozenset(job.slice.tables),
            rejects_records=job.rejects_records,
            reserved=(job.plan.dead_letters or "").lower() or None,
            closed=unknown_table_reason(connector) if self.are_all else None,
            redriven=job.slice.dead_letters if job.is_redrive else None,
            value_converter=connector.value_converter,
            key_converter=connector.key_converter if needs_keys else None,
            transforms=connector.transforms,
        )


def unknown_table_reason(connector: Connector) -> str:
    """Return why a table that records name does not exist."""
    if not connector.creation.is_on:
        return "does not exist, and iceberg.tables.auto-create-enabled is false"
    return (
        "does not exist, and this run creates none beyond floe.route.max-new-tables "
        f"({connector.routing.max_new_tables}), nor one whose records have no field"
    )


def _existence(table: SliceTable) -> tuple[bool, bool]:
    return table.table is not None, table.problem is not None
