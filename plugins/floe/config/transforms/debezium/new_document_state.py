"""The settings of Debezium's ``ExtractNewDocumentState``: rows out of change events of MongoDB."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.debezium.deletes import KEYS, Deletes, read_handling
from floe.config.transforms.debezium.reference import Reference, references_of
from floe.config.transforms.options import TopicKept, TransformClass, of_job

_FIELDS, _FIELDS_PREFIX = "add.fields", "add.fields.prefix"
_HEADERS, _HEADERS_PREFIX = "add.headers", "add.headers.prefix"
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
    fields: tuple[Reference, ...] = ()
    headers: tuple[Reference, ...] = ()
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


CLASS: Final = TransformClass(
    "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    (*KEYS, _FIELDS, _FIELDS_PREFIX, _HEADERS, _HEADERS_PREFIX, _ARRAYS, _FLATTEN, _DELIMITER, _WITH_ID),
    read_new_document_state,
)
