"""How the records of one table find their columns, and what becomes of those that the table lacks."""

from dataclasses import dataclass
from typing import Literal

OnConflict = Literal["dead-letter", "string", "fail"]

ON_CONFLICT_KEY = "floe.schema.on-conflict"


@dataclass(frozen=True)
class ColumnRules:
    """The connector's rules for columns.

    ``evolve``: add columns, promote types, make columns optional. ``case_insensitive``: look columns up without regard to
    case; ignored where the table has a name mapping. ``on_conflict``: what two types for one new column become.
    ``injected``: top-level names that a transform fills in beside the record; fields of these names in a record are
    ignored. ``taken``: full names of all columns of such a transform: they count, and no column of a record may get one of
    them. ``reserved``: full names that partition fields of the table have, and so no new column may. ``force_optional``:
    nothing in a new column is required, whatever the schema of its values says. ``debezium_types``: Debezium's semantic types
    are read as what they mean. ``case_twins``: new columns may differ from others by case only, which most engines cannot
    read.
    """

    evolve: bool = False
    case_insensitive: bool = False
    on_conflict: OnConflict = "dead-letter"
    injected: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()
    force_optional: bool = False
    debezium_types: bool = False
    case_twins: bool = False


PLAIN = ColumnRules()
