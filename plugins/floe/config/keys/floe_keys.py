"""Keys of floe's own, which begin with ``floe.``."""

from __future__ import annotations

from typing import Final

from floe.config.keys.key import KeyType, refused, supported
from floe.config.keys.key_class import KeyClass
from floe.config.keys.loaded_code import IN_PYTHON

FLOE: Final = (
    supported(
        "floe.kafka.conn-id",
        KeyType.STRING,
        "kafka_default",
        "Airflow connection with the brokers. Without one: the worker file's.",
    ),
    supported(
        "floe.spark.conn-id",
        KeyType.STRING,
        "spark_default",
        "Airflow connection with Spark. A run may set one of floe.spark.conn-ids.",
    ),
    supported(
        "floe.spark.conn-ids",
        KeyType.LIST,
        None,
        "Airflow connections with Spark that a run may choose from, by floe.spark.conn-id.",
    ),
    supported(
        "floe.registry.conn-id",
        KeyType.STRING,
        None,
        "Airflow connection with the schema registry: its address, login and options, under those of the converters.",
    ),
    supported(
        "floe.catalog.conn-id",
        KeyType.STRING,
        None,
        "Airflow connection with the catalog: its address, login and properties, under iceberg.catalog.*.",
    ),
    supported(
        "floe.aws.conn-id",
        KeyType.STRING,
        None,
        "Airflow connection of type aws: keys, region and endpoint of S3 and Glue, under iceberg.catalog.*.",
    ),
    supported(
        "floe.max-records-per-run",
        KeyType.LONG,
        "50000000",
        "Maximum number of offsets per run. Applies once to new records and separately to the backlog of each table. "
        "-1: unlimited.",
        minimum=-1,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.worker.memory",
        KeyType.LONG,
        "419430400",
        "Bytes that a Spark worker is meant to take while it reads: the sizes of its client's buffers.",
        minimum=67_108_864,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.batch.max-bytes",
        KeyType.LONG,
        "536870912",
        "The largest batch of Kafka's that is read, in bytes once decompressed; a larger one fails the run, with its place.",
        minimum=1_048_576,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.consumer",
        KeyType.STRING,
        "auto",
        "How records are read: `auto`, over the memory of the client where its version is known, or `portable`, by the "
        "client's public interface alone, which is slower and takes up to twice the memory.",
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.write.timeout",
        KeyType.INT,
        "-1",
        "Milliseconds that the write of one slice may take, at least 1000; -1 for no limit. A longer one is ended, fails its "
        "run, and the next run reads at most half of the range.",
        minimum=-1,
        key_class=KeyClass.LIVE,
    ),
    supported(
        "floe.freshness.max-ms",
        KeyType.LONG,
        "-1",
        "Milliseconds, at least 1000, after which a record has to be in its table; else the table is late, and an alert says "
        "so, once. -1: not watched.",
        minimum=-1,
    ),
    refused("floe.max-bytes-per-run", KeyType.LONG, "-1", "Offsets tell no bytes. Set floe.max-records-per-run.", "-1"),
    supported(
        "floe.on-data-loss",
        KeyType.STRING,
        "fail",
        "When offsets are gone that were not read: `fail`, or `accept` the loss, on record.",
    ),
    supported(
        "floe.route.by",
        KeyType.STRING,
        None,
        "Where the route value is: `field`, `header` or `key`; with iceberg.tables.route-field in that field of the key.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.header",
        KeyType.STRING,
        None,
        "The header with the route value, for `floe.route.by=header`; of several the last counts.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.template",
        KeyType.STRING,
        None,
        "Name of each record's table, with `{value}` (the route value) and `{topic}` filled in: `raw.{topic}`. In the place "
        "of iceberg.tables.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.namespace",
        KeyType.STRING,
        None,
        "The same as the template `<namespace>.{value}`.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.on-unroutable",
        KeyType.STRING,
        None,
        "A record without a usable route value: `fail`, `dead-letter` or `drop`, counted. Default: `dead-letter` if "
        "there is a place for them, else `fail`.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.route.max-new-tables",
        KeyType.INT,
        "100",
        "Tables that one run creates at most; records of further ones are unroutable.",
        minimum=0,
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.table.<table>.topics",
        KeyType.LIST,
        None,
        "The only topics that this table gets records of.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.table.<table>.sort-by",
        KeyType.STRING,
        None,
        "Sort order of this table, when floe creates it: `a, day(ts) desc nulls last`.",
    ),
    supported("floe.deadletter.table", KeyType.STRING, None, "Iceberg table for dead letters, exactly once."),
    supported(
        "floe.deadletter.max-ratio",
        KeyType.STRING,
        "1",
        "Share of bad records of a slice (0 to 1) above which the run fails before anything is announced.",
    ),
    supported(
        "floe.schema.on-conflict",
        KeyType.STRING,
        "dead-letter",
        "Two types for one new column in one run: the first counts (`dead-letter`), it becomes `string`, or `fail`.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.schema.case",
        KeyType.STRING,
        "unique",
        "New columns whose names differ from others of the same struct by case only: `unique`, their records are rejected, "
        "as Spark, Trino and Hive cannot read such a table; or `sensitive`, they are added.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.debezium.types",
        KeyType.BOOLEAN,
        "false",
        "Read Debezium's semantic types (`io.debezium.time.*`, `Uuid`, `VariableScaleDecimal`) as what they mean; by default "
        "they are numbers, texts and structs, as by the sink.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "floe.partition.on-unsuitable",
        KeyType.STRING,
        "fail",
        "A partitioning that the columns of a new table do not take: `fail`, or create it `unpartitioned`.",
    ),
)


