"""The demo's records: random pizzas, the same ones each time."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from stack.exceptions import StackError

TOPIC = "completed-pizzas"
CONTROL_TOPIC = "control-iceberg"
PARTITIONS = 3

_SAUCES = ("none", "light", "normal", "extra", "bbq", "alfredo")
_CHEESES = ("none", "mozzarella", "three cheese", "goat cheese", "extra")
_MEATS = ("none", "ham", "pepperoni", "sausage", "bacon", "salami", "ham & bacon", "pepperoni & sausage")
_VEGGIES = ("none", "onions", "peppers", "olives", "mushrooms", "onions & pineapple", "tomato & spinach")
_FIRST = datetime(2024, 1, 4, 12, 28, 13)  # noqa: DTZ001 - the seed's dates carry no zone


def orders(first: int, count: int) -> Iterator[dict[str, object]]:
    """Yield orders `first` … `first + count - 1`; each depends on its number only."""
    for number in range(first, first + count):
        dice = random.Random(number)  # noqa: S311 - pizzas, not secrets
        yield {
            "order_id": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
            "store_id": dice.randint(1, 120),
            "sauce": dice.choice(_SAUCES),
            "cheese": dice.choice(_CHEESES),
            "meats": dice.choice(_MEATS),
            "veggies": dice.choice(_VEGGIES),
            "date_ordered": str(_FIRST + timedelta(seconds=13 * number)),
        }


def json_records(first: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield orders with their ids as keys, in JSON."""
    for order in orders(first, count):
        yield str(order["order_id"]), json.dumps(order).encode()


def create_topics(bootstrap: str, topic: str, partitions: int = PARTITIONS) -> None:
    """Create a topic of orders and the control topic; those that are there stay as they are."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    topics = [NewTopic(topic, num_partitions=partitions), NewTopic(CONTROL_TOPIC, num_partitions=1)]
    # Kept in a variable: a client that is garbage-collected cancels its unanswered requests.
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    for name, future in admin.create_topics(topics).items():
        try:
            future.result(timeout=30)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                message = f"topic {name!r} could not be created: {error}"
                raise StackError(message) from error


def produce(bootstrap: str, topic: str, records: Iterable[tuple[str, bytes]]) -> None:
    """Send keys and values to a topic, and wait until the broker has them all."""
    from confluent_kafka import KafkaError, Message, Producer

    failed: list[KafkaError] = []
    count = 0

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    # Log level 3: a young broker still loads its coordinators, and librdkafka warns before it tries again.
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 3})
    for key, value in records:
        producer.produce(topic, value, key=key, on_delivery=delivered)
        producer.poll(0)
        count += 1
    waiting = producer.flush(30)
    if waiting or failed:
        message = f"{waiting + len(failed)} of {count} orders did not reach {topic!r} at {bootstrap}: {failed[:1]}"
        raise StackError(message)
