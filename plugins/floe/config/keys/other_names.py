"""What other tools, older releases and people call the keys of a connector, and the key that means the same here.

Only meanings stand here. Keys that differ from a known one in separators or letters are recognised by their spelling.
Settings of catalogs are in ``floe.config.catalogs.other_names``.
"""

import re
from collections.abc import Mapping
from typing import Final

from floe.config.keys.spelling import letters

_NO_UPSERTS: Final = "floe appends rows, and has no upserts yet: remove it"
_BROKERS: Final = "brokers and their login are in the Airflow connection that floe.kafka.conn-id names: remove it"
_BY_TABLE: Final = "set floe.table.<table>.topics for each table that gets some topics only, or floe.route.template"
_RETRIES: Final = "Airflow tries tasks again: set floe.dag.retries"
_NO_TASK: Final = "the topic is made beforehand, or by the broker: remove it"


def _set(key: str) -> str:
    return f"set {key}"


def _all(key: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, _set(key))


_AUTO_CREATE: Final = "iceberg.tables.auto-create-enabled"
_EVOLVE: Final = "iceberg.tables.evolve-schema-enabled"
_INTERVAL: Final = "iceberg.control.commit.interval-ms"
_DEAD_TOPIC: Final = "errors.deadletterqueue.topic.name"
_DEAD_TABLE: Final = "floe.deadletter.table"
_CATALOG: Final = "iceberg.catalog."

