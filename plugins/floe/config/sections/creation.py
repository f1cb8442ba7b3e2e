"""Tables that a connector creates, and the properties that it gives tables and files."""

from dataclasses import dataclass
from typing import Final

from floe.config.keys.reader import Settings
from floe.config.libraries.library_settings import TABLE_NAMES, unknown_settings
from floe.config.libraries.table_property_names import FORMAT_VERSION
from floe.config.properties import Properties
from floe.config.sections.table_properties import (
    is_icebergs,
    is_meant_for_iceberg,
    misplaced,
    property_advice,
    unusable_for_commits,
    unusable_for_files,
)

_CREATE: Final = "iceberg.tables.auto-create-props."
_DISTRIBUTION: Final = "write.distribution-mode"


@dataclass(frozen=True)
class TableCreation:
    """``is_on``: missing tables are created, with ``properties``."""

    is_on: bool
    properties: Properties


def read_creation(settings: Settings) -> TableCreation:
    """Read what new tables are; problems are noted."""
    return TableCreation(
        is_on=settings.boolean("iceberg.tables.auto-create-enabled"),
        properties=_read_table_props(settings, _CREATE, free_text=True),
    )


def read_write_props(settings: Settings) -> Properties:
    """Read the properties of tables that the connector sets over their own, for files."""
    found = _read_table_props(settings, "iceberg.table.write-props.", "iceberg.tables.write-props.")
    if FORMAT_VERSION in found:
        settings.warnings.append(
            f"iceberg.tables.write-props.{FORMAT_VERSION} has no effect: these are for files, and a table has its format. "
            f"Set {_CREATE}{FORMAT_VERSION} for new tables"
        )
    return found


def _read_table_props(settings: Settings, *prefixes: str, free_text: bool = False) -> Properties:
    """Read properties of tables; ``free_text``: those outside Iceberg's name spaces may have any value."""
    taken: dict[str, str] = {}
    for prefix in prefixes:
        taken |= settings.properties.under(prefix)
    prefix = prefixes[-1]
    wrong = list(misplaced(taken))
    settings.problems += [f"{prefix}{problem}" for problem in wrong]
    named = [key for key in taken if not free_text or is_icebergs(key)]
    if free_text:
        named += [key for key in taken if key not in named and is_meant_for_iceberg(key)]
    if not wrong:
        settings.problems += unknown_settings(
            prefix, named, TABLE_NAMES, "Iceberg's tables", lambda name: property_advice(prefix, name)
        )
    settings.problems += [
        f"{prefix}{problem}" for problem in (*unusable_for_files(taken), *unusable_for_commits(taken))
    ]
    if taken.get(_DISTRIBUTION, "none").strip().lower() == "range":
        settings.warnings.append(
            f"{prefix}{_DISTRIBUTION} range is taken as hash: a stream has no ranges to sort by; set hash"
        )
    return Properties(taken)
