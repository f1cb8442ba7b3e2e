"""How the schemas of tables follow the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from floe.config.keys.reader import Settings

CASE = "floe.schema.case"
ON_CONFLICT, ON_UNSUITABLE = "floe.schema.on-conflict", "floe.partition.on-unsuitable"

OnConflict = Literal["dead-letter", "string", "fail"]
OnUnsuitable = Literal["fail", "unpartitioned"]


@dataclass(frozen=True)
class SchemaRules:
    """``evolve``: new columns of records are added, types widened. ``case_insensitive``: how a field finds its column.
    ``on_conflict``: what to do with two types for one new column in one run. ``on_unsuitable``: what to do with a
    partitioning that does not fit a new table's columns. ``force_optional``: nothing in a new column is required.
    ``debezium_types``: Debezium's semantic types are read as what they mean. ``case_twins``: new columns may have names that
    differ from others by case only.
    """

    evolve: bool = False
    case_insensitive: bool = False
    on_conflict: OnConflict = "dead-letter"
    on_unsuitable: OnUnsuitable = "fail"
    force_optional: bool = False
    debezium_types: bool = False
    case_twins: bool = False


def read_schema_rules(settings: Settings) -> SchemaRules:
    """Read the rules; problems are noted."""
    on_conflict, on_unsuitable = settings.text(ON_CONFLICT), settings.text(ON_UNSUITABLE)
    if on_conflict not in ("dead-letter", "string", "fail"):
        settings.problems.append(
            f"{ON_CONFLICT} {on_conflict[:100]!r} is not supported: set dead-letter, string or fail"
        )
    if on_unsuitable not in ("fail", "unpartitioned"):
        settings.problems.append(f"{ON_UNSUITABLE} {on_unsuitable[:100]!r} is not supported: set fail or unpartitioned")
    case = settings.text(CASE)
    if case not in ("unique", "sensitive"):
        settings.problems.append(f"{CASE} {case[:100]!r} is not supported: set unique or sensitive")
    return SchemaRules(
        evolve=settings.boolean("iceberg.tables.evolve-schema-enabled"),
        case_insensitive=settings.boolean("iceberg.tables.schema-case-insensitive"),
        on_conflict="string" if on_conflict == "string" else "fail" if on_conflict == "fail" else "dead-letter",
        on_unsuitable="unpartitioned" if on_unsuitable == "unpartitioned" else "fail",
        force_optional=settings.boolean("iceberg.tables.schema-force-optional"),
        debezium_types=settings.boolean("floe.debezium.types"),
        case_twins=case == "sensitive",
    )
