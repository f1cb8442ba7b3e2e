"""floe's plugin as Airflow has it: its timetable is known where DAGs are stored."""

import pytest
from airflow._shared.module_loading import qualname

from floe.operators.dags.staggered_interval import StaggeredInterval


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the timetable, as the plugin does."""
    found = {qualname(StaggeredInterval): StaggeredInterval}
    monkeypatch.setattr("airflow.plugins_manager.get_timetables_plugins", lambda: found)
