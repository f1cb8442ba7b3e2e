"""Too many bad records fail a run."""

import pytest

from floe.exceptions import Terminal
from floe_job.contract.dead_letter import DeadLetter
from floe_job.dead_letters.limits import check_ratio
from floe_job.exceptions import TooManyDeadLetters


def dead_letters(count: int) -> list[DeadLetter]:
    return [
        DeadLetter("pizzas", "T1", 2, n, None, None, b"{", (), None, "value_converter", "Malformed", "not JSON")
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("dead", "records", "limit"),
    [(0, 0, 0.0), (0, 10, 0.0), (10, 10, 1.0), (1, 20, 0.05), (29, 100, 0.29), (7, 100, 0.07), (3, 0, 1.0)],
)
def test_a_share_up_to_the_limit_passes(dead: int, records: int, limit: float) -> None:
    check_ratio(dead, records, limit)


@pytest.mark.parametrize(("dead", "records", "limit"), [(1, 10, 0.0), (2, 20, 0.05), (30, 100, 0.29), (1, 0, 0.5)])
def test_a_share_above_it_fails(dead: int, records: int, limit: float) -> None:
    with pytest.raises(TooManyDeadLetters):
        check_ratio(dead, records, limit)


def test_message_has_counts_ratio_limit_first_letters_and_advice() -> None:
    with pytest.raises(TooManyDeadLetters) as caught:
        check_ratio(8, 40, 0.05, dead_letters(8))
    message = str(caught.value)
    assert "8 of 40 records are bad: a share of 0.2, floe.deadletter.max-ratio is 0.05" in message
    assert "(the first 5 are named): topic 'pizzas' partition 2 offset 0: not JSON; " in message
    assert "offset 4" in message
    assert "offset 5" not in message
    assert "raise floe.deadletter.max-ratio" in message
    assert isinstance(caught.value, Terminal)


def test_it_reads_well_without_names() -> None:
    with pytest.raises(TooManyDeadLetters, match=r"max-ratio is 0\. Nothing was announced"):
        check_ratio(1, 3, 0.0)
