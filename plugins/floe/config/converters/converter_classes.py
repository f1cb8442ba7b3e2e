"""The converter classes of Kafka Connect that floe reads, what is said of others, and where converters are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from floe.config.converters import avro, ext_json, json, json_schema, plain, protobuf
from floe.config.converters.base import PLAIN_JSON, ConverterClass, ConverterSpec, Role, prefix_of
from floe.config.converters.json import JSON_CONVERTER, SCHEMAS_ENABLE
from floe.config.converters.kinds import ENGINES, PLAIN_KINDS
from floe.config.engine import Engine
from floe.config.extensions import Registry, unknown_hint, unusable
from floe.config.keys.reader import OptionReader, Settings
from floe.config.schema_registry.connection import KEY as CONNECTION
from floe.config.sections.routing import BY, FIELD, Routing
from floe.config.sections.transforms import TransformSpec

_SUFFIX: Final = "Converter"
_SHOWN_CHARACTERS: Final = 100


def _spellings(name: str) -> tuple[str, ...]:
    """Return how a class may be named: in full, by its simple name, and by that without ``Converter``, as Connect does."""
    simple = name.rpartition(".")[2]
    return name, simple, simple.removesuffix(_SUFFIX)


CONVERTERS: Final = Registry(
    "floe.converters",
    ConverterClass,
    {
        **json.CLASSES,
        **plain.CLASSES,
        **avro.CLASSES,
        **protobuf.CLASSES,
        **json_schema.CLASSES,
        **ext_json.CLASSES,
    },
    spell=_spellings,
)
"""By Java class. A new converter of floe's needs a line here, and its kind one in ``kinds.ENGINES``."""


_APIS: Final = "floe reads those with Confluent's API, and Apicurio's. Have producers use one, and name its converter"
_CLIENTS: Final = "is a class of Kafka's clients, and no converter: set"
_REFUSED: Final = {
    "io.confluent.kafka.serializers.KafkaAvro": f"{_CLIENTS} io.confluent.connect.avro.AvroConverter",
    "io.confluent.kafka.serializers.protobuf.": f"{_CLIENTS} io.confluent.connect.protobuf.ProtobufConverter",
    "io.confluent.kafka.serializers.json.": f"{_CLIENTS} io.confluent.connect.json.JsonSchemaConverter",
    "io.apicurio.registry.serde.avro.": f"{_CLIENTS} io.apicurio.registry.utils.converter.AvroConverter",
    "io.apicurio.registry.serde.protobuf.": f"{_CLIENTS} io.apicurio.registry.utils.converter.ProtobufConverter",
    "org.apache.kafka.common.serialization.String": f"{_CLIENTS} org.apache.kafka.connect.storage.StringConverter",
    "org.apache.kafka.common.serialization.ByteArray": f"{_CLIENTS} org.apache.kafka.connect.converters.ByteArrayConverter",
    "com.amazonaws.services.schemaregistry.": f"needs AWS Glue's registry: {_APIS}",
    "com.microsoft.azure.schemaregistry.": f"needs Azure's registry: {_APIS}",
    "com.snowflake.kafka.connector.": "is for Snowflake's connector alone: name the converter of the format, such as that of "
    "Confluent for Avro",
    "io.debezium.converters.CloudEventsConverter": "has the format in a value: for CloudEvents in JSON name "
    f"{JSON_CONVERTER} with value.converter.{SCHEMAS_ENABLE}=false; floe does not read those in Avro",
    "com.blueapron.connect.protobuf.": "needs a compiled class of Java: floe reads Protobuf with schemas of a registry, by "
    "io.confluent.connect.protobuf.ProtobufConverter",
}
"""Converters of others, by the beginnings of their classes: why floe does not have them, and what to do."""

_TYPE: Final = "converter.type"


def read_converter(settings: Settings, role: Role) -> ConverterSpec:
    """Read the converter of a role. If there are problems, they are noted in ``settings`` and JSON is returned.

    Raises ExtensionUnusable.
    """
    key = f"{role}.converter"
    name = settings.text(key)
    found = converter_of(name, role)
    if not name:
        settings.problems.append(
            f"{key} is not given, neither by the connector nor by {settings.worker}: name a class in one of them, such as "
            f"{JSON_CONVERTER} with {key}.{SCHEMAS_ENABLE}=false"
        )
    elif len(classes := CONVERTERS.full_names(name)) > 1:
        settings.problems.append(f"{key} {name!r} is the name of several classes: write {' or '.join(classes)}")
    elif found is None:
        settings.problems.append(f"{key} {name[:_SHOWN_CHARACTERS]!r} {_problem(name, role)}")
    else:
        return _read(settings, role, name)
    return PLAIN_JSON


