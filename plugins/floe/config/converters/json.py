"""The options of Kafka's ``JsonConverter``."""

from typing import Final

from floe.config.converters.base import JSON, ConverterSpec, Role
from floe.config.keys.option_reader import OptionReader

SCHEMAS_ENABLE: Final = "schemas.enable"


def read_json(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options: whether values have the envelope of a schema, which is Connect's default."""
    if options.boolean(SCHEMAS_ENABLE, True):
        how = "true" if SCHEMAS_ENABLE in options.options else "not given, which means true"
        options.refuse(
            None,
            f"{options.prefix}{SCHEMAS_ENABLE} is {how}, and values with a schema envelope are not supported yet: set it "
            "to false if the values are plain JSON",
        )
    return ConverterSpec(JSON, role=role)
