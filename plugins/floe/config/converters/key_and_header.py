"""The converters of keys and headers, for what needs these decoded. Nothing does yet.

So a connector is not refused for them: that their keys have no effect is noted where all keys are checked.
"""

from typing import Final, Literal

from floe.config.converters.base import ConverterSpec, prefix_of
from floe.config.converters.registry import converter_of
from floe.config.keys.option_reader import OptionReader
from floe.config.keys.reader import Settings
from floe.config.registry.connection import KEY as CONNECTION

DEFAULTS: Final[dict[str, str]] = {"header": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}
"""The class of a role for which none is given: Kafka Connect has one for headers."""


def read_key_or_header(settings: Settings, role: Literal["key", "header"]) -> ConverterSpec | None:
    """Read the converter of a role; None if none is given, or one that floe cannot use, or not with these options."""
    given = settings.text(f"{role}.converter")
    converter = converter_of(given or DEFAULTS.get(role, ""), role)
    if converter is None:
        return None
    prefix = prefix_of(role)
    connection = settings.text(CONNECTION)
    options = OptionReader(settings.properties.under(prefix) if given else {}, prefix, connection=connection)
    spec = converter.read(options, role)
    return None if options.problems else spec