_SINK: Final[Mapping[str, str]] = {
    # Tabular's releases before 0.5, beyond those that are spelled otherwise only
    **_all(_INTERVAL, "iceberg.table.commitIntervalMs", "iceberg.commit.interval-ms", "iceberg.commit.interval.ms"),
    **dict.fromkeys(
        (
            f"iceberg.control.commit.interval{unit}"
            for unit in ("-s", "-sec", "-seconds", "-min", "-minutes", ".seconds")
        ),
        f"set {_INTERVAL}, in milliseconds",
    ),
    **_all("iceberg.control.commit.timeout-ms", "iceberg.table.commitTimeoutMs", "iceberg.commit.timeout-ms"),
    "iceberg.tables.dynamic.namePrefix": "set floe.route.template to the prefix and {value}",
    "iceberg.control.topic.partitions": _NO_TASK,
    "iceberg.control.topic.replication": _NO_TASK,
    "iceberg.control.topic.auto.create": _NO_TASK,
    # proposed for the sink, or on a branch of it
    **dict.fromkeys(
        (
            "iceberg.tables.mapping",
            "iceberg.table.mapping",
            "iceberg.tables.topics",
            "iceberg.topics",
            "iceberg.tables.topic-to-table-mapping",
            "iceberg.tables.topic-to-table",
            "iceberg.tables.topic-mapping",
            "iceberg.topic-to-table-mapping",
            "iceberg.topic2table.map",
        ),
        _BY_TABLE,
    ),
    **_all("iceberg.table.<table>.route-regex", "iceberg.tables.route-pattern", "iceberg.tables.route-regex"),
    **_all("floe.route.namespace", "iceberg.route.topic-name.table-namespace", "iceberg.tables.namespace"),
    **_all("floe.route.namespace", "iceberg.tables.default-namespace", "iceberg.namespace", "iceberg.tables.database"),
    **_all("floe.route.template", "iceberg.tables.template", "iceberg.tables.name-format", "floe.route.pattern"),
    "iceberg.tables.prefix": "set floe.route.template to the prefix and {topic} or {value}",
    "iceberg.tables.router-class": "no class is loaded: set floe.route.by, or floe.route.template",
    "iceberg.router-class": "no class is loaded: set floe.route.by, or floe.route.template",
    "iceberg.tables.drop-col-enabled": "floe drops no columns: remove it",
    "iceberg.write-exception.handler": f"set {_DEAD_TABLE}",
    "iceberg.tables.replace-null-with-default": "set value.converter.replace.null.with.default",
    # words that people have for it
    **_all(
        "iceberg.tables", "iceberg.tables.names", "iceberg.tables.list", "iceberg.table.name", "iceberg.tables.name"
    ),
    **_all(_AUTO_CREATE, "iceberg.tables.create", "iceberg.tables.create-enabled", "iceberg.auto-create"),
    **_all(_AUTO_CREATE, "iceberg.tables.create-if-not-exists", "iceberg.auto-create-enabled", "floe.auto-create"),
    **_all(
        _EVOLVE, "iceberg.tables.schema-evolution", "iceberg.tables.schema-evolution-enabled", "iceberg.evolve-schema"
    ),
    **_all(
        _EVOLVE, "iceberg.tables.auto-evolve", "iceberg.tables.auto-evolve-enabled", "iceberg.tables.evolve-enabled"
    ),
    **_all(_EVOLVE, "iceberg.evolve-schema-enabled", "iceberg.schema-evolution", "floe.schema.evolve"),
    **_all("iceberg.tables.schema-case-insensitive", "iceberg.tables.case-insensitive", "iceberg.case-insensitive"),
    "iceberg.tables.schema-case-sensitive": "set iceberg.tables.schema-case-insensitive, with the opposite value",
    **_all("iceberg.tables.schema-force-optional", "iceberg.tables.force-optional", "iceberg.tables.all-optional"),
    **_all("iceberg.tables.dynamic-enabled", "iceberg.tables.dynamic", "iceberg.tables.dynamic-routing-enabled"),
    **_all("iceberg.tables.dynamic-enabled", "iceberg.tables.dynamic-routing", "iceberg.dynamic-enabled"),
    **_all("iceberg.tables.route-field", "iceberg.route-field", "iceberg.tables.routing-field", "floe.route.field"),
    **_all("iceberg.tables.default-commit-branch", "iceberg.tables.branch", "iceberg.branch", "iceberg.commit-branch"),
    **_all("iceberg.tables.default-partition-by", "iceberg.tables.partitioning", "iceberg.tables.default-partition"),
    **_all("iceberg.tables.default-partition-by", "iceberg.partition-by", "iceberg.tables.default-partition-spec"),
    **_all("iceberg.tables.default-partition-by", "iceberg.tables.partition-spec", "iceberg.tables.partitioned-by"),
    **_all("iceberg.tables.default-id-columns", "iceberg.tables.identifier-fields", "iceberg.tables.primary-keys"),
    **_all("iceberg.tables.default-id-columns", "iceberg.tables.primary-key", "iceberg.tables.key-columns"),
    **_all("iceberg.tables.default-id-columns", "iceberg.tables.id-fields", "iceberg.tables.default-id-fields"),
    **_all("floe.table.<table>.sort-by", "iceberg.tables.default-sort-by", "iceberg.tables.sort-by"),
    **_all("floe.table.<table>.sort-by", "iceberg.tables.default-sort-order", "iceberg.tables.sort-order"),
    **dict.fromkeys(
        (
            *(
                "iceberg.tables.upsert",
                "iceberg.tables.upsert-enabled",
                "iceberg.upsert-mode-enabled",
                "iceberg.upsert",
            ),
            *("iceberg.tables.delete-enabled", "iceberg.tables.deletes-enabled", "iceberg.cdc-field", "floe.upsert"),
        ),
        _NO_UPSERTS,
    ),
    **_all("iceberg.tables.write-props.write.format.default", "iceberg.file-format", "iceberg.tables.file-format"),
    **_all("iceberg.tables.write-props.write.format.default", "iceberg.tables.write-format"),
    **_all("iceberg.tables.write-props.write.parquet.compression-codec", "iceberg.compression-codec"),
    **_all("iceberg.tables.write-props.write.target-file-size-bytes", "iceberg.target-file-size-bytes"),
    **_all(
        "iceberg.tables.auto-create-props.format-version", "iceberg.format-version", "iceberg.tables.format-version"
    ),
    **_all("iceberg.connect.group-id", "iceberg.group-id", "iceberg.consumer.group-id", "floe.group-id"),
    **_all("iceberg.control.topic", "iceberg.control-topic.name", "iceberg.control.topic.name"),
    **_all("iceberg.coordinator.transactional.prefix", "iceberg.transactional.prefix"),
    # catalogs, as Trino and others have them
    **_all("iceberg.catalog", "iceberg.catalog-name", "iceberg.catalog_name", "iceberg.name"),
    **_all(f"{_CATALOG}catalog-impl", "iceberg.catalog-impl"),
    **_all(f"{_CATALOG}warehouse", "iceberg.warehouse", "iceberg.rest-catalog.warehouse"),
    **_all(f"{_CATALOG}warehouse", "iceberg.jdbc-catalog.default-warehouse-dir"),
    **_all(f"{_CATALOG}warehouse", "iceberg.nessie-catalog.default-warehouse-dir"),
    **_all(f"{_CATALOG}uri", "iceberg.uri", "iceberg.rest-catalog.uri", "iceberg.jdbc-catalog.connection-url"),
    **_all(f"{_CATALOG}uri", "iceberg.nessie-catalog.uri", "iceberg.rest.uri", "iceberg.rest-catalog.url"),
    **_all(f"{_CATALOG}ref", "iceberg.nessie-catalog.ref"),
    **_all(f"{_CATALOG}prefix", "iceberg.rest-catalog.prefix"),
    **_all(f"{_CATALOG}rest.auth.type", "iceberg.rest-catalog.security"),
    **_all(f"{_CATALOG}credential", "iceberg.rest-catalog.oauth2.credential"),
    **_all(f"{_CATALOG}token", "iceberg.rest-catalog.oauth2.token"),
    **_all(f"{_CATALOG}scope", "iceberg.rest-catalog.oauth2.scope"),
    **_all(f"{_CATALOG}oauth2-server-uri", "iceberg.rest-catalog.oauth2.server-uri"),
    **_all(f"{_CATALOG}rest.sigv4-enabled", "iceberg.rest-catalog.sigv4-enabled"),
    **_all(f"{_CATALOG}rest.signing-name", "iceberg.rest-catalog.signing-name"),
    "iceberg.rest-catalog.vended-credentials-enabled": (
        f"set {_CATALOG}header.X-Iceberg-Access-Delegation to vended-credentials"
    ),
    **_all(f"{_CATALOG}jdbc.user", "iceberg.jdbc-catalog.connection-user"),
    **_all(f"{_CATALOG}jdbc.password", "iceberg.jdbc-catalog.connection-password"),
    "iceberg.jdbc-catalog.catalog-name": "set iceberg.catalog, which is the catalog's name",
    # floe's own, said otherwise
    **_all("floe.max-records-per-run", "floe.max-records", "floe.max-offsets-per-run", "floe.records-per-run"),
    **_all(
        "floe.freshness.max-ms", "floe.freshness", "floe.freshness-ms", "floe.freshness.max", "floe.max-freshness-ms"
    ),
    **_all("floe.schedule", "floe.cron", "floe.dag.schedule", "floe.schedule.cron"),
    **_all("floe.dag.retries", "floe.dag.retry", "floe.retries"),
    **_all("floe.dag.is-paused", "floe.dag.paused", "floe.paused"),
    **_all("floe.dag.run-timeout", "floe.dag.timeout"),
    **_all("floe.deadletter.max-ratio", "floe.deadletter.ratio", "floe.deadletter.max-rate"),
    **_all("floe.schema.case", "floe.schema.case-sensitive", "floe.case", "floe.schema.casing"),
    **_all("floe.kafka.conn-id", "floe.kafka.conn", "floe.kafka.connection", "floe.kafka.connection-id"),
    **_all("floe.spark.conn-id", "floe.spark.conn", "floe.spark.connection", "floe.spark.connection-id"),
    **_all("floe.registry.conn-id", "floe.schema-registry.conn-id", "floe.registry.connection-id"),
    **_all("floe.catalog.conn-id", "floe.catalog.connection-id", "floe.iceberg.conn-id"),
    **_all("floe.schedule.timezone", "floe.schedule.tz"),
    **_all("floe.schedule.timezone", "floe.timezone", "floe.dag.timezone"),
    **_all(_INTERVAL, "floe.commit.interval-ms", "floe.interval-ms", "floe.schedule.interval-ms"),
    **_all(
        _DEAD_TABLE, "floe.dlq.table", "floe.errors.table", "errors.deadletterqueue.table", "iceberg.deadletter.table"
    ),
    **_all(_DEAD_TABLE, "errors.deadletterqueue.table.name", "errors.deadletter.table", "floe.deadletterqueue.table"),
    **_all(_DEAD_TOPIC, "floe.deadletter.topic", "floe.dlq.topic", "floe.deadletter.topic.name"),
    # Kafka Connect's
    **_all(_DEAD_TOPIC, "errors.deadletterqueue.topic", "errors.deadletterqueue.name", "errors.dlq.topic.name"),
    **_all(_DEAD_TOPIC, "errors.deadletter.topic.name", "errors.dlq.topic", "errors.deadletterqueue"),
    **_all("errors.deadletterqueue.topic.replication.factor", "errors.deadletterqueue.replication.factor"),
    **_all("errors.deadletterqueue.context.headers.enable", "errors.deadletterqueue.headers.enable"),
    **_all("errors.log.enable", "errors.log"),
    **_all("errors.log.include.messages", "errors.log.messages", "errors.log.include.message.values"),
    **dict.fromkeys(("errors.retries.limit", "errors.retry.limit", "errors.retries", "errors.max.retries"), _RETRIES),
    "errors.allowed.max": "set floe.deadletter.max-ratio, a share of the records",
}
"""Of families that floe knows completely, where an unknown key is refused."""

