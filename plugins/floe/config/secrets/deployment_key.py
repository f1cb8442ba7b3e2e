"""The source of a deployment's key, and the message if there is none."""

from collections.abc import Mapping

VARIABLE = "FLOE_SECRET_KEY"
"""The environment variable of Airflow's workers that contains the key; several, the newest first, separated by commas."""

CONN_ID = "floe_default"
"""The Airflow connection whose password is the key if the variable is not set."""

FERNET_VARIABLE = "AIRFLOW__CORE__FERNET_KEY"
"""Airflow's own key, from which one is derived if neither is set."""

IN_ENVIRONMENT = (VARIABLE, f"AIRFLOW_CONN_{CONN_ID.upper()}", FERNET_VARIABLE)
"""Variables that contain a key, or what a key is derived from. No Spark job gets them."""

_AIRFLOWS = ("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_", "_AIRFLOW_WWW_")
"""How variables with Airflow's settings, connections and variables begin: their secrets are for its own processes."""

NO_KEY = (
    f"there is no deployment key: plans are not sealed and announcements are not signed, so whoever may edit XCom or write "
    f"to the control topic decides what is committed. Set {VARIABLE} to the same 32 or more random characters for all of "
    "Airflow's workers (docs/how-to/deploy.md, “The deployment key”)"
)


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for Spark's processes: without floe's keys, and without what is Airflow's own."""
    return {
        name: value
        for name, value in environ.items()
        if name not in IN_ENVIRONMENT and not name.upper().startswith(_AIRFLOWS)
    }
