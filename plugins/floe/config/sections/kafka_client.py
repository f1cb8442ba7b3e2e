"""Kafka client settings in a connector: those that floe owns, and those that run foreign code.

The client is librdkafka. Java's settings are translated, others that it does not know are refused with the nearest known
name.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from floe.config.kafka.translation import CODE_OF_LOGIN, TRANSLATED, WITHOUT_EFFECT, translate
from floe.config.keys.loaded_code import CLIENT
from floe.config.keys.reader import Settings
from floe.config.libraries.client_settings import CLIENT_NAMES, unusable_client_values
from floe.config.libraries.library_settings import unknown_settings
from floe.config.properties import Properties

CONTROL_PREFIX = "iceberg.kafka."
CONSUMER_PREFIX = "consumer.override."
_OFFSET_RESET = "auto.offset.reset"
_VERIFIED_NAME = "ssl.endpoint.identification.algorithm"

# key: (the one value that floe sets anyway, why)
_OWNED = {
    "group.id": (None, "the group is iceberg.connect.group-id"),
    "transactional.id": (None, "floe names its transactions; their prefix is iceberg.coordinator.transactional.prefix"),
    "enable.auto.commit": ("false", "the position moves only after the tables hold the rows"),
    "enable.auto.offset.store": ("false", "the position moves only after the tables hold the rows"),
    "isolation.level": ("read_committed", "records of aborted transactions must not reach a table"),
    "enable.idempotence": ("true", "announcements are sent in transactions"),
    "acks": ("all", "announcements are sent in transactions"),
    "request.required.acks": ("all", "announcements are sent in transactions"),
}
_NO_EFFECT = {"transaction.timeout.ms": "floe's transactions have 60 s"}
_IN_CONNECTION = "Put it into the Airflow connection"


@dataclass(frozen=True)
class ClientKeys:
    """Settings of the connector's own for its Kafka clients: those of the control topic, and the consumers of its topics."""

    control: Properties
    consumer: Properties


def read_control_client(settings: Settings) -> Properties:
    """Read ``iceberg.kafka.*`` without the prefix, and without ``auto.offset.reset``, which no consumer gets."""
    client = settings.properties.under(CONTROL_PREFIX)
    if client.pop(_OFFSET_RESET, None) is not None:
        why = "the control topic is read from offsets that the plan recorded"
        settings.warnings.append(f"{CONTROL_PREFIX}{_OFFSET_RESET} has no effect: {why}")
    return _read_client(settings, CONTROL_PREFIX, client)


def read_consumer_overrides(settings: Settings) -> Properties:
    """Read ``consumer.override.*`` without the prefix, and without ``auto.offset.reset``, which no consumer gets."""
    client = settings.properties.under(CONSUMER_PREFIX)
    reset = client.pop(_OFFSET_RESET, "earliest")
    if reset.strip().lower() not in {"earliest", "latest"}:
        settings.problems.append(f"{CONSUMER_PREFIX}{_OFFSET_RESET} {reset[:100]!r}: set earliest or latest")
    for key in ("bootstrap.servers", "metadata.broker.list"):
        if key in client:
            settings.problems.append(
                f"{CONSUMER_PREFIX}{key} is not supported: brokers come from the Airflow connection floe.kafka.conn-id"
            )
    return _read_client(settings, CONSUMER_PREFIX, client)


def _read_client(settings: Settings, prefix: str, client: dict[str, str]) -> Properties:
    code = {key for key, value in client.items() if CLIENT.names(key, value)}
    found = translate({key: value for key, value in client.items() if key not in code}, may_refer=True)
    unused = {**found.without_effect, **{key: why for key, why in _NO_EFFECT.items() if key in client}}
    settings.warnings += [f"{prefix}{key} has no effect: {why}" for key, why in unused.items()]
    client = {key: value for key, value in client.items() if key not in unused}
    texts = {key: value for key, value in found.conf.items() if isinstance(value, str)}
    settings.problems += unusable_client_values(prefix, {**client, **texts})
    settings.problems += [f"{prefix}{key}: {why}" for key, why in found.problems.items()]
    known = [key for key in client if key not in code and key not in TRANSLATED]
    settings.problems += unknown_settings(
        prefix, known, CLIENT_NAMES, "librdkafka", beside=(*TRANSLATED, *WITHOUT_EFFECT)
    )
    settings.problems += [
        f"{prefix}{key} is refused: it loads code into the client, {_instead(key)}" for key in client if key in code
    ]
    settings.problems += _owned(prefix, client)
    if client.get("security.protocol", "").strip().upper() == "SASL_PLAINTEXT":
        settings.warnings.append(f"{prefix}security.protocol is SASL_PLAINTEXT: passwords travel unencrypted")
    if client.get(_VERIFIED_NAME, "https").strip().lower() != "https":
        settings.warnings.append(f"{prefix}{_VERIFIED_NAME}: brokers are not verified by name")
    return Properties(client)


def _instead(key: str) -> str:
    """Return what to do with a setting that loads code: Java's is of no use in the connection either."""
    if key in CODE_OF_LOGIN:
        return f"and it is Java's: {CODE_OF_LOGIN[key]}"
    if key in WITHOUT_EFFECT:
        return f"and it is Java's: {WITHOUT_EFFECT[key]}. Remove it"
    return f"which the operator alone names. {_IN_CONNECTION}"


def _owned(prefix: str, client: dict[str, str]) -> Iterator[str]:
    """Yield a problem for each setting that floe owns, unless it has the value that floe sets anyway."""
    for key in sorted(client.keys() & _OWNED.keys()):
        fixed, reason = _OWNED[key]
        if client[key].strip().lower() != fixed:
            yield f"{prefix}{key} is floe's own: {reason}. Remove it"
