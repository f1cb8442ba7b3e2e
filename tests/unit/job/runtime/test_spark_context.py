"""What a submitted job leaves behind when it kills its JVM: every line that it logged."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing

from floe_job.runtime import spark_context
from floe_job.runtime.spark_context import _wait_until_passed_on


def test_the_last_lines_are_passed_on_before_the_jvm_is_killed() -> None:
    out, into = os.pipe()
    with closing(os.fdopen(out, "rb")) as reader, closing(os.fdopen(into, "wb", buffering=0)) as pipe:
        pipe.write(b"announced")
        taken: list[float] = []

        def take() -> None:
            time.sleep(0.1)
            taken.append(time.monotonic())
            reader.read(9)

        thread = threading.Thread(target=take)
        thread.start()
        _wait_until_passed_on(into)
        assert taken and time.monotonic() > taken[0]
        thread.join()


def test_a_jvm_that_takes_nothing_is_not_waited_for() -> None:
    out, into = os.pipe()
    with closing(os.fdopen(out, "rb")), closing(os.fdopen(into, "wb", buffering=0)) as pipe:
        pipe.write(b"announced")
        began = time.monotonic()
        _wait_until_passed_on(into)
        assert time.monotonic() - began < 10 * spark_context.PASSED_ON_WITHIN


def test_what_is_no_pipe_is_not_waited_for() -> None:
    with open(os.devnull) as nothing:  # noqa: PTH123
        _wait_until_passed_on(nothing.fileno())
