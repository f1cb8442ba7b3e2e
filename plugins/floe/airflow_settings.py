"""floe's settings in Airflow's own configuration: its section ``[floe]``, in ``airflow.cfg`` or as ``AIRFLOW__FLOE__…``."""

from __future__ import annotations

import os

from floe.airflow_provider import OPTIONS


def use_airflow_settings() -> None:
    """Set the variables ``FLOE_…`` of this process that are not set and that Airflow's configuration has."""
    from airflow.configuration import conf

    for name in OPTIONS:
        variable = f"FLOE_{name.upper()}"
        if variable not in os.environ and (value := conf.get("floe", name, fallback="")):
            os.environ[variable] = value
