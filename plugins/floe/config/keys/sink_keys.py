"""Keys of the Iceberg sink: tables, catalog, control topic."""

from __future__ import annotations

from typing import Final

from floe.config.keys.key import KeyType, no_effect, refused, supported
from floe.config.keys.key_class import KeyClass
from floe.config.keys.loaded_code import CATALOG, CLIENT, TABLE, TRANSFORM
from floe.config.libraries.client_settings import LIVE_CLIENT_SETTINGS
from floe.config.libraries.table_property_names import LIVE_WRITE_PROPERTIES

_NO_HADOOP: Final = "floe reads no Hadoop configuration files. Copy the fs.s3a.* that you need into iceberg.hadoop.*."

SINK: Final = (
    supported(
        "iceberg.tables",
        KeyType.LIST,
        None,
        "Tables to write, `namespace.table`; each gets every record, or those that it asks for. Required, unless records "
        "name their tables.",
        key_class=KeyClass.REPLAY,
    ),
    supported("iceberg.tables.auto-create-enabled", KeyType.BOOLEAN, "false", "Create a table that is missing."),
    supported(
        "iceberg.tables.auto-create-props.*",
        KeyType.MAP,
        None,
        "Properties of a table that floe creates, over [its own](#properties-of-created-tables).",
        code=TABLE,
    ),
    supported(
        "iceberg.tables.evolve-schema-enabled",
        KeyType.BOOLEAN,
        "false",
        "Add columns for new fields of records.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.tables.write-props.*",
        KeyType.MAP,
        None,
        "Writer properties, over those of the table.",
        key_class=KeyClass.LIVE,
        members=LIVE_WRITE_PROPERTIES,
        code=TABLE,
    ),
    supported(
        "iceberg.table.write-props.*",
        KeyType.MAP,
        None,
        "The same, as Tabular's code spells it.",
        alias_of="iceberg.tables.write-props.*",
        key_class=KeyClass.LIVE,
        members=LIVE_WRITE_PROPERTIES,
        code=TABLE,
    ),
    supported(
        "iceberg.tables.default-partition-by",
        KeyType.STRING,
        None,
        "Partitions of a table that floe creates: `col`, `year(col)`, `month(col)`, `day(col)`, `hour(col)`, "
        "`bucket(col, n)`, `truncate(col, n)`, with commas between.",
    ),
    supported(
        "iceberg.tables.default-commit-branch",
        KeyType.STRING,
        "main",
        "The branch to commit to.",
        key_class=KeyClass.REPLAY,
    ),
    supported("iceberg.catalog", KeyType.STRING, "iceberg", "Name of the catalog."),
    supported(
        "iceberg.catalog.type",
        KeyType.STRING,
        None,
        "Type of the catalog, unless iceberg.catalog.catalog-impl has Java's class. Required.",
    ),
    supported(
        "iceberg.catalog.*",
        KeyType.MAP,
        None,
        "Properties of the catalog, as Java's catalogs have them, or PyIceberg.",
        code=CATALOG,
    ),
    supported(
        "iceberg.hadoop.*",
        KeyType.MAP,
        None,
        "`fs.s3a.*`: access to S3, below iceberg.catalog.s3.*; the rest has no effect, or is refused by name.",
    ),
    supported(
        "iceberg.kafka.*",
        KeyType.MAP,
        None,
        "Client settings for the control topic, over the connection's.",
        key_class=KeyClass.LIVE,
        members=LIVE_CLIENT_SETTINGS,
        code=CLIENT,
    ),
    supported("iceberg.control.topic", KeyType.STRING, "control-iceberg", "The control topic."),
    supported(
        "iceberg.control.commit.interval-ms",
        KeyType.INT,
        "300000",
        "Time between two runs, which begin at a second of the minute of the connector's own.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "iceberg.control.commit.timeout-ms",
        KeyType.INT,
        "30000",
        "How long a table's commit is tried again. Its end fails the task; nothing is lost.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    no_effect(
        "iceberg.control.commitIntervalMs",
        KeyType.LONG,
        None,
        "Of Tabular's sink before 0.5; no later one reads it. Set iceberg.control.commit.interval-ms.",
    ),
    supported("iceberg.connect.group-id", KeyType.STRING, "connect-<name>", "The group that holds the position."),
    supported(
        "iceberg.control.group-id",
        KeyType.STRING,
        "cg-control-<name>",
        "The group that Tabular's sink kept the source offsets in: a takeover begins there, the return writes it. It "
        "counts unless `connector.class` is Apache's; the position is in iceberg.connect.group-id.",
    ),
    supported("iceberg.coordinator.transactional.prefix", KeyType.STRING, "", "Prefix of all transactional ids."),
    no_effect("iceberg.control.group-id-prefix", KeyType.STRING, "cg-control-", "No group reads the control topic."),
    supported(
        "iceberg.control.commit.threads",
        KeyType.INT,
        "8",
        "Tables that are committed at once.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    no_effect(
        "iceberg.control.commit.max-consecutive-failures",
        KeyType.INT,
        "1",
        "A failed commit is never passed over: its task is retried and its rows are kept.",
        minimum=1,
    ),
    no_effect("iceberg.coordinator-executor-keep-alive-timeout-ms", KeyType.LONG, "120000", "There is no coordinator."),
    supported(
        "iceberg.tables.dynamic-enabled",
        KeyType.BOOLEAN,
        "false",
        "Records name their tables, see routing.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.tables.route-field",
        KeyType.STRING,
        None,
        "Path (`a.b`) of the field with the route value: the table's name if dynamic, else what `route-regex` matches.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.table.<table>.route-regex",
        KeyType.STRING,
        None,
        "The table gets the records whose route value this expression matches as a whole.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.table.<table>.commit-branch",
        KeyType.STRING,
        None,
        "The branch of this table, over the default.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.table.<table>.partition-by", KeyType.STRING, None, "Partitions of this table, over the default."
    ),
    supported(
        "iceberg.table.<table>.id-columns", KeyType.LIST, None, "Identifier fields of this table, over the default."
    ),
    supported(
        "iceberg.tables.default-id-columns", KeyType.LIST, None, "Identifier fields of the tables that floe creates."
    ),
    refused("iceberg.tables.cdc-field", KeyType.STRING, None, "Comes with upserts. Remove it: rows are appended."),
    refused(
        "iceberg.tables.upsert-mode-enabled",
        KeyType.BOOLEAN,
        "false",
        "Comes with upserts. Remove it: rows are appended.",
    ),
    supported(
        "iceberg.tables.schema-force-optional",
        KeyType.BOOLEAN,
        "false",
        "Everything in columns that floe adds is optional, whatever the schema of the values requires. Without a schema it "
        "is optional anyway.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.tables.schema-case-insensitive",
        KeyType.BOOLEAN,
        "false",
        "A field finds its column whatever the case; without effect on a table with a name mapping.",
        key_class=KeyClass.REPLAY,
    ),
    refused("iceberg.hadoop-conf-dir", KeyType.STRING, None, _NO_HADOOP),
    refused(
        "iceberg.coordinator.transactional.suffix",
        KeyType.STRING,
        None,
        "The sink sets it by itself, it is not for connectors. Remove it.",
    ),
)


