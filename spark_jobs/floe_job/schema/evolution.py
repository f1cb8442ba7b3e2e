"""What a table lacks for the records of a slice: columns, wider types, columns that may be null."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyiceberg.schema import Schema, assign_fresh_schema_ids, index_by_id, index_by_name
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import DecimalType, IcebergType, ListType, MapType, NestedField, PrimitiveType, StructType

from floe.catalogs.pyiceberg_internals import changed_metadata, changed_schema
from floe.tables.exceptions import TableRefused
from floe_job.schema.inference import merge
from floe_job.schema.limits import ColumnLimits, in_any_case, reserved_names
from floe_job.schema.proposal import (
    ELEMENT,
    PLAIN,
    VALUE,
    ColumnRules,
    ListOf,
    MapOf,
    Path,
    Proposal,
    Required,
    StructOf,
    bare,
    count,
    iceberg_type,
    primitive,
)
from floe_job.types.coercion import identifiers, widest

__all__ = ["Path", "SchemaChanges"]

_ByName = Mapping[str, NestedField]


@dataclass
class SchemaChanges:
    """Columns to add, to promote and to make optional, by path, in record order.

    A path names the way from the table's root to the column: fields by name, what is inside a list as ``element``, inside
    a map as ``value``. Plain values only (a promotion is the text of its type), so that it can be sent between Spark's
    workers and the driver. ``rules`` decide what two proposals for one column become.
    """

    columns: dict[Path, Proposal] = field(default_factory=dict)
    promotions: dict[Path, str] = field(default_factory=dict)
    optional: dict[Path, None] = field(default_factory=dict)
    rules: ColumnRules = PLAIN

    def __bool__(self) -> bool:
        return bool(self.columns or self.promotions or self.optional)

    def __str__(self) -> str:
        return (
            f"{self.count()} columns to add, {len(self.promotions)} to promote, {len(self.optional)} to make optional"
        )

    def merge(self, other: SchemaChanges) -> None:
        """Add the changes of another batch, task or schema, whose rules are used if there were none yet.

        A column that only one of them has is optional, as the records of the other have no value for it.

        Raises SchemaConflict for two types of one new column, if the rules say so.
        """
        if not self:
            self.rules = other.rules
        if self.columns and other.columns:
            mine, theirs = set(map(self.same, self.columns)), set(map(self.same, other.columns))
            self.columns = {p: one if self.same(p) in theirs else bare(one) for p, one in self.columns.items()}
            self.update((p, one if self.same(p) in mine else bare(one)) for p, one in other.columns.items())
        else:
            self.update(other.columns)
        self.widen(other.promotions, other.optional)

    def widen(self, promotions: Mapping[Path, str], optional: Mapping[Path, None]) -> bool:
        """Add promotions, and columns that may be null; return whether any is new."""
        before = len(self.optional)
        self.optional.update(optional)
        is_new = len(self.optional) > before
        for path, text in promotions.items():
            known = self.promotions.get(path)
            self.promotions[path] = str(widest(primitive(known) if known else None, primitive(text)))
            is_new = is_new or self.promotions[path] != known
        return is_new

    def update(self, columns: Mapping[Path, Proposal] | Iterable[tuple[Path, Proposal]]) -> None:
        """Add columns by path, see ``merge``."""
        named = {self.same(path): path for path in self.columns}
        for path, proposal in columns.items() if isinstance(columns, Mapping) else columns:
            known = named.setdefault(self.same(path), path)
            so_far = self.columns.get(known)
            self.columns[known] = proposal if so_far is None else merge(so_far, proposal, self.rules, known)

    def same(self, path: Path) -> Path:
        """Return what paths have in common that mean one column."""
        return tuple(name.lower() for name in path) if self.rules.case_insensitive else path

    def count(self) -> int:
        """Count the columns to add, nested ones included."""
        return sum(count(proposal) for proposal in self.columns.values())

    def widened(self, schema: Schema) -> Schema:
        """Return ``schema`` with its columns promoted and made optional; those to be added are not in it."""
        if not self.promotions and not self.optional:
            return schema
        by_id = paths(schema)
        promoted = {i: primitive(self.promotions[path]) for i, path in by_id.items() if path in self.promotions}
        return widened(schema, promoted, {i for i, path in by_id.items() if path in self.optional})

    def beyond(self, schema: Schema) -> SchemaChanges:
        """Return what ``schema`` still lacks, e.g. after an update by another process.

        Changes that have become impossible (the column was removed, or has another type) are left out: the records are read
        again with the new schema.
        """
        known, required = columns(schema), identifiers(schema)
        missing = SchemaChanges(rules=self.rules)
        missing.update(self._beyond(schema))
        for path, text in self.promotions.items():
            if path in known and is_wider(known[path].field_type, primitive(text)):
                missing.promotions[path] = text
        for path in self.optional:
            if path in known and known[path].required and known[path].field_id not in required:
                missing.optional[path] = None
        return missing

    def _beyond(self, schema: Schema) -> Iterator[tuple[Path, Proposal]]:
        parents: dict[Path, _ByName | None] = {}
        for path, proposal in self.columns.items():
            above = path[:-1]
            if above not in parents:
                parent = resolve(schema.as_struct(), above)
                parents[above] = self._by_name(parent) if isinstance(parent, StructType) else None
            known = parents[above]
            if known is not None:
                yield from self._missing(known, path, proposal)

    def _by_name(self, parent: StructType) -> _ByName:
        """Return the columns of a struct by what spellings of their names have in common; of several the first."""
        fold = self.rules.case_insensitive
        return {(field.name.lower() if fold else field.name): field for field in reversed(parent.fields)}

    def _missing(self, known: _ByName, path: Path, proposal: Proposal) -> Iterator[tuple[Path, Proposal]]:
        column = known.get(self.same(path)[-1])
        if column is None:
            yield path, proposal
            return
        yield from self._missing_inside(column.field_type, (*path[:-1], column.name), proposal)

    def _missing_inside(self, known: IcebergType, path: Path, proposal: Proposal) -> Iterator[tuple[Path, Proposal]]:
        proposal = bare(proposal)
        if isinstance(known, StructType) and isinstance(proposal, StructOf):
            by_name = self._by_name(known)
            for name, inner in proposal.fields:
                yield from self._missing(by_name, (*path, name), inner)
        elif isinstance(known, ListType) and isinstance(proposal, ListOf):
            yield from self._missing_inside(known.element_type, (*path, ELEMENT), proposal.element)
        elif isinstance(known, MapType) and isinstance(proposal, StructOf):
            for _, inner in proposal.fields:
                yield from self._missing_inside(known.value_type, (*path, VALUE), inner)
        elif isinstance(known, MapType) and isinstance(proposal, MapOf):
            yield from self._missing_inside(known.value_type, (*path, VALUE), proposal.value)

    def apply(self, update: UpdateSchema) -> None:
        """Make one schema update of everything. What the schema already has, and what it cannot get, is left out.

        New columns are optional, what is inside them as proposed.

        Raises TableRefused for one that a transform adds and that the table cannot get.

        If the columns of several tasks are too many only together, or in conflict with each other,
        the later ones are left out: their records are rejected when they are read again.
        """
        missing = self.beyond(changed_schema(update))
        for path, text in missing.promotions.items():
            update.update_column(path, primitive(text))
        for path in missing.optional:
            update.make_column_optional(path)
        reserved = reserved_names(changed_metadata(update).partition_specs, changed_schema(update))
        admitted = dict(missing._admitted(changed_schema(update), reserved))
        missing._check_injected(admitted, changed_schema(update))
        for path, proposal in admitted.items():
            update.add_column(path, iceberg_type(proposal), required=False)

    def _check_injected(self, admitted: Collection[Path], schema: Schema) -> None:
        """Raise TableRefused for a column that a transform fills in and that the table cannot get: every record needs it."""
        path = next((path for path in self.columns if path[0] in self.rules.injected and path not in admitted), None)
        if path is None:
            return
        name = ".".join(path)
        twin = next((one for one in index_by_name(schema) if in_any_case(one) == in_any_case(name)), None)
        why = "the table has no room for it" if twin is None else f"it differs from the column {twin!r} by case only"
        msg = (
            f"the column {name!r}, which a transform adds, cannot be added: {why}. Nothing was written. Set another "
            "field_name for the transform, or rename or drop a column of the table"
        )
        raise TableRefused(msg, code="FLOE-413")

    def new_schema(self) -> Schema:
        """Return the schema of a table made from the columns to add, with fresh field ids."""
        fields = (
            NestedField(-1 - position, path[-1], iceberg_type(proposal), required=isinstance(proposal, Required))
            for position, (path, proposal) in enumerate(self._admitted(Schema()))
            if len(path) == 1
        )
        return assign_fresh_schema_ids(Schema(*fields))

    def _admitted(self, schema: Schema, reserved: Collection[str] = frozenset()) -> Iterator[tuple[Path, Proposal]]:
        """Yield the columns that the schema can get, one after the other, without what it cannot get inside them."""
        room = ColumnLimits({*index_by_name(schema), *reserved}, len(index_by_id(schema)), twins=self.rules.case_twins)
        for path, proposal in self.columns.items():
            admitted = room.admit(path, proposal)
            if admitted is not None:
                yield path, admitted


# The tree of a table's columns: found by path, known by id, widened.


def paths(schema: Schema) -> dict[int, Path]:
    """Return the paths of all columns by field id; what is inside a map's key has none."""
    return {nested.field_id: path for path, nested in _walk(schema.as_struct(), ())}


