"""The settings of Debezium's transforms ``ExtractNewRecordState`` and ``ExtractNewDocumentState``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import TopicKept, TransformClass, TransformOptions, of_job

# References to parts of a change event: what ``add.fields`` and ``add.headers`` name.


PREFIX: Final = "__"
_SHOWN_CHARACTERS: Final = 100
_TOP: Final = ("op", "ts_ms", "ts_us", "ts_ns")
_OF_TRANSACTION: Final = ("id", "data_collection_order", "total_order")
_OF_ITSELF: Final = "updateDescription"


@dataclass(frozen=True)
class EventReference:
    """A part of an event. ``struct``: what it is in, None for the event itself; ``name``: that of the new field or header."""

    struct: str | None
    field: str
    name: str


def references_of(options: OptionReader, key: str, prefix_key: str) -> tuple[EventReference, ...]:
    """Read a list of references, and the prefix of their names; problems are noted in ``options``."""
    options.used.add(prefix_key)
    prefix = options.options.get(prefix_key, PREFIX)
    found = []
    for text in (part.strip() for part in options.text(key).split(",")):
        if not text:
            continue
        reference = _reference(text, prefix)
        if reference is None:
            shown = repr(text[:_SHOWN_CHARACTERS])
            options.refuse_value(key, f"{shown} is no part of an event: write field, struct.field or field:name")
        else:
            found.append(reference)
    twice = [name for name, count in Counter(one.name for one in found).items() if count > 1]
    if twice:
        options.refuse_value(
            key, f"gives the name {twice[0][:_SHOWN_CHARACTERS]!r} twice: write field:name for one of them"
        )
    return tuple(found)


def _reference(text: str, prefix: str) -> EventReference | None:
    """Read a reference as Debezium does: what follows a second dot does not count."""
    parts = text.rstrip(":").split(":")
    path = parts[0].rstrip(".").split(".")
    if len(parts) > 2 or not path[0] or (len(path) > 1 and not path[1]):
        return None
    field = path[0] if len(path) == 1 else path[1]
    struct = _struct_of(field) if len(path) == 1 else path[0]
    own = field if len(path) == 1 else f"{struct}_{field}"
    return EventReference(struct, field, prefix + (own if len(parts) == 1 else parts[1]))


def _struct_of(field: str) -> str | None:
    if field in _TOP:
        return None
    if field == _OF_ITSELF:
        return _OF_ITSELF
    return "transaction" if field in _OF_TRANSACTION else "source"


# What Debezium's transforms make of deletes and of tombstones: the keys of Debezium 3, and those of its versions
# before.


DROP_TOMBSTONES: Final = "drop.tombstones"
HANDLE_DELETES: Final = "delete.handling.mode"
HANDLE_BOTH: Final = "delete.tombstone.handling.mode"
KEYS: Final = (HANDLE_BOTH, DROP_TOMBSTONES, HANDLE_DELETES)


class Deletes(StrEnum):
    """What becomes of the event of a delete."""

    DROP = "drop"
    """The record is left out."""
    TOMBSTONE = "tombstone"
    """The record becomes a tombstone."""
    REWRITE = "rewrite"
    """The row before the delete is written, with a field that says so."""


class Handling(NamedTuple):
    """What becomes of deletes, and whether tombstones stay."""

    deletes: Deletes
    keeps_tombstones: bool


_BOTH: Final = {
    "drop": Handling(Deletes.DROP, False),
    "tombstone": Handling(Deletes.TOMBSTONE, False),
    "rewrite": Handling(Deletes.REWRITE, False),
    "rewrite-with-tombstone": Handling(Deletes.REWRITE, True),
    "delete-to-tombstone": Handling(Deletes.TOMBSTONE, False),
}
_DELETES: Final = {"drop": Deletes.DROP, "rewrite": Deletes.REWRITE, "none": Deletes.TOMBSTONE}


def read_handling(options: OptionReader) -> Handling:
    """Read the keys of either version; problems are noted in ``options``.

    Without any of them it is what Debezium 3 does: deletes become tombstones, and tombstones are left out.
    """
    mode = _choice(options, HANDLE_BOTH, tuple(_BOTH))
    deletes = _choice(options, HANDLE_DELETES, tuple(_DELETES))
    drops = options.boolean(DROP_TOMBSTONES, True)
    gives_tombstones = options.key(DROP_TOMBSTONES) is not None
    if not mode:
        if not deletes and not gives_tombstones:
            return _BOTH["tombstone"]
        return Handling(_DELETES[deletes or "drop"], not drops)
    handling = _BOTH[mode]
    if deletes and _DELETES[deletes] is not handling.deletes:
        options.refuse_value(HANDLE_DELETES, f"contradicts {HANDLE_BOTH}={mode}: remove it")
    if gives_tombstones and drops is handling.keeps_tombstones:
        options.refuse_value(DROP_TOMBSTONES, f"contradicts {HANDLE_BOTH}={mode}: remove it")
    return handling


def _choice(options: OptionReader, key: str, known: tuple[str, ...]) -> str:
    text = options.text(key).lower()
    if not text or text in known:
        return text
    options.refuse_value(key, f"is none of {', '.join(known)}: write one of these")
    return ""


# The settings of Debezium's ``ExtractNewRecordState``: rows out of change events of a database.


_FIELDS, _FIELDS_PREFIX = "add.fields", "add.fields.prefix"
_HEADERS, _HEADERS_PREFIX = "add.headers", "add.headers.prefix"
_ROUTE: Final = "route.by.field"
_DROP_HEADER, _DROP_FROM_KEY = "drop.fields.header.name", "drop.fields.from.key"
_DROP_COMPATIBLE: Final = "drop.fields.keep.schema.compatible"
_FILL: Final = "replace.null.with.default"


@dataclass(frozen=True)
class NewRecordState(TransformOptions):
    """``fields``, ``headers``: what is added. ``route_by``: the field whose value becomes the topic, "" for none.

    ``drop_header``: the header that names fields to leave out, "" for none; ``drops_from_key``: of the key too;
    ``drops_optional``: only those that are optional. ``fills_defaults``: nulls of rows become defaults.
    """

    engine: ClassVar = of_job("debezium.new_record_state:NewRecordStates", reads="columns")

    deletes: Deletes = Deletes.TOMBSTONE
    keeps_tombstones: bool = False
    fields: tuple[EventReference, ...] = ()
    headers: tuple[EventReference, ...] = ()
    route_by: str = ""
    drop_header: str = ""
    drops_from_key: bool = False
    drops_optional: bool = True
    fills_defaults: bool = False

    @property
    def reads_keys(self) -> bool:
        return bool(self.drop_header) and self.drops_from_key

    @property
    def renames_topic(self) -> bool:
        return bool(self.route_by)


def read_new_record_state(problems: list[str], prefix: str, keys: Properties) -> NewRecordState | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    handling = read_handling(options)
    found = NewRecordState(
        deletes=handling.deletes,
        keeps_tombstones=handling.keeps_tombstones,
        fields=references_of(options, _FIELDS, _FIELDS_PREFIX),
        headers=references_of(options, _HEADERS, _HEADERS_PREFIX),
        route_by=options.text(_ROUTE),
        drop_header=options.text(_DROP_HEADER),
        drops_from_key=options.boolean(_DROP_FROM_KEY, False),
        drops_optional=options.boolean(_DROP_COMPATIBLE, True),
        fills_defaults=options.boolean(_FILL, False),
    )
    problems += options.problems
    return None if options.problems else found


NEW_RECORD_STATE: Final = TransformClass(
    "io.debezium.transforms.ExtractNewRecordState",
    (
        *(*KEYS, _FIELDS, _FIELDS_PREFIX, _HEADERS, _HEADERS_PREFIX),
        *(_ROUTE, _DROP_HEADER, _DROP_FROM_KEY, _DROP_COMPATIBLE, _FILL),
    ),
    read_new_record_state,
)


# The settings of Debezium's ``ExtractNewDocumentState``: rows out of change events of MongoDB.


_ARRAYS: Final = "array.encoding"
_FLATTEN, _DELIMITER = "flatten.struct", "flatten.struct.delimiter"
_WITH_ID: Final = "delete.tombstone.handling.mode.rewrite-with-id"
_MAX_DELIMITER: Final = 20


@dataclass(frozen=True)
class NewDocumentState(TopicKept):
    """``fields``, ``headers``: what is added. ``as_documents``: arrays become structs with a field for each element.

    ``delimiter``: between the names of fields, where structs are flattened; None where they are not. ``with_id``: rewritten
    deletes get the id of their key.
    """

    engine: ClassVar = of_job("debezium.new_document_state:NewDocumentStates")

    deletes: Deletes = Deletes.TOMBSTONE
    keeps_tombstones: bool = False
    fields: tuple[EventReference, ...] = ()
    headers: tuple[EventReference, ...] = ()
    as_documents: bool = False
    delimiter: str | None = None
    with_id: bool = False

    @property
    def reads_keys(self) -> bool:
        return True


def read_new_document_state(problems: list[str], prefix: str, keys: Properties) -> NewDocumentState | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    handling = read_handling(options)
    encoding = options.text(_ARRAYS).lower() or "array"
    if encoding not in ("array", "document"):
        options.refuse_value(_ARRAYS, "is none of array, document: write one of these")
    delimiter = keys.get(_DELIMITER, "_")
    if len(delimiter) > _MAX_DELIMITER:
        options.refuse_value(_DELIMITER, f"is longer than {_MAX_DELIMITER} characters: write a shorter one")
    found = NewDocumentState(
        deletes=handling.deletes,
        keeps_tombstones=handling.keeps_tombstones,
        fields=references_of(options, _FIELDS, _FIELDS_PREFIX),
        headers=references_of(options, _HEADERS, _HEADERS_PREFIX),
        as_documents=encoding == "document",
        delimiter=delimiter if options.boolean(_FLATTEN, False) else None,
        with_id=options.boolean(_WITH_ID, False),
    )
    problems += options.problems
    return None if options.problems else found


NEW_DOCUMENT_STATE: Final = TransformClass(
    "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    (*KEYS, _FIELDS, _FIELDS_PREFIX, _HEADERS, _HEADERS_PREFIX, _ARRAYS, _FLATTEN, _DELIMITER, _WITH_ID),
    read_new_document_state,
)
