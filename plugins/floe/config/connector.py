"""A connector: one JSON file of Kafka Connect keys, parsed."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from floe.config.converters.base import ConverterSpec
from floe.config.extension_code import VERSION, extension_sources
from floe.config.properties import Properties
from floe.config.secrets.detection import is_secret, reference
from floe.config.sections.catalog import CatalogSpec
from floe.config.sections.committing import CommitRules
from floe.config.sections.connections import Connections
from floe.config.sections.creation import TableCreation
from floe.config.sections.dag import DagSettings, Schedule
from floe.config.sections.error_policy import ErrorPolicy
from floe.config.sections.kafka_client import ClientKeys
from floe.config.sections.reading import ReadRules
from floe.config.sections.routing import Routing, may_name
from floe.config.sections.schema_rules import SchemaRules
from floe.config.sections.tables import TableRules, TableSettings
from floe.config.sections.transforms import TransformSpec, python_classes, renames_topics, routing_steps
from floe.config.transforms.python_class import Code, PythonClass, PythonSource

OFFSET_RESET = "consumer.override.auto.offset.reset"
_NAMES = frozenset({"topics", "topics.regex", "iceberg.tables"})
"""Keys whose values are names, of any number: a plan must contain them."""

_TABULAR_GROUP = "iceberg.control.group-id"


@dataclass(frozen=True)
class Connector:
    """A connector's validated settings: all that a run needs. Printing it shows no secret.

    ``name`` is also the dag_id. ``topics`` is empty while ``topics_regex`` is not resolved (``with_topics``). A limit of
    None is no limit; limits count records, sizes are in bytes, times in milliseconds. ``properties`` is the whole flat map
    that was parsed. ``key_converter`` and ``header_converter`` are None where floe has none for the class that is named.
    ``references``: for one task, the texts of the keys whose references are resolved in ``properties``; an empty text where
    the key is from a connection, and a plan does not have it.
    """

    name: str
    topics: tuple[str, ...]
    topics_regex: str | None
    settings: TableRules
    routing: Routing
    creation: TableCreation
    schema: SchemaRules
    write_props: Properties
    value_converter: ConverterSpec
    key_converter: ConverterSpec | None
    header_converter: ConverterSpec | None
    transforms: tuple[TransformSpec, ...]
    errors: ErrorPolicy
    catalog: CatalogSpec
    control_topic: str
    committing: CommitRules
    schedule: Schedule
    dag: DagSettings
    group_id: str
    clients: ClientKeys
    connections: Connections
    reading: ReadRules
    freshness_max_ms: int | None
    warnings: tuple[str, ...]
    properties: Properties
    references: Properties = Properties()  # noqa: RUF009 - immutable
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the connector names; empty if the records name them."""
        return self.settings.named

    @property
    def source(self) -> str:
        """What it reads, for people."""
        return ", ".join(self.topics) if self.topics else f"topics matching {self.topics_regex}"

    @property
    def destination(self) -> str:
        """Where it writes, for people."""
        return ", ".join(self.tables) or self.routing.tables_text

    def table(self, name: str) -> TableSettings:
        """Return the connector's settings of one table."""
        return self.settings.of(name)

    def is_configured(self, table: str) -> bool:
        """Say whether the connector itself names a table: in ``iceberg.tables``, or by settings of its own."""
        return any(name == table for name, _ in self.settings.known)

    def route_rule(self, table: str, topic: str) -> object:
        """Return what decides which rows of a topic one table gets, as JSON: a part of the table's route hash.

        It does not contain transforms that neither filter records nor change what records are routed by.
        """
        settings = self.table(table)
        steps = routing_steps(self.transforms, self.routing.by, self.routing.name)
        if not steps:
            return self.routing.rule(settings, topic)
        # a record may get another topic, so all topics of the table count
        topics = None if settings.topics is None else sorted(settings.topics)
        rule = self.routing.rule(settings, topics[0] if topics else topic)
        return {"transforms": steps, "topics": topics, "rows": rule}

    @property
    def code(self) -> Code:
        """The code that is not floe's: of users' transforms as parsed, of extensions as it is. Raises ExtensionUnusable."""
        added = {package: (VERSION, source.sha256) for package, source in self.extension_sources().items()}
        return {**added, **{one.path: (one.version, one.sha256) for one in python_classes(self.transforms)}}

    def extension_sources(self) -> dict[str, PythonSource]:
        """Return the sources of extensions that Spark's workers run, by package. Raises ExtensionUnusable."""
        return extension_sources(self.transforms, (self.value_converter, self.key_converter))

    def with_code(self, code: Code) -> "Connector":
        """Return the connector with the code that a plan was made with: its version is a part of the route hash."""

        def frozen(spec: TransformSpec) -> TransformSpec:
            own = spec.options
            if not isinstance(own, PythonClass) or own.path not in code:
                return spec
            version, sha256 = code[own.path]
            return replace(spec, options=replace(own, version=version, sha256=sha256))

        return replace(self, transforms=tuple(map(frozen, self.transforms)))

    def may_name(self, topics: Collection[str], table: str) -> bool:
        """Say whether some record of these topics, empty if not known yet, can name a table."""
        known = () if renames_topics(self.transforms) else topics
        return may_name(self.routing.template or "", known, table)

    @property
    def offset_reset(self) -> Literal["earliest", "latest"]:
        """Where a new connector starts."""
        return "latest" if self.properties.get(OFFSET_RESET, "").strip().lower() == "latest" else "earliest"

    @property
    def sink_group_id(self) -> str:
        """The group of the Kafka Connect sink of this name: its positions, and the signature of its events.

        It is floe's own, except after Tabular's sink, which had a separate group.
        """
        sink = self.properties.get("connector.class", "").strip()
        named = self.properties.get(_TABULAR_GROUP, "").strip()
        if sink.startswith("io.tabular.") or (named and not sink.startswith("org.apache.")):
            return named or f"cg-control-{self.name}"
        return self.group_id

    def frozen(self) -> dict[str, str]:
        """Copy the properties with a reference instead of every secret: safe for XCom, restored by ``restore_config``."""
        written = {**self.properties, **self.references}
        return {
            key: reference(key) if key not in _NAMES and is_secret(key, value) else value
            for key, value in written.items()
            if value or key not in self.references
        }
