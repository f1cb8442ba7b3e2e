"""The table of keys: every key that a connector may hold stands here, and nowhere else.

A key of the Iceberg sink keeps its name, type and default. The tables in ``docs/reference/configuration.md`` are printed from
this one (``python -m floe.config keys``), and a test compares them. Of several patterns the first match counts.

A new key is of class ``file``: a run may set it only once its row says so.
"""

from typing import Final

from floe.config.keys.key import Key, Kind, no_effect, refused, supported
from floe.config.keys.key_class import KeyClass
from floe.config.libraries.client_settings import LIVE_CLIENT_SETTINGS
from floe.config.libraries.table_property_names import LIVE_WRITE_PROPERTIES

_TRANSFORM_OPTIONS: Final = ("*.field_name", "*.nested", "*.external_field", "*.include_key", "*.include_headers")

CONNECT: Final = (
    supported("name", Kind.STRING, "the file's name without .json", "Name of the connector and of its DAG."),
    supported("connector.class", Kind.STRING, "IcebergSinkConnector", "The sink's class, Apache's or Tabular's."),
    supported("topics", Kind.LIST, None, "Topics to read. Required, or topics.regex.", key_class=KeyClass.REPLAY),
    supported(
        "topics.regex",
        Kind.STRING,
        None,
        "Instead of topics: all topics that it matches as a whole, looked up by every run.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "tasks.max",
        Kind.INT,
        "1",
        "Most Spark tasks that one run reads and writes with.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    supported("value.converter", Kind.STRING, None, "How values are decoded: JsonConverter. Required."),
    supported(
        "value.converter.schemas.enable",
        Kind.BOOLEAN,
        "true",
        "Must be given as `false`, as its default is Connect's: values with a schema envelope are not supported yet.",
        key_class=KeyClass.REPLAY,
    ),
    no_effect("key.converter", Kind.STRING, None, "Keys are routed by and copied as they are."),
    no_effect("key.converter.*", Kind.MAP, None, "Keys are routed by and copied as they are."),
    no_effect("header.converter", Kind.STRING, None, "Headers are routed by and copied as they are."),
    no_effect("header.converter.*", Kind.MAP, None, "Headers are routed by and copied as they are."),
    supported(
        "consumer.override.auto.offset.reset",
        Kind.STRING,
        "earliest",
        "Where a new connector starts: `earliest` or `latest`. It decides nothing later on.",
    ),
    supported(
        "consumer.override.*",
        Kind.MAP,
        None,
        "Client settings of the consumers that read the topics.",
        key_class=KeyClass.LIVE,
        members=LIVE_CLIENT_SETTINGS,
    ),
    supported(
        "errors.tolerance",
        Kind.STRING,
        "none",
        "`none`: a record that cannot be written fails the run. `all`: it becomes a dead letter, or is counted where no "
        "place for them is given. A place for dead letters without this key means `all`.",
    ),
    supported(
        "errors.log.enable",
        Kind.BOOLEAN,
        "false",
        "Log bad records: topic, partition, offset, reason.",
        key_class=KeyClass.LIVE,
    ),
    supported(
        "errors.log.include.messages",
        Kind.BOOLEAN,
        "false",
        "Log the beginning of their values too.",
        key_class=KeyClass.LIVE,
    ),
    supported(
        "errors.deadletterqueue.topic.name",
        Kind.STRING,
        None,
        "Topic for dead letters, at least once: a run that is tried again sends them again.",
    ),
    supported(
        "errors.deadletterqueue.topic.replication.factor",
        Kind.INT,
        "3",
        "Of that topic, when floe creates it.",
        minimum=1,
    ),
    supported(
        "errors.deadletterqueue.context.headers.enable",
        Kind.BOOLEAN,
        "false",
        "Add Connect's headers `__connect.errors.…` to dead letters.",
    ),
    no_effect("value.converter.*", Kind.MAP, None, "JSON without schemas has no further settings."),
    no_effect("errors.retry.timeout", Kind.LONG, "0", "Airflow's retries of the task take its place."),
    no_effect("errors.retry.delay.max.ms", Kind.LONG, "60000", "Airflow's retries of the task take its place."),
    no_effect("config.action.reload", Kind.STRING, "restart", "The file is read again for every run."),
    no_effect("tasks.max.enforce", Kind.BOOLEAN, "true", "tasks.max always holds."),
    no_effect("connector.plugin.version", Kind.STRING, None, "There is no plugin path: the version is floe's own."),
    no_effect("producer.override.*", Kind.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    no_effect("admin.override.*", Kind.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    supported(
        "transforms",
        Kind.LIST,
        None,
        "Names of the transforms, in order: KafkaMetadataTransform so far.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "transforms.*",
        Kind.MAP,
        None,
        "Their settings, `transforms.<name>.type` and what that type has; predicates are refused.",
        key_class=KeyClass.REPLAY,
        members=_TRANSFORM_OPTIONS,
    ),
    refused("predicates", Kind.LIST, None, "Comes with the other transforms. Remove it.", ""),
    refused("predicates.*", Kind.MAP, None, "Comes with the other transforms. Remove it."),
    refused("task.id", Kind.STRING, None, "Kafka Connect sets it by itself, it is not for connectors. Remove it."),
)

SINK: Final = (
    supported(
        "iceberg.tables",
        Kind.LIST,
        None,
        "Tables to write, `namespace.table`; each gets every record, or those that it asks for. Required, unless records "
        "name their tables.",
        key_class=KeyClass.REPLAY,
    ),
    supported("iceberg.tables.auto-create-enabled", Kind.BOOLEAN, "false", "Create a table that is missing."),
    supported(
        "iceberg.tables.auto-create-props.*",
        Kind.MAP,
        None,
        "Properties of a table that floe creates, over [its own](#properties-of-created-tables).",
    ),
    supported(
        "iceberg.tables.evolve-schema-enabled",
        Kind.BOOLEAN,
        "false",
        "Add the columns that records bring.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.tables.write-props.*",
        Kind.MAP,
        None,
        "Writer properties, over those of the table.",
        key_class=KeyClass.LIVE,
        members=LIVE_WRITE_PROPERTIES,
    ),
    supported(
        "iceberg.table.write-props.*",
        Kind.MAP,
        None,
        "The same, as Tabular's code spells it.",
        alias_of="iceberg.tables.write-props.*",
        key_class=KeyClass.LIVE,
        members=LIVE_WRITE_PROPERTIES,
    ),
    supported(
        "iceberg.tables.default-partition-by",
        Kind.STRING,
        None,
        "Partitions of a table that floe creates: `col`, `year(col)`, `month(col)`, `day(col)`, `hour(col)`, "
        "`bucket(col, n)`, `truncate(col, n)`, with commas between.",
    ),
    supported(
        "iceberg.tables.default-commit-branch",
        Kind.STRING,
        "main",
        "The branch to commit to.",
        key_class=KeyClass.REPLAY,
    ),
    supported("iceberg.catalog", Kind.STRING, "iceberg", "Name of the catalog."),
    supported("iceberg.catalog.type", Kind.STRING, None, "`sql` or `rest`. Required."),
    supported("iceberg.catalog.*", Kind.MAP, None, "Properties of the catalog, handed through to PyIceberg."),
    supported(
        "iceberg.kafka.*",
        Kind.MAP,
        None,
        "Client settings for the control topic, over the connection's.",
        key_class=KeyClass.LIVE,
        members=LIVE_CLIENT_SETTINGS,
    ),
    supported("iceberg.control.topic", Kind.STRING, "control-iceberg", "The control topic."),
    supported(
        "iceberg.control.commit.interval-ms",
        Kind.INT,
        "300000",
        "Time between two runs.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "iceberg.control.commit.timeout-ms",
        Kind.INT,
        "30000",
        "How long a table's commit is tried again. Its end fails the task; nothing is lost.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    supported("iceberg.connect.group-id", Kind.STRING, "connect-<name>", "The group that holds the position."),
    supported(
        "iceberg.control.group-id",
        Kind.STRING,
        "cg-control-<name>",
        "The group that Tabular's sink kept the source offsets in: a takeover begins there, a hand-back writes it. It "
        "counts unless `connector.class` is Apache's; the position is in iceberg.connect.group-id.",
    ),
    supported("iceberg.coordinator.transactional.prefix", Kind.STRING, "", "Prefix of all transactional ids."),
    no_effect("iceberg.control.group-id-prefix", Kind.STRING, "cg-control-", "No group reads the control topic."),
    supported(
        "iceberg.control.commit.threads",
        Kind.INT,
        "8",
        "Tables that are committed at once.",
        minimum=1,
        key_class=KeyClass.LIVE,
    ),
    no_effect(
        "iceberg.control.commit.max-consecutive-failures",
        Kind.INT,
        "1",
        "A failed commit is never passed over: its task is retried and its rows are kept.",
        minimum=1,
    ),
    no_effect("iceberg.coordinator-executor-keep-alive-timeout-ms", Kind.LONG, "120000", "There is no coordinator."),
    supported(
        "iceberg.tables.dynamic-enabled",
        Kind.BOOLEAN,
        "false",
        "Records name their tables, see routing.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.tables.route-field",
        Kind.STRING,
        None,
        "Path (`a.b`) of the field with the route value: the table's name if dynamic, else what `route-regex` matches.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.table.<table>.route-regex",
        Kind.STRING,
        None,
        "The table gets the records whose route value this expression matches as a whole.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "iceberg.table.<table>.commit-branch",
        Kind.STRING,
        None,
        "The branch of this table, over the default.",
        key_class=KeyClass.REPLAY,
    ),
    supported("iceberg.table.<table>.partition-by", Kind.STRING, None, "Partitions of this table, over the default."),
    supported(
        "iceberg.table.<table>.id-columns", Kind.LIST, None, "Identifier fields of this table, over the default."
    ),
    supported(
        "iceberg.tables.default-id-columns", Kind.LIST, None, "Identifier fields of the tables that floe creates."
    ),
    refused("iceberg.tables.cdc-field", Kind.STRING, None, "Comes with upserts. Remove it: rows are appended."),
    refused("iceberg.tables.upsert-mode-enabled", Kind.BOOLEAN, "false", "Comes with upserts. Rows are appended."),
    no_effect(
        "iceberg.tables.schema-force-optional",
        Kind.BOOLEAN,
        "false",
        "JSON without schemas requires nothing: everything in columns that floe adds is optional as it is.",
    ),
    supported(
        "iceberg.tables.schema-case-insensitive",
        Kind.BOOLEAN,
        "false",
        "A field finds its column whatever the case; without effect on a table with a name mapping.",
        key_class=KeyClass.REPLAY,
    ),
    refused("iceberg.hadoop-conf-dir", Kind.STRING, None, "There is no Hadoop in floe. Set iceberg.catalog.* instead."),
    refused("iceberg.hadoop.*", Kind.MAP, None, "There is no Hadoop in floe. Set iceberg.catalog.* instead."),
    refused(
        "iceberg.coordinator.transactional.suffix",
        Kind.STRING,
        None,
        "The sink sets it by itself, it is not for connectors. Remove it.",
    ),
)

FLOE: Final = (
    supported("floe.kafka.conn-id", Kind.STRING, "kafka_default", "Airflow connection with the brokers."),
    supported(
        "floe.spark.conn-id",
        Kind.STRING,
        "spark_default",
        "Airflow connection with Spark. A run may set one of floe.spark.conn-ids.",
    ),
    supported(
        "floe.spark.conn-ids",
        Kind.LIST,
        None,
        "Airflow connections with Spark that a run may choose from, by floe.spark.conn-id.",
    ),
    supported(
        "floe.max-records-per-run",
        Kind.LONG,
        "50000000",
        "Maximum number of offsets per run. Applies once to new records and separately to the backlog of each table. "
        "-1: unlimited.",
        minimum=-1,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.worker.memory",
        Kind.LONG,
        "419430400",
        "Bytes that a Spark worker is meant to take while it reads: the sizes of its client's buffers.",
        minimum=67_108_864,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.batch.max-bytes",
        Kind.LONG,
        "536870912",
        "The largest batch of Kafka's that is read, in bytes once decompressed; a larger one fails the run, with its place.",
        minimum=1_048_576,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.consumer",
        Kind.STRING,
        "auto",
        "How records are read: `auto`, over the memory of the client where its version is known, or `portable`, by the "
        "client's public interface alone, which is slower and takes up to twice the memory.",
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.write.timeout",
        Kind.INT,
        "-1",
        "Milliseconds that the write of one slice may take, at least 1000; -1 for no limit. A longer one is ended, fails its "
        "run, and the next run reads at most half of the range.",
        minimum=-1,
        key_class=KeyClass.LIVE,
    ),
    refused("floe.max-bytes-per-run", Kind.LONG, "-1", "Offsets tell no bytes. Set floe.max-records-per-run.", "-1"),
    supported(
        "floe.on-data-loss",
        Kind.STRING,
        "fail",
        "When offsets are gone that were not read: `fail`, or `accept` the loss, on record.",
    ),
    supported(
        "floe.route.by",
        Kind.STRING,
        None,
        "Where the route value is: `field`, `header` or `key`.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.header",
        Kind.STRING,
        None,
        "The header with the route value, for `floe.route.by=header`; of several the last counts.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.template",
        Kind.STRING,
        None,
        "Name of each record's table, with `{value}` (the route value) and `{topic}` filled in: `raw.{topic}`. In the place "
        "of iceberg.tables.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.namespace",
        Kind.STRING,
        None,
        "The same as the template `<namespace>.{value}`.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.on-unroutable",
        Kind.STRING,
        None,
        "A record without a usable route value: `fail`, `dead-letter` or `drop`, counted. Default: `dead-letter` if "
        "there is a place for them, else `fail`.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.max-new-tables",
        Kind.INT,
        "100",
        "Tables that one run creates at most; records of further ones are unroutable.",
        minimum=0,
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.table.<table>.topics",
        Kind.LIST,
        None,
        "The only topics that this table gets records of.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.table.<table>.sort-by",
        Kind.STRING,
        None,
        "Sort order of this table, when floe creates it: `a, day(ts) desc nulls last`.",
    ),
    supported("floe.deadletter.table", Kind.STRING, None, "Iceberg table for dead letters, exactly once."),
    supported(
        "floe.deadletter.max-ratio",
        Kind.STRING,
        "1",
        "Share of bad records of a slice (0 to 1) above which the run fails before anything is announced.",
    ),
    supported(
        "floe.schema.on-conflict",
        Kind.STRING,
        "dead-letter",
        "Two types for one new column in one run: the first counts (`dead-letter`), it becomes `string`, or `fail`.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.partition.on-unsuitable",
        Kind.STRING,
        "fail",
        "A partitioning that the columns of a new table do not take: `fail`, or create it `unpartitioned`.",
    ),
)

KEYS: Final[tuple[Key, ...]] = CONNECT + SINK + FLOE
