"""The settings of Debezium's ``ExtractNewRecordState``: rows out of change events of a database."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.debezium.deletes import KEYS, Deletes, read_handling
from floe.config.transforms.debezium.reference import Reference, references_of
from floe.config.transforms.options import TransformClass, TransformOptions, of_job

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
    fields: tuple[Reference, ...] = ()
    headers: tuple[Reference, ...] = ()
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


CLASS: Final = TransformClass(
    "io.debezium.transforms.ExtractNewRecordState",
    (
        *(*KEYS, _FIELDS, _FIELDS_PREFIX, _HEADERS, _HEADERS_PREFIX),
        *(_ROUTE, _DROP_HEADER, _DROP_FROM_KEY, _DROP_COMPATIBLE, _FILL),
    ),
    read_new_record_state,
)