_OTHERS: Final[Mapping[str, str]] = {
    **_all("tasks.max", "max.tasks", "tasks", "parallelism", "tasks.maximum"),
    **_all("topics", "kafka.topics", "kafka.topic", "topic.names", "source.topics", "topics.list"),
    **_all("topics.regex", "topics.pattern", "topic.pattern", "kafka.topics.regex"),
    **_all("name", "connector.name"),
    **_all("connector.class", "class", "connector.type"),
    **_all("consumer.override.auto.offset.reset", "auto.offset.reset", "kafka.auto.offset.reset"),
    **_all("consumer.override.max.partition.fetch.bytes", "max.partition.fetch.bytes"),
    **_all("iceberg.connect.group-id", "group.id", "consumer.group.id", "consumer.override.group.id"),
    **dict.fromkeys(("bootstrap.servers", "kafka.bootstrap.servers", "brokers", "kafka.brokers"), _BROKERS),
    **dict.fromkeys(("security.protocol", "sasl.mechanism", "sasl.jaas.config", "consumer.sasl.jaas.config"), _BROKERS),
    **_all("value.converter.schema.registry.url", "schema.registry.url", "kafka.schema.registry.url"),
    **_all("value.converter", "value.deserializer", "value.format"),
    **_all("key.converter", "key.deserializer"),
    **_all("floe.table.<table>.topics", "topic2table.map", "topics.to.tables", "snowflake.topic2table.map"),
    **_all("floe.route.template", "table.name.format", "collection.name.format"),
    **_all("floe.route.namespace", "table.namespace"),
    "table.prefix": "set floe.route.template to the prefix and {topic}",
    **_all(_AUTO_CREATE, "auto.create", "table.auto-create", "auto.create.tables"),
    **_all(_EVOLVE, "auto.evolve", "table.schema-evolution", "allow-field-addition", "schema.evolution"),
    **dict.fromkeys(
        ("upsert", "upsert.keep-deletes", "insert.mode", "delete.enabled", "pk.mode", "write.upsert.enabled"),
        _NO_UPSERTS,
    ),
    **_all("iceberg.tables.default-id-columns", "pk.fields", "primary.key"),
    **_all(_INTERVAL, "commit.interval.ms", "flush.interval.ms", "rotate.interval.ms", "offset.flush.interval.ms"),
    **_all("floe.max-records-per-run", "flush.size", "max.poll.records", "consumer.max.poll.records"),
    **_all(_DEAD_TOPIC, "dlq.topic", "deadletterqueue.topic.name"),
    **_all("errors.tolerance", "behavior.on.error", "behavior.on.malformed.documents"),
    **_all(f"{_CATALOG}type", "catalog-type", "catalog.type"),
    **_all(f"{_CATALOG}catalog-impl", "catalog-impl"),
    **_all("iceberg.catalog", "catalog-name", "catalog.name"),
    **_all(f"{_CATALOG}warehouse", "warehouse", "warehouse.path"),
    **_all(f"{_CATALOG}uri", "uri", "catalog.uri", "hive.metastore.uri", "hive.metastore.uris"),
    **_all(f"{_CATALOG}io-impl", "io-impl"),
    **_all(f"{_CATALOG}client.region", "aws.region", "s3.region"),
    **_all(f"{_CATALOG}s3.endpoint", "s3.endpoint", "aws.s3.endpoint"),
    **_all(f"{_CATALOG}s3.path-style-access", "s3.path-style-access"),
}
"""Of families that are others', where an unknown key has no effect, as in Kafka Connect."""

