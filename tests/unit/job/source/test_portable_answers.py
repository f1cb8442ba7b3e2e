"""Answers of a client that reads one batch at a time: each call returns what one answer contains, and not the next."""

from __future__ import annotations

from collections.abc import Sequence

import confluent_kafka as ck
import pytest

from floe_job.source.portable import PortableConsumer, PortableMessages
from floe_job.source.reports import Reports


def record(number: int) -> ck.Message:
    return ck.Message(topic="t", partition=0, offset=number, key=None, value=b"v", timestamp=(1, 5))


class Client:
    """Has the next answer by the time that the former was taken, as a client does whose reader is slow."""

    def __init__(self, answers: Sequence[int]) -> None:
        numbers = iter(range(sum(answers)))
        self._answers = [[record(next(numbers)) for _ in range(size)] for size in answers]

    def consume(self, most: int, _: float) -> list[ck.Message]:
        if not self._answers:
            return []
        taken, self._answers[0] = self._answers[0][:most], self._answers[0][most:]
        if not self._answers[0]:
            del self._answers[0]
        return taken


@pytest.mark.parametrize(
    ("answers", "sizes"), [((5, 4, 3), [5, 4, 3]), ((25, 2), [25, 2]), ((12, 11), [12, 11]), ((2, 2), [2, 2])]
)
def test_each_call_returns_one_answer(answers: Sequence[int], sizes: list[int]) -> None:
    consumer = PortableConsumer(Client(answers), Reports(6), 10, 1000)  # type: ignore[arg-type]
    assert [len(consumer.consume_answer(1.0)[0]) for _ in answers] == sizes


@pytest.mark.parametrize(
    ("time", "expected"), [((1, 5), 5), ((1, -1), None), ((2, -1), None), ((0, 0), None), ((1, 0), 0)]
)
def test_time_of_minus_one_is_none(time: tuple[int, int], expected: int | None) -> None:
    one = ck.Message(topic="t", partition=0, offset=0, key=None, value=b"v", timestamp=time)
    assert PortableMessages([one], [[]]).timestamps() == [expected]
