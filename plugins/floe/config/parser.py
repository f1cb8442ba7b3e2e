"""From a connector's JSON object to a ``Connector``, with every problem found in one go."""

from collections import Counter
from collections.abc import Mapping

from floe.config.catalog import read_catalog
from floe.config.connector import Connector
from floe.config.converters import check_converters
from floe.config.document import unwrap
from floe.config.exceptions import ConfigError
from floe.config.kafka_client import read_consumer_overrides, read_control_client
from floe.config.names import connector_name_problem, plain_problem, table_problem, topic_problem
from floe.config.partition import PartitionTerm, parse_partition_by
from floe.config.properties import Properties, flatten
from floe.config.settings import Settings

CLASSES = (
    "org.apache.iceberg.connect.IcebergSinkConnector",
    "io.tabular.iceberg.connect.IcebergSinkConnector",
    "IcebergSinkConnector",
    "IcebergSink",
)
_FORMAT = "write.format.default"
_DISTRIBUTION = "write.distribution-mode"


def parse_connector(document: Mapping[str, object], default_name: str | None = None) -> Connector:
    """Parse ``{"name": …, "config": {…}}`` or the flat map; ``default_name`` is taken when neither holds a name.

    :raises ConfigError: with all problems found.
    """
    items, problems = unwrap(document)
    flat, more = flatten(items)
    if default_name is not None:
        flat.setdefault("name", default_name)
    settings = Settings(flat)
    settings.problems += [*problems, *more]
    _check_cross_keys(settings)
    settings.check_keys()
    connector = _build(settings)
    if settings.problems:
        raise ConfigError(*dict.fromkeys(settings.problems))
    return connector


def _check_cross_keys(settings: Settings) -> None:
    """The sink's own rules over several keys, in its order and words."""
    tables, dynamic = settings.names("iceberg.tables"), settings.boolean("iceberg.tables.dynamic-enabled")
    if not settings.properties.under("iceberg.catalog."):
        settings.problems.append("Must specify Iceberg catalog properties")
    if tables and dynamic:
        settings.problems.append("Cannot specify both static and dynamic table names")
    elif dynamic and not settings.text("iceberg.tables.route-field"):
        settings.problems.append("Must specify a route field if using dynamic table names")
    elif not tables and not dynamic:
        settings.problems.append("Must specify table name(s)")


def _build(settings: Settings) -> Connector:
    check_converters(settings)
    _check_choice(settings, "connector.class", CLASSES, "floe answers the Iceberg sink only")
    _check_choice(settings, "errors.tolerance", ("none",), "tolerance comes with the dead letters")
    _check_choice(settings, "floe.on-data-loss", ("fail", "accept"), "it names neither")
    name = _read_name(settings)
    topics = _read_topics(settings)
    interval = settings.integer("iceberg.control.commit.interval-ms")
    if interval < 1000:
        settings.warnings.append(f"iceberg.control.commit.interval-ms is {interval}: Airflow schedules by the second")
    return Connector(
        name=name,
        topics=topics,
        tasks_max=settings.integer("tasks.max"),
        tables=_read_tables(settings),
        auto_create=settings.boolean("iceberg.tables.auto-create-enabled"),
        auto_create_props=_read_table_props(settings, "iceberg.tables.auto-create-props."),
        evolve_schema=settings.boolean("iceberg.tables.evolve-schema-enabled"),
        write_props=_read_table_props(settings, "iceberg.table.write-props.", "iceberg.tables.write-props."),
        partition_by=_read_partition_by(settings),
        commit_branch=_read_branch(settings),
        catalog_name=settings.text("iceberg.catalog"),
        catalog_props=read_catalog(settings),
        control_topic=_read_control_topic(settings, topics),
        commit_interval_ms=interval,
        commit_timeout_ms=settings.integer("iceberg.control.commit.timeout-ms"),
        group_id=_read_plain(settings, "iceberg.connect.group-id", f"connect-{name}"),
        transactional_prefix=_read_plain(settings, "iceberg.coordinator.transactional.prefix", ""),
        control_kafka=read_control_client(settings),
        consumer_overrides=read_consumer_overrides(settings),
        kafka_conn_id=_read_plain(settings, "floe.kafka.conn-id", "kafka_default"),
        spark_conn_id=_read_plain(settings, "floe.spark.conn-id", "spark_default"),
        max_records_per_run=_read_limit(settings, "floe.max-records-per-run"),
        on_data_loss="accept" if settings.text("floe.on-data-loss") == "accept" else "fail",
        warnings=tuple(settings.warnings),
        properties=settings.properties,
    )


