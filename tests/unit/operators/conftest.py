"""What tasks log, and floe's plugin as Airflow has it: its timetable is known where DAGs are stored."""

import io
import logging
from collections.abc import Iterator

import pytest
from airflow._shared.module_loading import qualname

from floe.operators.dags.schedule import StaggeredInterval


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """The lines of a handler of the root logger, as Airflow's is one."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the timetable, as the plugin does."""
    found = {qualname(StaggeredInterval): StaggeredInterval}
    monkeypatch.setattr("airflow.plugins_manager.get_timetables_plugins", lambda: found)