def converter_of(name: str, role: Role) -> ConverterClass | None:
    """Return the converter of a class, by any of its names; None if floe knows none for this role.

    Raises ExtensionUnusable.
    """
    for full in CONVERTERS.full_names(name)[:1]:
        with CONVERTERS.guard(full):
            found = CONVERTERS[full]
            return found if role in found.roles else None
    return None


def spec_of(name: str, role: Role, options: OptionReader) -> ConverterSpec:
    """Have the class of a name read its options, and note what is wrong in them. Raises ExtensionUnusable."""
    full = CONVERTERS.full_names(name)[0]
    with CONVERTERS.guard(full):
        spec = CONVERTERS[full].read(options, role)
    declared = CONVERTERS.declared(full)
    if declared is None:
        return spec
    with CONVERTERS.guard(full):
        is_right = isinstance(spec, ConverterSpec) and isinstance(spec.kind, str)
        if not is_right or not (spec.engine.is_path if isinstance(spec.engine, Engine) else spec.kind in ENGINES):
            raise unusable(
                declared, f"read options of {role}s and returned no ConverterSpec with an Engine: {spec!r:.100}"
            )
        return replace(spec, role=role, package=declared.package)


def _problem(name: str, role: Role) -> str:
    """Return what is wrong with a class, and what to do."""
    refused = next((why for package, why in _REFUSED.items() if name.startswith(package)), None)
    if refused is not None:
        return refused
    problem = f"reads no {role}s" if CONVERTERS.full_names(name) else "is no converter that floe knows"
    own = [full for full, one in CONVERTERS.own.items() if role in one.roles]
    return f"{problem}: floe reads {', '.join((*own, *CONVERTERS.added))}{unknown_hint()}"


def _read(settings: Settings, role: Role, name: str) -> ConverterSpec:
    prefix = prefix_of(role)
    options = OptionReader(settings.properties.under(prefix), prefix, connection=settings.text(CONNECTION))
    spec = spec_of(name, role, options)
    options.ignore((_TYPE,), "the prefix of the option says what is converted")
    misspelt = options.misspelt()
    settings.problems.extend(options.problems)
    settings.problems.extend(
        f"unknown key {(prefix + option)[:_SHOWN_CHARACTERS]!r}; the nearest known key is {prefix}{meant}"
        for option, meant in misspelt.items()
    )
    settings.warnings.extend(options.warnings)
    settings.warnings.extend(f"{prefix}{option} has no effect: {why}" for option, why in options.without_effect.items())
    settings.warnings.extend(
        f"{prefix}{option[:_SHOWN_CHARACTERS]} has no effect: it is no option of {name[:_SHOWN_CHARACTERS]}"
        for option in options.options
        if option not in options.used and option not in misspelt
    )
    return spec


# The converters of keys and headers, for what needs these decoded: of keys the route, of headers nothing yet.
#
# A connector is not refused for one that nothing needs: it is noted that its keys have no effect.


DEFAULTS: Final[dict[str, str]] = {"header": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}
"""The class of a role for which none is given: Kafka Connect has one for headers."""

_KEY: Final = "key.converter"
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_SHOWN_OF_FIELD: Final = 200


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
            f"{key[:_SHOWN_OF_FIELD]} has no effect: keys are copied as they are, {BY} is not key, and no transform "
            "reads them"
            for key in settings.properties
            if (key == _KEY or key.startswith(f"{_KEY}.")) and settings.is_own(key)
        )
        return read_key_or_header(settings, "key")
    name = settings.text(_KEY)
    field = f"{FIELD} {'.'.join(routing.path)[:_SHOWN_OF_FIELD]!r} is a field of the key with {BY}=key"
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
            f"{field}, but {_KEY} {name[:_SHOWN_OF_FIELD]!r} gives keys without fields: remove one"
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
