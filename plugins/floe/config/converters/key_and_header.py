"""The converters of keys and headers, for what needs these decoded: of keys the route, of headers nothing yet.

A connector is not refused for one that nothing needs: it is noted that its keys have no effect.
"""

from collections.abc import Sequence
from typing import Final, Literal

from floe.config.converters.base import ConverterSpec, prefix_of
from floe.config.converters.kinds import PLAIN_KINDS
from floe.config.converters.registry import converter_of, read_converter, spec_of
from floe.config.keys.option_reader import OptionReader
from floe.config.keys.reader import Settings
from floe.config.registry.connection import KEY as CONNECTION
from floe.config.sections.routing import BY, FIELD, Routing
from floe.config.sections.transforms import TransformSpec

DEFAULTS: Final[dict[str, str]] = {"header": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}
"""The class of a role for which none is given: Kafka Connect has one for headers."""

_KEY: Final = "key.converter"
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_SHOWN_CHARACTERS: Final = 200


def read_key_converter(
    settings: Settings, routing: Routing, transforms: Sequence[TransformSpec] = ()
) -> ConverterSpec | None:
    """Read the converter of keys. Where nothing needs them decoded, one that floe cannot use is None, and no problem."""
    reader = next((spec for spec in transforms if spec.options.reads_keys), None)
    if reader is not None and not (routing.by == "key" and routing.path):
        if settings.text(_KEY):
            return read_converter(settings, "key")
        settings.problems.append(
            f"transform {reader.alias!r} reads keys, but no {_KEY} is given, neither by the connector nor by "
            f"{settings.worker}: name the class that the keys are written for"
        )
        return None
    if routing.by != "key":
        settings.warnings.extend(
            f"{key[:_SHOWN_CHARACTERS]} has no effect: keys are copied as they are, {BY} is not key, and no transform "
            "reads them"
            for key in settings.properties
            if (key == _KEY or key.startswith(f"{_KEY}.")) and settings.is_own(key)
        )
        return read_key_or_header(settings, "key")
    name = settings.text(_KEY)
    field = f"{FIELD} {'.'.join(routing.path)[:_SHOWN_CHARACTERS]!r} is a field of the key with {BY}=key"
    if not name:
        if routing.path:
            settings.problems.append(
                f"{field}, but no {_KEY} is given, neither by the connector nor by {settings.worker}: name the class that "
                "the keys are written for, or remove the field"
            )
        return None
    spec = read_converter(settings, "key")
    if converter_of(name, "key") is None:
        settings.problems[-1] += f". For a route by the bytes of keys as text set {_BYTES}"
    elif routing.path and spec.kind in PLAIN_KINDS:
        settings.problems.append(
            f"{field}, but {_KEY} {name[:_SHOWN_CHARACTERS]!r} gives keys without fields: remove one"
        )
    return spec


def read_key_or_header(settings: Settings, role: Literal["key", "header"]) -> ConverterSpec | None:
    """Read the converter of a role; None if none is given, or one that floe cannot use, or not with these options."""
    given = settings.text(f"{role}.converter")
    name = given or DEFAULTS.get(role, "")
    if converter_of(name, role) is None:
        return None
    prefix = prefix_of(role)
    connection = settings.text(CONNECTION)
    options = OptionReader(settings.properties.under(prefix) if given else {}, prefix, connection=connection)
    spec = spec_of(name, role, options)
    return None if options.problems else spec
