"""An error is shown in three short lines."""

import pytest

from floe.operators.brief import WIDTH, Brief


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Kafka at 127.0.0.1:1 did not answer: Connect to ipv4#127.0.0.1:1 failed: Connection refused (_TIMED_OUT). "
            "Check the broker and the address in the Airflow connection 'kafka_dead'.",
            (
                "Kafka at 127.0.0.1:1 did not answer",
                "Connect to ipv4#127.0.0.1:1 failed: Connection refused (_TIMED_OUT)",
                "Check the broker and the address in the Airflow connection 'kafka_dead'.",
            ),
        ),
        (
            "could not open catalog 'dead': Connection refused. Check that catalog 'dead' is up at http://127.0.0.1:1. Its "
            "address comes from iceberg.catalog.* or PyIceberg's configuration.",
            (
                "could not open catalog 'dead'",
                "Connection refused",
                "Check that catalog 'dead' is up at http://127.0.0.1:1.",
            ),
        ),
        (
            "topic 't-none' does not exist on 127.0.0.1:29192: create it, or correct 'topics' in the connector",
            (
                "topic 't-none' does not exist on 127.0.0.1:29192",
                "'t-none'",
                "create it, or correct 'topics' in the connector",
            ),
        ),
        (
            "2 of the 50 records just read cannot become rows of table 'rpc.badrec': topic 't-bad' partition 0 offset 21: "
            "not JSON; topic 't-bad' partition 0 offset 25: column 'id'. Nothing was announced and no offset was "
            "committed. Fix the table or the producer's next records, or let such records go to the dead letters.",
            (
                "2 of the 50 records just read cannot become rows of table 'rpc.badrec'",
                "topic 't-bad' partition 0 offset 21: not JSON; topic 't-bad' partition 0…",
                "Fix the table or the producer's next records, or let such records go to the…",
            ),
        ),
        (
            "",
            (
                "",
                "The error above tells no more",
                "Clear this task to run it again; the error above has the whole text.",
            ),
        ),
    ],
)
def test_error_is_told_as_what_value_and_next_step(message: str, expected: tuple[str, str, str]) -> None:
    assert tuple(Brief.of(message)) == expected


@pytest.mark.parametrize("message", ["x" * 500, "word " * 200, "a: " * 100, "A. " * 100, "one\ntwo: three\n four"])
def test_brief_lines_are_short_and_single(message: str) -> None:
    for line in Brief.of(message):
        assert len(line) <= WIDTH and "\n" not in line
