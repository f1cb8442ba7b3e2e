"""Faults on the wire: what happens to the next commits, and to Kafka's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.faults.harness.avro import READ_TIMEOUT_S, stamps_of
from tests.faults.soak.stage import Stage
from tests.support.kafka.proxy import Api
from tests.support.registry import proxy as registry
from tests.support.tables import catalog_proxy as fault


def lose_kafka_answer(stage: Stage) -> None:
    """Lose the answer to a request that Kafka carries out."""
    apis = [Api.END_TXN, Api.FETCH, Api.PRODUCE, Api.TXN_OFFSET_COMMIT, Api.INIT_PRODUCER_ID]
    stage.kafka_proxy.lose_answer(stage.chance.choice(apis))


def register_schema(stage: Stage) -> None:
    """Have a new schema from here on: its records add a column to their table."""
    stamps_of(stage.sink).add(**{f"since_{stage.chance.randrange(20)}": stage.chance.choice(["long", "string"])})
    stage.sink.producer.produce(50, pad=60)


def to_registry(make: Callable[[Stage], Sequence[registry.Fault]]) -> Callable[[Stage], None]:
    """Let faults happen to the next requests to the schema registry."""

    def fault(stage: Stage) -> None:
        assert stage.registry_proxy is not None
        stage.registry_proxy.put(*make(stage))

    return fault


FAULTS: dict[str, Callable[[Stage], None]] = {
    "commit answer lost": lambda stage: stage.catalog_proxy.put(fault.answer_lost()),
    "commit answer rewritten to an error": lambda stage: stage.catalog_proxy.put(
        fault.answer_rewritten(stage.chance.choice([409, 500, 502, 503, 504]))
    ),
    "commit refused": lambda stage: stage.catalog_proxy.put(
        fault.refused(stage.chance.choice([500, 502, 503, 504])), fault.refused(503)
    ),
    "commit reset": lambda stage: stage.catalog_proxy.put(fault.reset()),
    "commit sent twice": lambda stage: stage.catalog_proxy.put(fault.sent_twice(), fault.sent_twice()),
    "Kafka's answer lost": lose_kafka_answer,
    "Kafka's connections reset": lambda stage: stage.kafka_proxy.reset(),
    "registry down": to_registry(lambda stage: [registry.dropped] * stage.chance.randrange(1, 8)),
    "registry slow": to_registry(lambda stage: [registry.slow(stage.chance.uniform(0.1, READ_TIMEOUT_S + 1))] * 2),
    "registry answers errors": to_registry(
        lambda stage: [registry.answered(stage.chance.choice([429, 500, 502, 503]))] * stage.chance.randrange(1, 8)
    ),
    "registry replaced by a page": to_registry(
        lambda stage: [registry.passed] * stage.chance.randrange(2) + [registry.page]
    ),
    "schema registered": register_schema,
}
