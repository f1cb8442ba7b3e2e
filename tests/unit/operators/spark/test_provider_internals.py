"""How a driver ended, by the exit code of spark-submit."""

import pytest

from floe.operators.spark.provider_internals import end_of


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (None, "exited"),
        (0, "exited with code 0"),
        (1, "exited with code 1"),
        (143, "was ended by SIGTERM"),
        (-15, "was ended by SIGTERM"),
        (-9, "was ended by SIGKILL, by which the kernel ends a process when memory is short,"),
        (137, "was ended by SIGKILL, by which the kernel ends a process when memory is short,"),
        (139, "was ended by SIGSEGV"),
        (255, "exited with code 255"),
    ],
)
def test_end_of_a_driver_names_the_signal(code: int | None, text: str) -> None:
    assert end_of(code) == text