def columns(schema: Schema) -> dict[Path, NestedField]:
    """Return all columns by path, see ``paths``."""
    return dict(_walk(schema.as_struct(), ()))


def _walk(target: IcebergType, path: Path) -> Iterator[tuple[Path, NestedField]]:
    for nested in _inside(target):
        inner = (*path, nested.name)
        yield inner, nested
        yield from _walk(nested.field_type, inner)


def _inside(target: IcebergType) -> tuple[NestedField, ...]:
    if isinstance(target, StructType):
        return target.fields
    if isinstance(target, ListType):
        return (target.element_field,)
    return (target.value_field,) if isinstance(target, MapType) else ()


def resolve(parent: IcebergType, path: Path) -> IcebergType | None:
    """Follow a path of names; None where the table has changed and the path does not exist any more."""
    current: IcebergType = parent
    for name in path:
        found = next((field for field in _inside(current) if field.name == name), None)
        if found is None:
            return None
        current = found.field_type
    return current


def is_wider(known: IcebergType, wanted: PrimitiveType) -> bool:
    """Return whether a type can be promoted to another one by the rules of Iceberg v2."""
    if isinstance(known, DecimalType) and isinstance(wanted, DecimalType):
        return known.scale == wanted.scale and known.precision < wanted.precision
    return (str(known), str(wanted)) in {("int", "long"), ("float", "double")}


def widened(schema: Schema, promoted: Mapping[int, PrimitiveType], optional: Container[int]) -> Schema:
    """Return a schema with columns promoted, or made optional, by field id. Nothing is checked."""

    def of(target: IcebergType) -> IcebergType:
        if isinstance(target, StructType):
            return StructType(*map(column, target.fields))
        if isinstance(target, ListType):
            element = column(target.element_field)
            return ListType(target.element_id, element.field_type, element_required=element.required)
        if isinstance(target, MapType):
            entry = column(target.value_field)
            return MapType(
                target.key_id, target.key_type, target.value_id, entry.field_type, value_required=entry.required
            )
        return target

    def column(known: NestedField) -> NestedField:
        return NestedField(
            known.field_id,
            known.name,
            promoted.get(known.field_id) or of(known.field_type),
            required=known.required and known.field_id not in optional,
        )

    return Schema(*map(column, schema.fields), schema_id=schema.schema_id)