# Keys of Kafka Connect itself: name, topics, converters, transforms, errors.


_TRANSFORM_OPTIONS: Final = ("*.field_name", "*.nested", "*.external_field", "*.include_key", "*.include_headers")


CONNECT: Final = (
    supported("name", KeyType.STRING, "the file's name without .json", "Name of the connector and of its DAG."),
    supported("connector.class", KeyType.STRING, "IcebergSinkConnector", "The sink's class, Apache's or Tabular's."),
    supported("topics", KeyType.LIST, None, "Topics to read. Required, or topics.regex.", key_class=KeyClass.REPLAY),
    supported(
        "topics.regex",
        KeyType.STRING,
        None,
        "Instead of topics: all topics that it matches as a whole, looked up by every run.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "tasks.max",
        KeyType.INT,
        "1",
        "Most Spark tasks that one run reads and writes with.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "value.converter",
        KeyType.STRING,
        None,
        "The class that values are decoded by, here or in the worker file. Required.",
    ),
    supported(
        "value.converter.schemas.enable",
        KeyType.BOOLEAN,
        "true",
        "`true`: values are envelopes of a schema and a payload. `false`: values are plain JSON.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "key.converter",
        KeyType.STRING,
        None,
        "The class that keys are decoded by for `floe.route.by=key`; without one they are text. Else it has no effect.",
    ),
    supported("key.converter.*", KeyType.MAP, None, "Options of that class."),
    no_effect("header.converter", KeyType.STRING, None, "Headers are routed by and copied as they are."),
    no_effect("header.converter.*", KeyType.MAP, None, "Headers are routed by and copied as they are."),
    supported(
        "consumer.override.auto.offset.reset",
        KeyType.STRING,
        "earliest",
        "Where a new connector starts: `earliest` or `latest`. It decides nothing later on.",
    ),
    supported(
        "consumer.override.*",
        KeyType.MAP,
        None,
        "Client settings of the consumers that read the topics.",
        key_class=KeyClass.LIVE,
        members=LIVE_CLIENT_SETTINGS,
        code=CLIENT,
    ),
    supported(
        "errors.tolerance",
        KeyType.STRING,
        "none",
        "`none`: a record that cannot be written fails the run. `all`: it becomes a dead letter, or is counted where no "
        "place for them is given. A place for dead letters without this key means `all`.",
    ),
    supported(
        "errors.log.enable",
        KeyType.BOOLEAN,
        "false",
        "Log bad records: topic, partition, offset, reason.",
        key_class=KeyClass.LIVE,
    ),
    supported(
        "errors.log.include.messages",
        KeyType.BOOLEAN,
        "false",
        "Log the beginning of their values too.",
        key_class=KeyClass.LIVE,
    ),
    supported(
        "errors.deadletterqueue.topic.name",
        KeyType.STRING,
        None,
        "Topic for dead letters, at least once: a run that is tried again sends them again.",
    ),
    supported(
        "errors.deadletterqueue.topic.replication.factor",
        KeyType.INT,
        "3",
        "Of that topic, when floe creates it.",
        minimum=1,
    ),
    supported(
        "errors.deadletterqueue.context.headers.enable",
        KeyType.BOOLEAN,
        "false",
        "Add Connect's headers `__connect.errors.…` to dead letters.",
    ),
    supported("value.converter.*", KeyType.MAP, None, "Options of that class."),
    no_effect("errors.retry.timeout", KeyType.LONG, "0", "Airflow's retries of the task take its place."),
    no_effect("errors.retry.delay.max.ms", KeyType.LONG, "60000", "Airflow's retries of the task take its place."),
    no_effect("config.action.reload", KeyType.STRING, "restart", "The file is read again for every run."),
    no_effect("tasks.max.enforce", KeyType.BOOLEAN, "true", "tasks.max always holds."),
    no_effect("connector.plugin.version", KeyType.STRING, None, "There is no plugin path: the version is floe's own."),
    no_effect(
        "consumer.auto.offset.reset",
        KeyType.STRING,
        None,
        "As in Connect, which reads it in the worker file: a connector's is consumer.override.auto.offset.reset.",
    ),
    no_effect(
        "transaction.timeout.ms", KeyType.LONG, None, "As in Connect: it has no prefix. floe's transactions have 60 s."
    ),
    no_effect(
        "retries", KeyType.LONG, None, "As in Connect: it has no prefix. For the control topic: iceberg.kafka.retries."
    ),
    no_effect(
        "max.block.ms",
        KeyType.LONG,
        None,
        "As in Connect: it has no prefix. floe's clients have their own time limits.",
    ),
    no_effect("producer.override.*", KeyType.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    no_effect("admin.override.*", KeyType.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    supported(
        "transforms",
        KeyType.LIST,
        None,
        "Names of the transforms, in their order.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "transforms.*",
        KeyType.MAP,
        None,
        "Their settings: `transforms.<name>.type`, what that type has, `predicate`, `negate`.",
        key_class=KeyClass.REPLAY,
        members=_TRANSFORM_OPTIONS,
        code=TRANSFORM,
    ),
    supported("predicates", KeyType.LIST, None, "Names of the conditions that transforms may have."),
    supported("predicates.*", KeyType.MAP, None, "Their settings: `predicates.<name>.type` and what that type has."),
    refused("task.id", KeyType.STRING, None, "Kafka Connect sets it by itself, it is not for connectors. Remove it."),
)
