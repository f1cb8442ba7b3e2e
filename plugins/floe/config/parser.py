"""From a connector's JSON object to a ``Connector``, with every problem found in one go."""

from collections.abc import Mapping

from floe.config.connector import Connector
from floe.config.converters.converter_classes import read_converter, read_key_converter, read_key_or_header
from floe.config.converters.plain import NO_FIELDS, has_no_fields
from floe.config.document import check_count, check_limits, given_twice, unwrap
from floe.config.exceptions import ConfigError
from floe.config.extensions import reading_extensions
from floe.config.keys.reader import Settings
from floe.config.names import connector_name_problem, topic_problem
from floe.config.properties import flatten
from floe.config.providers.allow_list import NOTHING, OperatorSettings
from floe.config.providers.reference import Resolved, resolve_at_parse, unreplaced
from floe.config.secrets.mask import without_secrets
from floe.config.sections.catalog import read_catalog
from floe.config.sections.committing import read_committing
from floe.config.sections.connections import read_connections, read_plain
from floe.config.sections.creation import read_creation, read_write_props
from floe.config.sections.dag import VARIABLE as CALLBACKS
from floe.config.sections.dag import read_dag, read_schedule
from floe.config.sections.error_policy import DEAD_LETTER_TABLE, read_errors
from floe.config.sections.kafka_client import ClientKeys, read_consumer_overrides, read_control_client
from floe.config.sections.reading import read_limit, read_reading
from floe.config.sections.routing import BY, NAMESPACE, TEMPLATE, read_routing, template_problems
from floe.config.sections.schema_rules import read_schema_rules
from floe.config.sections.tables import read_tables
from floe.config.sections.topics import read_topics
from floe.config.sections.transform_reader import read_transforms
from floe.config.sections.transforms import renames_topics
from floe.config.transforms.python_class import AllowedModules
from floe.config.worker_defaults import with_defaults

CLASSES = (
    "org.apache.iceberg.connect.IcebergSinkConnector",
    "io.tabular.iceberg.connect.IcebergSinkConnector",
    "IcebergSinkConnector",
    "IcebergSink",
)
FRESHNESS = "floe.freshness.max-ms"
MIN_FRESHNESS = 1000


def parse_connector(
    document: Mapping[str, object],
    default_name: str | None = None,
    *,
    narrowed: bool = False,
    operator: OperatorSettings = NOTHING,
) -> Connector:
    """Parse ``{"name": …, "config": {…}}`` or the flat map; ``default_name`` is used when neither contains a name.

    ``narrowed``: the settings are of one run, which may read fewer topics than the settings of tables name, and contain what
    ``operator`` adds to the document of a file: defaults of the worker file, and values of references in keys that shape
    the DAG. Modules of transforms in Python and of callbacks are allowed by ``operator``; without one, by this process's
    environment. Those of callbacks count for a file only: a run calls none.

    :raises ConfigError: with all problems found; ExtensionUnusable where an extension keeps the connector from being read.
    """
    with reading_extensions():
        return _parsed(document, default_name, narrowed=narrowed, operator=operator)


def _parsed(
    document: Mapping[str, object], default_name: str | None, *, narrowed: bool, operator: OperatorSettings
) -> Connector:
    items, problems = unwrap(document)
    if problems and not items:
        raise ConfigError(*problems)
    flat, more = flatten(items)
    if default_name is not None:
        flat.setdefault("name", default_name)
    check_count(len(flat))
    worker = operator.worker
    merged = with_defaults(flat, worker)
    found = Resolved() if narrowed else resolve_at_parse(merged.keys, operator.providers, operator.environ)
    settings = Settings({**merged.keys, **found.values}, worker.named, merged.taken)
    settings.problems += [*worker.problems, *problems, *more, *found.problems]
    settings.warnings += [*given_twice(document), *merged.warnings, *unreplaced(merged.keys)]
    check_limits(settings)
    _check_cross_keys(settings)
    settings.check_keys()
    modules = AllowedModules.present() if operator is NOTHING else operator.modules
    callbacks = AllowedModules.present(CALLBACKS) if operator is NOTHING else operator.callbacks
    connector = _build(settings, modules, None if narrowed else callbacks, narrowed=narrowed)
    if settings.problems:
        located = [merged.located(problem, worker) for problem in dict.fromkeys(settings.problems)]
        raise ConfigError(*without_secrets(settings.properties, located))
    return connector


