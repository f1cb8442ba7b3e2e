"""Keys of Kafka Connect itself: name, topics, converters, transforms, errors."""

from typing import Final

from floe.config.keys.key import Kind, no_effect, refused, supported
from floe.config.keys.key_class import KeyClass
from floe.config.keys.loaded_code import CLIENT, TRANSFORM
from floe.config.libraries.client_settings import LIVE_CLIENT_SETTINGS

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
    supported(
        "value.converter",
        Kind.STRING,
        None,
        "The class that values are decoded by, here or in the worker file. Required.",
    ),
    supported(
        "value.converter.schemas.enable",
        Kind.BOOLEAN,
        "true",
        "`true`: values are envelopes of a schema and a payload. `false`: values are plain JSON.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "key.converter",
        Kind.STRING,
        None,
        "The class that keys are decoded by for `floe.route.by=key`; without one they are text. Else it has no effect.",
    ),
    supported("key.converter.*", Kind.MAP, None, "Options of that class."),
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
        code=CLIENT,
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
    supported("value.converter.*", Kind.MAP, None, "Options of that class."),
    no_effect("errors.retry.timeout", Kind.LONG, "0", "Airflow's retries of the task take its place."),
    no_effect("errors.retry.delay.max.ms", Kind.LONG, "60000", "Airflow's retries of the task take its place."),
    no_effect("config.action.reload", Kind.STRING, "restart", "The file is read again for every run."),
    no_effect("tasks.max.enforce", Kind.BOOLEAN, "true", "tasks.max always holds."),
    no_effect("connector.plugin.version", Kind.STRING, None, "There is no plugin path: the version is floe's own."),
    no_effect(
        "consumer.auto.offset.reset",
        Kind.STRING,
        None,
        "As in Connect, which reads it in the worker file: a connector's is consumer.override.auto.offset.reset.",
    ),
    no_effect(
        "transaction.timeout.ms", Kind.LONG, None, "As in Connect: it has no prefix. floe's transactions have 60 s."
    ),
    no_effect(
        "retries", Kind.LONG, None, "As in Connect: it has no prefix. For the control topic: iceberg.kafka.retries."
    ),
    no_effect(
        "max.block.ms", Kind.LONG, None, "As in Connect: it has no prefix. floe's clients have their own time limits."
    ),
    no_effect("producer.override.*", Kind.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    no_effect("admin.override.*", Kind.MAP, None, "Clients of the control topic are set by iceberg.kafka.*."),
    supported(
        "transforms",
        Kind.LIST,
        None,
        "Names of the transforms, in their order.",
        key_class=KeyClass.REPLAY,
    ),
    supported(
        "transforms.*",
        Kind.MAP,
        None,
        "Their settings: `transforms.<name>.type`, what that type has, `predicate`, `negate`.",
        key_class=KeyClass.REPLAY,
        members=_TRANSFORM_OPTIONS,
        code=TRANSFORM,
    ),
    supported("predicates", Kind.LIST, None, "Names of the conditions that transforms may have."),
    supported("predicates.*", Kind.MAP, None, "Their settings: `predicates.<name>.type` and what that type has."),
    refused("task.id", Kind.STRING, None, "Kafka Connect sets it by itself, it is not for connectors. Remove it."),
)
