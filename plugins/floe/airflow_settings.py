"""floe's settings in Airflow's own configuration: its section ``[floe]``, in ``airflow.cfg`` or as ``AIRFLOW__FLOE__…``."""

from __future__ import annotations

import os
from pathlib import Path

from floe.airflow_provider import OPTIONS


def connectors_of_airflow() -> Path:
    """Return the folder of connectors where floe's settings name none: ``connectors`` in Airflow's DAGs folder."""
    from airflow.configuration import conf

    return Path(conf.get("core", "dags_folder")) / "connectors"


def use_airflow_settings() -> None:
    """Set the variables ``FLOE_…`` of this process that are not set and that Airflow's configuration has."""
    from airflow.configuration import conf

    for name, option in OPTIONS.items():
        variable, default = f"FLOE_{name.upper()}", option["default"]
        if variable not in os.environ and (value := conf.get("floe", name, fallback=default)) != default:
            os.environ[variable] = value
