"""Bad records in the log: one line each, bounded, and not written by whoever wrote the record."""

import logging

import pytest

from floe_job.contract.dead_letter import DeadLetter
from floe_job.dead_letters.collector import DeadLetterLog


def dead_letter(offset: int = 7, value: bytes | None = b"{", reason: str = "not JSON") -> DeadLetter:
    return DeadLetter("pizzas", "T1", 2, offset, None, None, value, (), None, "value_converter", "Malformed", reason)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return [record.getMessage() for record in caplog.records]


def test_a_line_names_place_stage_and_reason_and_not_the_value(caplog: pytest.LogCaptureFixture) -> None:
    DeadLetterLog(messages=False).note([dead_letter(value=b"secret")])
    assert lines(caplog) == ["bad record: topic 'pizzas' partition 2 offset 7, stage value_converter: not JSON"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"{", "'{'"),
        (None, "null"),
        ("ü".encode(), "'ü'"),
        (b"\xff", r"'\\xff'"),
        (b"a\nWARNING forged", r"'a\nWARNING forged'"),
    ],
)
def test_with_messages_it_shows_the_value_on_one_line(
    caplog: pytest.LogCaptureFixture, value: bytes | None, shown: str
) -> None:
    DeadLetterLog(messages=True).note([dead_letter(value=value)])
    assert lines(caplog)[0].endswith(f"; value {shown}")


def test_values_are_clipped(caplog: pytest.LogCaptureFixture) -> None:
    DeadLetterLog(messages=True).note([dead_letter(value=b"x" * 1_000_000)])
    [line] = lines(caplog)
    assert line.endswith("x…")
    assert len(line.partition("; value ")[2]) == 200


def test_a_reason_cannot_begin_a_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    DeadLetterLog(messages=False).note([dead_letter(reason="bad\nINFO all is well")])
    assert "\n" not in lines(caplog)[0]


def test_beyond_the_most_lines_records_are_only_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = DeadLetterLog(messages=False, most=3)
    for offset in range(10):
        log.note([dead_letter(offset)])
    log.close()
    assert len(lines(caplog)) == 4
    assert lines(caplog)[-1] == "7 more bad records are not logged one by one"


def test_without_a_rest_nothing_is_said_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    log = DeadLetterLog(messages=False, most=3)
    log.note([dead_letter(offset) for offset in range(3)])
    log.close()
    assert len(lines(caplog)) == 3
