"""The Airflow connections that a connector names: ``floe.*.conn-id``."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from floe.config.catalogs.connection import AWS_KEY, CATALOG_KEY
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import has_registry
from floe.config.keys.reader import Settings
from floe.config.names import plain_problem
from floe.config.schema_registry.connection import KEY as REGISTRY_CONN_ID

SPARK_CONN_ID: Final = "floe.spark.conn-id"
SPARK_CONN_IDS: Final = "floe.spark.conn-ids"


@dataclass(frozen=True)
class Connections:
    """Their ids, "" for none. ``spark_choices``: those that a run may take in the place of ``spark``."""

    kafka: str
    spark: str
    spark_choices: tuple[str, ...]
    registry: str
    catalog: str
    aws: str


def read_connections(settings: Settings, converters: Iterable[ConverterSpec | None]) -> Connections:
    """Read the ids; ``converters``: of which one needs a registry, or its connection has no effect."""
    registry = read_plain(settings, REGISTRY_CONN_ID, "")
    if registry and not any(spec and has_registry(spec) for spec in converters):
        settings.warnings.append(f"{REGISTRY_CONN_ID} has no effect: no converter has a schema registry")
    choices = settings.names(SPARK_CONN_IDS)
    settings.problems += [f"{SPARK_CONN_IDS} {problem}" for name in choices if (problem := plain_problem(name))]
    return Connections(
        kafka=read_plain(settings, "floe.kafka.conn-id", "kafka_default"),
        spark=read_plain(settings, SPARK_CONN_ID, "spark_default"),
        spark_choices=choices,
        registry=registry,
        catalog=read_plain(settings, CATALOG_KEY, ""),
        aws=read_plain(settings, AWS_KEY, ""),
    )


def read_plain(settings: Settings, key: str, default: str) -> str:
    """Read a name of letters, digits and the like; its problem is noted."""
    if not settings.given(key):
        return default
    value = settings.properties[key]
    problem = plain_problem(value)
    if problem and (value or default):
        settings.problems.append(f"{key} {problem}")
    return value
