"""The settings of the sink's ``MongoDebeziumTransform``: the documents in change events become structs."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import TopicKept, TransformClass, of_job

_ARRAYS: Final = "array_handling_mode"


@dataclass(frozen=True)
class MongoChange(TopicKept):
    """``as_documents``: arrays become structs with a field for each element."""

    engine: ClassVar = of_job("iceberg.mongo:MongoChanges")

    as_documents: bool = False

    @property
    def reads_keys(self) -> bool:
        return True


def read_mongo_change(problems: list[str], prefix: str, keys: Properties) -> MongoChange | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    mode = options.text(_ARRAYS).lower() or "array"
    if mode not in ("array", "document"):
        options.refuse_value(_ARRAYS, "is none of array, document: write one of these")
    problems += options.problems
    return None if options.problems else MongoChange(mode == "document")


CLASS: Final = TransformClass(
    "org.apache.iceberg.connect.transforms.MongoDebeziumTransform", (_ARRAYS,), read_mongo_change
)
