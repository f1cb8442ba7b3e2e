"""Faults on the wire: what happens to the next commits, and to Kafka's answers."""

from __future__ import annotations

from collections.abc import Callable

from tests.faults.soak.stage import Stage
from tests.support.kafka.proxy import Api
from tests.support.tables import catalog_proxy as fault


def lose_kafka_answer(stage: Stage) -> None:
    """Lose the answer to a request that Kafka carries out."""
    apis = [Api.END_TXN, Api.FETCH, Api.PRODUCE, Api.TXN_OFFSET_COMMIT, Api.INIT_PRODUCER_ID]
    stage.kafka_proxy.lose_answer(stage.chance.choice(apis))


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
}
