"""The columns that records bring and their table does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from floe_job.infer import ListOf, Proposal, StructOf, count, iceberg_type, merge

Path = tuple[str, ...]


@dataclass
class SchemaNeeds:
    """Columns to add, by path, in record order.

    A path names the way from the table's root to the new column: fields by name, what is inside a list as ``element``,
    inside a map as ``value``. Plain values only, so that it travels between Spark's workers and the driver.
    """

    columns: dict[Path, Proposal] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.columns)

    def merge(self, other: SchemaNeeds) -> None:
        """Take in the needs of another batch or task; of two types for one column the first one wins."""
        self.update(other.columns)

    def update(self, columns: Mapping[Path, Proposal]) -> None:
        """Take in proposals by path, see ``merge``."""
        for path, proposal in columns.items():
            known = self.columns.get(path)
            self.columns[path] = proposal if known is None else merge(known, proposal)

    def count(self) -> int:
        """Count the columns to add, nested ones included."""
        return sum(count(proposal) for proposal in self.columns.values())

    def full_names(self) -> Iterator[str]:
        """Yield the dotted names by which Iceberg finds the columns."""
        for path, proposal in self.columns.items():
            yield from _full_names(".".join(path), proposal)

    def beyond(self, schema: Schema) -> SchemaNeeds:
        """Return what ``schema`` still lacks, e.g. after somebody else's update."""
        lacking = SchemaNeeds()
        for path, proposal in self._beyond(schema):
            lacking.update({path: proposal})
        return lacking

    def _beyond(self, schema: Schema) -> Iterator[tuple[Path, Proposal]]:
        for path, proposal in self.columns.items():
            parent = _resolve(schema.as_struct(), path[:-1])
            if isinstance(parent, StructType):
                yield from _lacking(parent, path, proposal)

    def apply(self, update: UpdateSchema) -> None:
        """Add the columns, all optional, to a schema update; those that the schema has by now are left out."""
        for path, proposal in self.beyond(update._schema).columns.items():
            update.add_column(path, iceberg_type(proposal), required=False)

    def new_schema(self) -> Schema:
        """Return the schema of a table made from these columns, with fresh field ids."""
        fields = (
            NestedField(field_id=-1 - position, name=path[-1], field_type=iceberg_type(proposal), required=False)
            for position, (path, proposal) in enumerate(self.columns.items())
            if len(path) == 1
        )
        return assign_fresh_schema_ids(Schema(*fields))


def _full_names(name: str, proposal: Proposal) -> Iterator[str]:
    yield name
    if isinstance(proposal, ListOf):
        yield from _full_names(f"{name}.element", proposal.element)
    elif isinstance(proposal, StructOf):
        for field_name, inner in proposal.fields:
            yield from _full_names(f"{name}.{field_name}", inner)


def _resolve(parent: IcebergType, path: Path) -> IcebergType | None:
    """Walk a path of names; None where the table has changed and it leads nowhere."""
    current: IcebergType | None = parent
    for name in path:
        if isinstance(current, StructType):
            found = next((column for column in current.fields if column.name == name), None)
            current = found.field_type if found else None
        elif isinstance(current, ListType):
            current = current.element_type
        elif isinstance(current, MapType):
            current = current.value_type
        else:
            return None
    return current


def _lacking(parent: StructType, path: Path, proposal: Proposal) -> Iterator[tuple[Path, Proposal]]:
    column = next((column for column in parent.fields if column.name == path[-1]), None)
    if column is None:
        yield path, proposal
        return
    yield from _lacking_inside(column.field_type, path, proposal)


def _lacking_inside(known: IcebergType, path: Path, proposal: Proposal) -> Iterator[tuple[Path, Proposal]]:
    if isinstance(known, StructType) and isinstance(proposal, StructOf):
        for name, inner in proposal.fields:
            yield from _lacking(known, (*path, name), inner)
    elif isinstance(known, ListType) and isinstance(proposal, ListOf):
        yield from _lacking_inside(known.element_type, (*path, "element"), proposal.element)
    elif isinstance(known, MapType) and isinstance(proposal, StructOf):
        for _, inner in proposal.fields:
            yield from _lacking_inside(known.value_type, (*path, "value"), inner)