def _read_name(settings: Settings) -> str:
    name = settings.properties.get("name", "")
    problem = connector_name_problem(name) if settings.given("name") else "the connector has no name: give it one"
    if problem:
        settings.problems.append(problem)
    return name


def _read_topics(settings: Settings) -> tuple[str, ...]:
    topics = settings.names("topics")
    if not topics and not settings.given("topics.regex"):
        settings.problems.append("Must specify topics: name at least one topic in topics, several with commas")
    settings.problems.extend(f"topics: {problem}" for topic in topics if (problem := topic_problem(topic)))
    twice = sorted(topic for topic, count in Counter(topics).items() if count > 1)
    settings.problems.extend(f"topics names {topic[:300]!r} twice: keep one" for topic in twice)
    return topics


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


def _read_tables(settings: Settings) -> tuple[str, ...]:
    tables = settings.names("iceberg.tables")
    settings.problems.extend(f"iceberg.tables: {problem}" for table in tables if (problem := table_problem(table)))
    twice = sorted(table for table, count in Counter(tables).items() if count > 1)
    settings.problems.extend(f"iceberg.tables names {table[:300]!r} twice: keep one" for table in twice)
    return tables


def _read_table_props(settings: Settings, *prefixes: str) -> Properties:
    taken: dict[str, str] = {}
    for prefix in prefixes:
        taken |= settings.properties.under(prefix)
    if taken.get(_FORMAT, "parquet").strip().lower() != "parquet":
        settings.problems.append(
            f"{prefixes[-1]}{_FORMAT} {taken[_FORMAT][:100]!r}: floe writes parquet only, set that"
        )
    if taken.get(_DISTRIBUTION, "none").strip().lower() != "none":
        settings.warnings.append(
            f"{prefixes[-1]}{_DISTRIBUTION} has no effect yet: rows are written where they are read"
        )
    return Properties(taken)


def _read_partition_by(settings: Settings) -> tuple[PartitionTerm, ...]:
    try:
        return parse_partition_by(settings.text("iceberg.tables.default-partition-by"))
    except ValueError as error:
        settings.problems.append(f"iceberg.tables.default-partition-by: {error}")
        return ()


def _read_branch(settings: Settings) -> str | None:
    branch = _read_plain(settings, "iceberg.tables.default-commit-branch", "main")
    return None if branch == "main" else branch


def _read_plain(settings: Settings, key: str, default: str) -> str:
    if not settings.given(key):
        return default
    value = settings.properties[key]
    problem = plain_problem(value)
    if problem and (value or default):
        settings.problems.append(f"{key} {problem}")
    return value


def _read_limit(settings: Settings, key: str) -> int | None:
    limit = settings.integer(key)
    if limit == 0:
        settings.problems.append(
            f"Invalid value 0 for configuration {key}: Value must be at least 1, or -1 for no limit"
        )
    return None if limit < 0 else limit


def _check_choice(settings: Settings, key: str, choices: tuple[str, ...], reason: str) -> None:
    value = settings.text(key)
    if value not in choices:
        settings.problems.append(f"{key} {value[:100]!r} is not supported: {reason}. Set {' or '.join(choices)}")
