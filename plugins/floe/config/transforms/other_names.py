"""Classes of transforms, and keys of theirs, that older releases and other tools have, with what means the same here."""

from collections.abc import Mapping
from typing import Final

_FILTER: Final = (
    "Confluent's goes by a condition on fields, which floe has not; Kafka's Filter drops every record that its predicate "
    "takes. Filter upstream, or write it in Python"
)

CLASSES: Final[Mapping[str, str]] = {
    "io.debezium.transforms.UnwrapFromEnvelope": "set io.debezium.transforms.ExtractNewRecordState, its name since 0.10",
    "io.debezium.connector.mongodb.transforms.UnwrapFromMongoDbEnvelope": (
        "set io.debezium.connector.mongodb.transforms.ExtractNewDocumentState, its name since 0.10"
    ),
    "org.apache.kafka.connect.transforms.ExtractTopic": (
        "set io.confluent.connect.transforms.ExtractTopic$Value, …$Key or …$Header"
    ),
    **dict.fromkeys((f"io.confluent.connect.transforms.Filter{side}" for side in ("", "$Value", "$Key")), _FILTER),
}
"""By the whole name."""

_KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "ReplaceField": {"blacklist": "exclude", "whitelist": "include"},
    "InsertField": {name: f"{name}.field" for name in ("topic", "partition", "offset", "timestamp")},
    "TimestampConverter": {"target.format": "format", "timestamp.format": "format", "fields": "field"},
    "Cast": {"casts": "spec", "types": "spec", "fields": "spec"},
    "ExtractNewRecordState": {"add.source.fields": "add.fields", "operation.header": "add.headers"},
    "ExtractNewDocumentState": {"add.source.fields": "add.fields", "operation.header": "add.headers"},
    "KafkaMetadataTransform": {"prefix": "field_name"},
}


def key_meant(simple_name: str, key: str) -> str | None:
    """Return the key of a class that means what another ``key`` does; None if that is not known."""
    return _KEYS.get(simple_name.partition("$")[0], {}).get(key)