# Keys of floe's own about the DAGs of a connector: when their runs begin, and how Airflow runs and shows them.
#
# They count when the connector file is parsed, so no run can set them.


DAG: Final = (
    supported(
        "floe.schedule",
        KeyType.STRING,
        None,
        "When runs begin, in the place of iceberg.control.commit.interval-ms: a cron expression (`30 6 * * 1-5`); "
        "`@hourly`, `@daily`, `@weekly`, `@monthly`, `@quarterly` or `@yearly`; URIs of Airflow assets, separated by commas, "
        "each of which must have been updated since the last run; or `manual`, by triggers only.",
    ),
    supported("floe.schedule.timezone", KeyType.STRING, "UTC", "Time zone of a cron expression: `Europe/Berlin`."),
    supported("floe.dag.owner", KeyType.STRING, "floe", "Owner of the tasks, as Airflow shows and filters it."),
    supported("floe.dag.tags", KeyType.LIST, None, "Further tags of the DAGs, beside floe's own."),
    supported(
        "floe.dag.access-control.*",
        KeyType.LIST,
        None,
        "What a role of Airflow's FAB auth manager may do with both DAGs, the role in the key: `can_read`, `can_edit`, "
        "`can_delete`, `can_trigger`, which FAB grants to those who have `can_edit` too. The role must exist.",
    ),
    supported(
        "floe.dag.pool",
        KeyType.STRING,
        None,
        "Airflow pool of the tasks; it must exist, or they wait for ever. For many connectors: one with as many slots as "
        "Spark jobs may run at once. Commits go before writes, and both before plans. Default: Airflow's.",
    ),
    supported(
        "floe.dag.queue", KeyType.STRING, None, "Queue of the tasks, for executors with queues. Default: Airflow's."
    ),
    supported(
        "floe.dag.priority-weight", KeyType.INT, "1", "Priority of the tasks over others of the pool.", minimum=1
    ),
    supported(
        "floe.dag.retries",
        KeyType.INT,
        "2",
        "Retries of plan and write after an error that may pass. The commit has 5, or these if they are more.",
        minimum=0,
    ),
    supported(
        "floe.dag.retry-delay",
        KeyType.INT,
        "10000",
        "Milliseconds before a retry; the commit's are doubled each time.",
        minimum=0,
    ),
    supported(
        "floe.dag.run-timeout",
        KeyType.INT,
        "-1",
        "Milliseconds that a run of the connector's DAG may take, at least 1000; then Airflow fails it. -1 for no limit.",
        minimum=-1,
    ),
    supported(
        "floe.dag.task-timeout",
        KeyType.INT,
        "-1",
        "Milliseconds that one try of a task may take, at least 1000; -1 for no limit. See floe.write.timeout first: it lets "
        "the next run read less.",
        minimum=-1,
    ),
    supported("floe.dag.max-active-replays", KeyType.INT, "4", "Runs of the replay DAG at the same time.", minimum=1),
    supported(
        "floe.dag.is-paused",
        KeyType.BOOLEAN,
        None,
        "Whether the connector's DAG is paused when Airflow sees it first. Default: Airflow's.",
    ),
    supported(
        "floe.dag.on-failure-callback",
        KeyType.STRING,
        None,
        "Called once for each run of both DAGs that fails, and when a table is late: `python:package.module.attribute`, a "
        "function that takes Airflow's context or a notifier, of a module of FLOE_CALLBACK_MODULES.",
        code=IN_PYTHON,
    ),
    supported(
        "floe.dag.on-success-callback",
        KeyType.STRING,
        None,
        "Called once for each run of both DAGs that succeeds, likewise.",
        code=IN_PYTHON,
    ),
)