def _check_cross_keys(settings: Settings) -> None:
    """Check the sink's own rules over several keys, in its order and with its messages."""
    tables, dynamic = settings.names("iceberg.tables"), settings.boolean("iceberg.tables.dynamic-enabled")
    if not settings.properties.under("iceberg.catalog."):
        settings.problems.append("Must specify Iceberg catalog properties: set iceberg.catalog.type and what it needs")
    is_routed = any(settings.text(key) for key in (BY, TEMPLATE))
    is_named = any(settings.text(key) for key in (TEMPLATE, NAMESPACE))
    if tables and dynamic:
        settings.problems.append(
            "Cannot specify both static and dynamic table names: remove iceberg.tables or iceberg.tables.dynamic-enabled"
        )
    elif dynamic and not settings.text("iceberg.tables.route-field") and not is_routed:
        settings.problems.append(
            f"Must specify a route field if using dynamic table names: set iceberg.tables.route-field, {BY} or {TEMPLATE}"
        )
    elif not tables and not dynamic and not is_named:
        settings.problems.append(
            f"Must specify table name(s): set iceberg.tables, or {TEMPLATE} or {NAMESPACE} for tables that records name"
        )


def _build(
    settings: Settings, modules: AllowedModules, callbacks: AllowedModules | None, *, narrowed: bool
) -> Connector:
    value_converter = read_converter(settings, "value")
    _check_choice(settings, "connector.class", CLASSES, "floe answers the Iceberg sink only")
    _check_choice(settings, "floe.on-data-loss", ("fail", "accept"), "it names neither")
    _check_choice(settings, "floe.consumer", ("auto", "portable"), "it names neither")
    name = _read_name(settings)
    topics, topics_regex = read_topics(settings)
    control_topic = _read_control_topic(settings, topics)
    transforms = read_transforms(settings, modules)
    if has_no_fields(value_converter) and not any(spec.options.makes_fields for spec in transforms):
        settings.warnings.append(NO_FIELDS)
    is_open = narrowed or renames_topics(transforms)  # tables may name topics that are not the connector's
    expected = () if is_open else topics
    tables = read_tables(settings, expected)
    errors = read_errors(settings, topics, tables.named, control_topic)
    routing = read_routing(settings, tables, expected, has_dead_letters=bool(errors.table or errors.topic))
    if routing.template is not None:
        settings.problems.extend(
            template_problems(
                routing.template, () if renames_topics(transforms) else topics, settings.text(DEAD_LETTER_TABLE)
            )
        )
    key_converter = read_key_converter(settings, routing, transforms)
    connections = read_connections(settings, (value_converter, key_converter))
    committing = read_committing(settings)
    return Connector(
        name=name,
        topics=topics,
        topics_regex=topics_regex,
        settings=tables,
        routing=routing,
        creation=read_creation(settings),
        schema=read_schema_rules(settings),
        write_props=read_write_props(settings),
        value_converter=value_converter,
        key_converter=key_converter,
        header_converter=read_key_or_header(settings, "header"),
        transforms=transforms,
        errors=errors,
        catalog=read_catalog(settings, [name for name in (*dict(tables.known), errors.table) if name]),
        control_topic=control_topic,
        committing=committing,
        schedule=read_schedule(settings),
        dag=read_dag(settings, callbacks),
        group_id=read_plain(settings, "iceberg.connect.group-id", f"connect-{name}"),
        clients=ClientKeys(control=read_control_client(settings), consumer=read_consumer_overrides(settings)),
        connections=connections,
        reading=read_reading(settings),
        freshness_max_ms=_read_freshness(settings, committing.interval_ms),
        warnings=() if settings.problems else without_secrets(settings.properties, settings.warnings),
        properties=settings.properties,
        notes=without_secrets(settings.properties, settings.notes),
    )


def _read_name(settings: Settings) -> str:
    name = settings.properties.get("name", "")
    problem = connector_name_problem(name) if settings.given("name") else "the connector has no name: give it one"
    if problem:
        settings.problems.append(problem)
    return name


def _read_control_topic(settings: Settings, topics: tuple[str, ...]) -> str:
    topic = settings.text("iceberg.control.topic")
    if problem := topic_problem(topic):
        settings.problems.append(f"iceberg.control.topic: {problem}")
    if topic in topics:
        settings.problems.append(
            f"iceberg.control.topic {topic!r} is also one of topics: announcements would be read as records; "
            "choose another control topic"
        )
    return topic


def _read_freshness(settings: Settings, interval_ms: int) -> int | None:
    most = read_limit(settings, FRESHNESS, MIN_FRESHNESS)
    if most is not None and most <= interval_ms and not settings.given("floe.schedule"):
        settings.warnings.append(
            f"{FRESHNESS} is {most}, no more than iceberg.control.commit.interval-ms, {interval_ms}: tables are late between "
            "two runs. Set it to the interval and the time of a run, at least"
        )
    return most


def _check_choice(settings: Settings, key: str, choices: tuple[str, ...], reason: str) -> None:
    value = settings.text(key)
    if value not in choices:
        settings.problems.append(f"{key} {value[:100]!r} is not supported: {reason}. Set {' or '.join(choices)}")
