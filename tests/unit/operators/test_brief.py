"""An error is shown in three short lines."""

import pytest

from floe.config.exceptions import OverrideRefused
from floe.operators.failures import MOST_LINES, WIDTH, short_lines


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Kafka at 127.0.0.1:1 did not answer: Connect to ipv4#127.0.0.1:1 failed: Connection refused (_TIMED_OUT). "
            "Check the broker and the address in the Airflow connection 'kafka_dead'. The listener there has to be for TLS.",
            (
                "Kafka at 127.0.0.1:1 did not answer",
                "Connect to ipv4#127.0.0.1:1 failed: Connection refused (_TIMED_OUT)",
                "Check the broker and the address in the Airflow connection 'kafka_dead'. The",
                "listener there has to be for TLS.",
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
            "table 'rpc.never' does not exist in catalog 'demo'. Nothing was committed. Create it, or set "
            "iceberg.tables.auto-create-enabled to true",
            (
                "table 'rpc.never' does not exist in catalog 'demo'",
                "Nothing was committed",
                "Create it, or set iceberg.tables.auto-create-enabled to true",
            ),
        ),
        (
            "2 of the 50 records just read cannot become rows of table 'rpc.badrec': topic 't-bad' partition 0 offset 21: "
            "not JSON; topic 't-bad' partition 0 offset 25: column 'id'. Nothing was announced and no offset was "
            "committed. Fix the table or the producer's next records, or let such records go to the dead letters.",
            (
                "2 of the 50 records just read cannot become rows of table 'rpc.badrec'",
                "topic 't-bad' partition 0 offset 21: not JSON; topic 't-bad' partition 0 offset",
                "25: column 'id'",
                "Fix the table or the producer's next records, or let such records go to the dead",
                "letters.",
            ),
        ),
        (
            "the position 50 of t-0 was not written by floe: another process commits offsets. Nothing was read. Stop it. "
            "Then trigger the DAG with `recover`, which restores the positions.",
            (
                "the position 50 of t-0 was not written by floe",
                "another process commits offsets",
                "Stop it. Then trigger the DAG with `recover`, which restores the positions.",
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
def test_error_is_told_as_what_value_and_next_step(message: str, expected: tuple[str, ...]) -> None:
    assert short_lines(message) == expected


def test_next_step_is_whole_and_the_rest_is_cut() -> None:
    step = 'Trigger the DAG with dropped_tables={"rpc.dropped": "refill"}, which reads its rows again, or "continue".'
    lines = short_lines(f"{'table ' * 60}: {'gone ' * 60}. {step}")
    assert lines[1].endswith("…") and lines[3].endswith("…")
    assert " ".join(lines[4:]) == step


@pytest.mark.parametrize("message", ["x" * 500, "word " * 200, "a: " * 100, "A. " * 100, "one\ntwo: three\n four"])
def test_brief_lines_are_short_and_single(message: str) -> None:
    lines = short_lines(message)
    assert len(lines) <= sum(MOST_LINES)
    assert all(len(line) <= WIDTH and "\n" not in line for line in lines)


def test_problems_of_a_file_are_a_line_each() -> None:
    state = (
        "No record was read and no offset was committed. Correct /dags/connectors/a.json: the next run continues there."
    )
    two = "The connector file 'a.json' is broken:\n\n* Must specify table name(s)\n* unknown key 'x'\n\n" + state
    assert short_lines(two) == (
        "The connector file 'a.json' is broken",
        "* Must specify table name(s)",
        "* unknown key 'x'",
        "Correct /dags/connectors/a.json: the next run continues there.",
    )
    many = short_lines("Broken:" + "".join(f"\n* problem {n}" for n in range(9)) + "\n\n" + state)
    assert many[1:7] == (*(f"* problem {n}" for n in range(5)), "… and 4 more, above")


def test_final_error_without_advice_asks_for_another_try() -> None:
    refused = OverrideRefused("unknown key 'task.max'", "unknown key 'x'").located("param config")
    assert short_lines(str(refused), is_final=True) == (
        "param config",
        "* unknown key 'task.max'",
        "* unknown key 'x'",
        "Correct what is named above. Then clear this task, or trigger the DAG again.",
    )