_MOVED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("iceberg.auto-create-props.", "iceberg.table.auto-create-props.", "iceberg.tables.create-props."),
        "iceberg.tables.auto-create-props.",
    ),
    **dict.fromkeys(("iceberg.write-props.", "iceberg.tables.writer-props."), "iceberg.tables.write-props."),
    "iceberg.consumer.": "consumer.override.",
}
"""Beginnings of keys, and what they are here."""

_HADOOP: Final = re.compile(r"(?:iceberg\.|spark\.|hadoop\.)?(fs\.(?:s3a|s3|s3n)\..+)", re.DOTALL)
_TABLE_DEFAULT: Final = re.compile(r"iceberg\.table-default\.(.+)", re.DOTALL)
_SPARK: Final = re.compile(r"spark\.(sql\.catalog\.[^.]+|hadoop)\.(.+)", re.DOTALL)

_TABLE: Final[Mapping[str, str]] = {
    **_all("floe.table.{}.sort-by", "sort-by", "sort-order", "sorted-by", "sort-columns", "write-order", "order-by"),
    **_all("floe.table.{}.topics", "topics", "topic", "topics.list", "source-topics"),
    **_all("iceberg.table.{}.partition-by", "partition-by", "partitioned-by", "partition-spec", "partitioning"),
    **_all("iceberg.table.{}.partition-by", "partition-columns", "partitions", "partition-fields", "partition"),
    **_all(
        "iceberg.table.{}.id-columns", "id-columns", "identifier-fields", "id-fields", "primary-key", "primary-keys"
    ),
    **_all("iceberg.table.{}.id-columns", "key-columns", "pk-columns", "unique-key", "identifier-columns"),
    **_all("iceberg.table.{}.commit-branch", "commit-branch", "branch", "branch-name", "target-branch", "ref"),
    **_all("iceberg.table.{}.route-regex", "route-regex", "regex", "route-pattern", "route-expression", "filter-regex"),
    "routeValues": "set iceberg.table.{}.route-regex, to the values with | between",
    "route-values": "set iceberg.table.{}.route-regex, to the values with | between",
    "route-field": "set iceberg.tables.route-field, which is for all tables",
    "format-version": "set iceberg.tables.auto-create-props.format-version, which is for all tables that floe creates",
    **dict.fromkeys(("cdc-field", "upsert-mode-enabled", "upsert", "upsert-enabled"), _NO_UPSERTS),
    **_all(_AUTO_CREATE, "auto-create-enabled", "auto-create"),
    **_all(_EVOLVE, "evolve-schema-enabled", "evolve-schema", "schema-evolution"),
}


