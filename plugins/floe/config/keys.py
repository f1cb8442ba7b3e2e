"""The table of keys: every key that a connector may hold stands here, and nowhere else.

A key of the Iceberg sink keeps its name, type and default. The tables in ``docs/configuration.md`` are printed from
this one (``python -m floe.config keys``), and a test compares them. Of several patterns the first match counts.
"""

from typing import Final

from floe.config.key import Key, Kind, no_effect, refused, supported

CONNECT: Final = (
    supported("name", Kind.STRING, "the file's name without .json", "Name of the connector and of its DAG."),
    supported("connector.class", Kind.STRING, "IcebergSinkConnector", "The sink's class, Apache's or Tabular's."),
    supported("topics", Kind.LIST, None, "Topics to read. Required."),
    supported("tasks.max", Kind.INT, "1", "Most Spark tasks that one run reads and writes with.", minimum=1),
    supported("value.converter", Kind.STRING, None, "How values are decoded: JsonConverter. Required."),
    supported(
        "value.converter.schemas.enable",
        Kind.BOOLEAN,
        "true",
        "Must be given as `false`, as its default is Connect's: values with a schema envelope are not supported yet.",
    ),
    supported("key.converter", Kind.STRING, None, "Taken and not used: record keys are not written."),
    supported("key.converter.*", Kind.MAP, None, "Taken and not used: record keys are not written."),
    supported("header.converter", Kind.STRING, None, "Taken and not used: record headers are not written."),
    supported("header.converter.*", Kind.MAP, None, "Taken and not used: record headers are not written."),
    supported(
        "consumer.override.auto.offset.reset",
        Kind.STRING,
        "earliest",
        "Where a new connector starts: `earliest` or `latest`. It decides nothing later on.",
    ),
    supported("consumer.override.*", Kind.MAP, None, "Client settings of the consumers that read the topics."),
    supported("errors.tolerance", Kind.STRING, "none", "`none`: a record that cannot be written fails the run."),
    no_effect("value.converter.*", Kind.MAP, None, "JSON without schemas has no further settings."),
    no_effect("errors.retry.timeout", Kind.LONG, "0", "Airflow's retries of the task take its place."),
    no_effect("errors.retry.delay.max.ms", Kind.LONG, "60000", "Airflow's retries of the task take its place."),
    no_effect("errors.log.enable", Kind.BOOLEAN, "false", "An error always names topic, partition and offset."),
    no_effect("errors.log.include.messages", Kind.BOOLEAN, "false", "The content of records is never logged."),
    no_effect("config.action.reload", Kind.STRING, "restart", "The file is read anew for every run."),
    no_effect("tasks.max.enforce", Kind.BOOLEAN, "true", "tasks.max always holds."),
    no_effect("connector.plugin.version", Kind.STRING, None, "There is no plugin path: the version is floe's own."),
    no_effect("producer.override.*", Kind.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    no_effect("admin.override.*", Kind.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    refused("topics.regex", Kind.STRING, None, "Comes with routing. List the names in topics."),
    refused("transforms", Kind.LIST, None, "Comes with the transforms. Remove it, or transform upstream.", ""),
    refused("transforms.*", Kind.MAP, None, "Comes with the transforms. Remove it, or transform upstream."),
    refused("predicates", Kind.LIST, None, "Comes with the transforms. Remove it.", ""),
    refused("predicates.*", Kind.MAP, None, "Comes with the transforms. Remove it."),
    refused("errors.deadletterqueue.*", Kind.MAP, None, "Comes with the dead letters. Remove it."),
    refused("task.id", Kind.STRING, None, "Kafka Connect sets it by itself, it is not for connectors. Remove it."),
)

SINK: Final = (
    supported(
        "iceberg.tables", Kind.LIST, None, "Tables to write, `namespace.table`; each gets every record. Required."
    ),
    supported("iceberg.tables.auto-create-enabled", Kind.BOOLEAN, "false", "Create the table if it is missing."),
    supported("iceberg.tables.auto-create-props.*", Kind.MAP, None, "Properties of a table that floe creates."),
    supported("iceberg.tables.evolve-schema-enabled", Kind.BOOLEAN, "false", "Add the columns that records bring."),
    supported("iceberg.tables.write-props.*", Kind.MAP, None, "Writer properties, over those of the table."),
    supported(
        "iceberg.table.write-props.*",
        Kind.MAP,
        None,
        "The same, as Tabular's code spells it.",
        alias_of="iceberg.tables.write-props.*",
    ),
    supported(
        "iceberg.tables.default-partition-by",
        Kind.STRING,
        None,
        "Partitions of a table that floe creates: `col`, `year(col)`, `month(col)`, `day(col)`, `hour(col)`, "
        "`bucket(col, n)`, `truncate(col, n)`, with commas between.",
    ),
    supported("iceberg.tables.default-commit-branch", Kind.STRING, "main", "The branch to commit to."),
    supported("iceberg.catalog", Kind.STRING, "iceberg", "Name of the catalog."),
    supported("iceberg.catalog.type", Kind.STRING, None, "`sql` or `rest`. Required."),
    supported("iceberg.catalog.*", Kind.MAP, None, "Properties of the catalog, handed through to PyIceberg."),
    supported("iceberg.kafka.*", Kind.MAP, None, "Client settings for the control topic, over the connection's."),
    supported("iceberg.control.topic", Kind.STRING, "control-iceberg", "The control topic."),
    supported("iceberg.control.commit.interval-ms", Kind.INT, "300000", "Time between two runs.", minimum=1),
    supported(
        "iceberg.control.commit.timeout-ms",
        Kind.INT,
        "30000",
        "How long a table's commit is tried again. Its end fails the task; nothing is lost.",
        minimum=1,
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
    no_effect("iceberg.control.commit.threads", Kind.INT, "twice the cores", "One task commits one table.", minimum=1),
    no_effect(
        "iceberg.control.commit.max-consecutive-failures",
        Kind.INT,
        "1",
        "A failed commit is never passed over: its task is retried and its rows are kept.",
        minimum=1,
    ),
    no_effect("iceberg.coordinator-executor-keep-alive-timeout-ms", Kind.LONG, "120000", "There is no coordinator."),
    refused(
        "iceberg.tables.dynamic-enabled", Kind.BOOLEAN, "false", "Comes with routing. Name the table in iceberg.tables."
    ),
    refused("iceberg.tables.route-field", Kind.STRING, None, "Comes with routing. Remove it."),
    refused("iceberg.table.<table>.route-regex", Kind.STRING, None, "Comes with routing. Remove it."),
    refused(
        "iceberg.table.<table>.commit-branch",
        Kind.STRING,
        None,
        "Comes with routing. Use iceberg.tables.default-commit-branch.",
    ),
    refused(
        "iceberg.table.<table>.partition-by",
        Kind.STRING,
        None,
        "Comes with routing. Use iceberg.tables.default-partition-by.",
    ),
    refused("iceberg.table.<table>.id-columns", Kind.STRING, None, "Comes with upserts. Remove it."),
    refused("iceberg.tables.default-id-columns", Kind.STRING, None, "Comes with upserts. Remove it."),
    refused("iceberg.tables.cdc-field", Kind.STRING, None, "Comes with upserts. Remove it: rows are appended."),
    refused("iceberg.tables.upsert-mode-enabled", Kind.BOOLEAN, "false", "Comes with upserts. Rows are appended."),
    refused("iceberg.tables.schema-force-optional", Kind.BOOLEAN, "false", "Comes with the full schema rules."),
    refused("iceberg.tables.schema-case-insensitive", Kind.BOOLEAN, "false", "Comes with the full schema rules."),
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
    supported("floe.spark.conn-id", Kind.STRING, "spark_default", "Airflow connection with Spark."),
    supported(
        "floe.max-records-per-run", Kind.LONG, "50000000", "Most records of one run; -1 for no limit.", minimum=-1
    ),
    refused("floe.max-bytes-per-run", Kind.LONG, "-1", "Offsets tell no bytes. Set floe.max-records-per-run.", "-1"),
    supported(
        "floe.on-data-loss",
        Kind.STRING,
        "fail",
        "When offsets are gone that were not read: `fail`, or `accept` the loss, on record.",
    ),
    refused("floe.deadletter.*", Kind.MAP, None, "Comes with the dead letters. Remove it."),
    refused("floe.route.*", Kind.MAP, None, "Comes with routing. Remove it."),
    refused("floe.table.*", Kind.MAP, None, "Comes with routing. Remove it."),
    refused("floe.schema.on-conflict", Kind.STRING, None, "Comes with the full schema rules.", "fail"),
    refused("floe.partition.on-unsuitable", Kind.STRING, None, "Comes with the full schema rules.", "fail"),
)

KEYS: Final[tuple[Key, ...]] = CONNECT + SINK + FLOE
