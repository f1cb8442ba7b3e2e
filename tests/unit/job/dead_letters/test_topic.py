"""Dead letters to a topic, without a broker: context headers, and what a producer refuses by itself."""

from collections.abc import Iterator

import pytest

from floe.exceptions import Retryable, Terminal
from floe_job.contract.dead_letter import DeadLetter
from floe_job.dead_letters.topic import DeadLetterTopic, connect_headers
from floe_job.exceptions import STAGES, DeadLetterRefused, DeadLetterUndelivered, InvalidRecord, SliceRefused

SECRET = "canary-7f3a"
NOWHERE = {
    "bootstrap.servers": "127.0.0.1:1",
    "log_level": 0,
    "sasl.password": SECRET,
    "message.timeout.ms": 200,
}


def dead_letter(stage: str = "value_converter", value: bytes = b"{", reason: str = "not JSON: ü") -> DeadLetter:
    return DeadLetter(
        "pizzas", "T1", 2, 7, 1_700_000_000_123, b"k", value, (), "rpc.pizzas", stage, "Malformed", reason
    )


def test_context_headers_are_those_of_kafka_connect() -> None:
    assert connect_headers(dead_letter(), "pizzas-sink", 3) == [
        ("__connect.errors.topic", b"pizzas"),
        ("__connect.errors.partition", b"2"),
        ("__connect.errors.offset", b"7"),
        ("__connect.errors.connector.name", b"pizzas-sink"),
        ("__connect.errors.task.id", b"3"),
        ("__connect.errors.stage", b"VALUE_CONVERTER"),
        ("__connect.errors.class.name", b"floe.value_converter"),
        ("__connect.errors.exception.class.name", b"Malformed"),
        ("__connect.errors.exception.message", "not JSON: ü".encode()),
        ("__connect.errors.exception.stacktrace", "Malformed: not JSON: ü".encode()),
    ]


@pytest.mark.parametrize(
    ("stage", "spelled"),
    [
        ("key_converter", b"KEY_CONVERTER"),
        ("value_converter", b"VALUE_CONVERTER"),
        ("header_converter", b"HEADER_CONVERTER"),
        ("transform", b"TRANSFORMATION"),
        ("route", b"TASK_PUT"),
        ("table", b"TASK_PUT"),
        ("coerce", b"TASK_PUT"),
        ("schema", b"TASK_PUT"),
    ],
)
def test_stages_are_spelled_as_connect_does(stage: str, spelled: bytes) -> None:
    assert stage in STAGES
    assert ("__connect.errors.stage", spelled) in connect_headers(dead_letter(stage), "pizzas-sink", 0)


def test_errors_of_records_name_a_known_stage() -> None:
    assert {error.stage for error in errors_below(InvalidRecord)} <= STAGES


def errors_below(error: type[InvalidRecord]) -> Iterator[type[InvalidRecord]]:
    yield error
    for one in error.__subclasses__():
        yield from errors_below(one)


def test_a_reason_in_the_headers_is_bounded() -> None:
    assert all(len(value or b"") < 1000 for _, value in connect_headers(dead_letter(reason="ü" * 9999), "c", 0))


def test_unreachable_topic_is_retryable_and_shows_no_secret() -> None:
    topic = DeadLetterTopic.open(NOWHERE, "letters", context_headers=True, connector="pizzas-sink")
    with pytest.raises(
        DeadLetterUndelivered, match=r"'pizzas' partition 2 offset 7.*topic 'letters'.*[Rr]un again"
    ) as caught:
        topic.send([dead_letter()])
        topic.flush()
    assert isinstance(caught.value, Retryable)
    assert SECRET not in str(caught.value)


def test_dead_letter_above_client_limit_is_refused_with_advice() -> None:
    topic = DeadLetterTopic.open(
        {**NOWHERE, "message.max.bytes": 1000}, "letters", context_headers=False, connector="c"
    )
    with pytest.raises(DeadLetterRefused, match=r"'letters'.*MSG_SIZE_TOO_LARGE.*max\.message\.bytes") as caught:
        topic.send([dead_letter(value=b"x" * 2000)])
    assert isinstance(caught.value, Terminal)


def test_dead_letter_above_queue_size_is_refused_at_once() -> None:
    topic = DeadLetterTopic.open(
        {**NOWHERE, "queue.buffering.max.kbytes": 1}, "letters", context_headers=False, connector="c"
    )
    with pytest.raises(DeadLetterRefused, match=r"max\.message\.bytes"):
        topic.send([dead_letter(value=b"x" * 5000)])


def test_settings_that_no_client_takes_are_refused() -> None:
    with pytest.raises(SliceRefused, match=r"dead-letter topic 'letters'.*no\.such\.key"):
        DeadLetterTopic.open({"no.such.key": "1"}, "letters", context_headers=False, connector="c")


def test_full_queue_is_waited_for_and_the_reason_reported() -> None:
    topic = DeadLetterTopic.open(
        {**NOWHERE, "queue.buffering.max.messages": 2}, "letters", context_headers=False, connector="c"
    )
    with pytest.raises(DeadLetterUndelivered, match="_MSG_TIMED_OUT"):
        topic.send([dead_letter()] * 5)
