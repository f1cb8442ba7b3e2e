"""Which masters are this machine alone."""

from types import SimpleNamespace
from typing import Any

import pytest

from floe.operators.write import _is_local


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("local", None, True),
        ("local[*]", None, True),
        ("local[2,4]", None, True),
        ("spark://localhost", 7077, False),
        ("spark://spark.localdomain:7077", None, False),
        ("localhost", 7077, False),
        ("k8s://https://kube.local", 6443, False),
        (None, None, False),
    ],
)
def test_only_the_master_local_is_local(host: str | None, port: int | None, expected: bool) -> None:
    connection: Any = SimpleNamespace(host=host, port=port)
    assert _is_local(connection) is expected
