"""The settings of Kafka's ``SetSchemaMetadata``: another name or version of the schema."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.key import Kind
from floe.config.keys.option_reader import OptionReader
from floe.config.keys.values import InvalidValue, parse_integer
from floe.config.transforms.kafka.sides import FILLS, Sided, sided_classes, text_of
from floe.config.transforms.options import By, Side, of_job

_NAME, _VERSION = "schema.name", "schema.version"


@dataclass(frozen=True)
class SetSchemaMetadata(Sided):
    """``name``, ``version``: None for the schema's own."""

    engine: ClassVar = of_job("kafka.schema_metadata:SchemaMetadataChange", changes="side", reads="columns")

    name: str | None = None
    version: int | None = None

    def changes_routing(self, by: By, name: str) -> bool:
        return False


def _read(options: OptionReader, side: Side) -> SetSchemaMetadata | None:
    name, version = text_of(options, _NAME), None
    if text_of(options, _VERSION) is not None:
        try:
            version = parse_integer(options.prefix + _VERSION, Kind.INT, options.options[_VERSION])
        except InvalidValue as error:
            options.problems.append(str(error))
    elif name is None:
        options.problems.append(
            f"Neither schema name nor version configured: set {options.prefix}{_NAME} or {options.prefix}{_VERSION}"
        )
    return SetSchemaMetadata(side, options.boolean(FILLS, False), name, version)


CLASSES: Final = sided_classes("SetSchemaMetadata", (_NAME, _VERSION, FILLS), _read)
