"""Whether Airflow's parts are alive, by its own answer."""

from __future__ import annotations

from typing import Any

import pytest

from floe.status.airflow_health import AirflowHealth

AT = "2026-05-01T12:00:00+00:00"


def answer(
    scheduler: str | None = "healthy", processor: str | None = "healthy", triggerer: str | None = "healthy"
) -> Any:
    parts = {"scheduler": scheduler, "dag_processor": processor, "triggerer": triggerer}
    return {
        "metadatabase": {"status": "healthy"},
        **{
            name: {"status": status, f"latest_{name}_heartbeat": AT if status else None}
            for name, status in parts.items()
        },
    }


@pytest.mark.parametrize(
    ("given", "named", "has_scheduler"),
    [
        (answer(), [], True),
        (answer(triggerer=None), [], True),
        (answer(triggerer="unhealthy"), ["triggerer"], True),
        (answer(scheduler="unhealthy"), ["scheduler"], False),
        (answer(processor=None), ["DAG processor"], True),
        (answer("unhealthy", "unhealthy", "unhealthy"), ["scheduler", "DAG processor", "triggerer"], False),
        ({**answer("unhealthy"), "metadatabase": {"status": "unhealthy"}}, ["database"], True),
    ],
)
def test_parts_that_are_not_alive_are_named(given: Any, named: list[str], has_scheduler: bool) -> None:
    health = AirflowHealth.of(given)
    assert [text.split(" ", 1)[1].split(" is not")[0].split(" does")[0] for text in health.texts] == named
    assert health.has_scheduler == has_scheduler
