"""What the Java classes make of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stack.services.broker import KAFKA
from tests.support.java.program import Ask
from tests.support.java.transforms.given import Given
from tests.support.java.transforms.setup import Setup

_KAFKA = (
    f"org.apache.kafka:connect-runtime:{KAFKA}",
    f"org.apache.kafka:connect-transforms:{KAFKA}",
    "org.slf4j:slf4j-nop:2.0.17",
)
PACKAGES: dict[str, tuple[str, ...]] = {
    "relational": (
        *_KAFKA,
        "org.apache.iceberg:iceberg-kafka-connect-transforms:1.12.0",
        "io.debezium:debezium-core:3.3.1.Final",
    ),
    "mongodb": (*_KAFKA, "io.debezium:debezium-connector-mongodb:3.0.8.Final"),
}
"""Jars by name: Debezium's connector for MongoDB is served in an older version than its core."""

PROGRAM = "TransformCheck"
_AT_ONCE = 500

Answer = dict[str, Any]
"""What became of one record, as ``TransformCheck.java`` says it, but for headers: [name, hex or None]."""


class Refused(Exception):
    """Java refuses the settings of a transform."""


def java_answers(ask: Ask, setup: Setup, records: Sequence[Given], *, fills_defaults: bool = False) -> list[Answer]:
    """Run records through the Java classes, which do not know of one another. Raises Refused.

    ``fills_defaults``: print fields of structs as ``Struct.get`` has them, with their defaults for null.
    """
    request = {**setup.request(), "fills_defaults": fills_defaults}
    found: list[Answer] = []
    for start in range(0, max(1, len(records)), _AT_ONCE):
        answer = ask({**request, "records": [one.request() for one in records[start : start + _AT_ONCE]]})
        if isinstance(answer, dict):
            raise Refused(answer["config_error"])
        found += answer
    return [_with_own_headers(answer, given) for answer, given in zip(found, records, strict=True)]


def _with_own_headers(answer: Answer, given: Given) -> Answer:
    """Give headers that no transform made their bytes again: Connect would write many of them in another way."""
    if "headers" not in answer:
        return answer
    own = given.request()["headers"]
    return {**answer, "headers": [own[at] if at is not None else [name, text] for name, text, at in answer["headers"]]}