_OF_PROPERTIES: Final[Mapping[str, str]] = {
    "version": "format-version",
    "table.format-version": "format-version",
    "format": "write.format.default",
    "file-format": "write.format.default",
    "write.format": "write.format.default",
    "compression-codec": "write.parquet.compression-codec",
    "write.compression-codec": "write.parquet.compression-codec",
    "write.parquet.compression": "write.parquet.compression-codec",
    "parquet.compression": "write.parquet.compression-codec",
    "target-file-size-bytes": "write.target-file-size-bytes",
    "write.target-file-size": "write.target-file-size-bytes",
    "commit.manifest.enabled": "commit.manifest-merge.enabled",
    "partition-by": "iceberg.tables.default-partition-by",
    "partitioning": "iceberg.tables.default-partition-by",
    "sort-order": "floe.table.<table>.sort-by",
    "sorted-by": "floe.table.<table>.sort-by",
}
"""Properties of tables that people write, with the one, or the connector's key, that means it."""

_BY_LETTERS: Final = {letters(name): text for name, text in {**_OTHERS, **_SINK}.items()}
_SETTINGS: Final = {letters(name): text for name, text in _TABLE.items()}
_PROPERTIES: Final = {letters(name): text for name, text in _OF_PROPERTIES.items()}


def of_connector(key: str) -> str:
    """Return what means the same as a ``key`` that another tool, or an older release, has; empty if that is not known."""
    if spark := _SPARK.fullmatch(key):
        begin = "iceberg.hadoop." if spark[1] == "hadoop" else _CATALOG
        return _set(f"{begin}{spark[2]}")
    for begin, moved in _MOVED.items():
        if key.startswith(begin) and key != begin:
            return _set(moved + key.removeprefix(begin))
    if hadoop := _HADOOP.fullmatch(key):
        return _set(f"iceberg.hadoop.{hadoop[1]}")
    if default := _TABLE_DEFAULT.fullmatch(key):
        return _set(f"iceberg.tables.auto-create-props.{default[1]}")
    return _BY_LETTERS.get(letters(key), "")


def of_table(table: str, setting: str) -> str:
    """Return what means the same as a setting of one table that there is not; empty if that is not known."""
    return _SETTINGS.get(letters(setting), "").replace("{}", table)


def of_property(name: str) -> str | None:
    """Return the property of tables, or the key, that means what another ``name`` does; None if that is not known."""
    return _PROPERTIES.get(letters(name))
