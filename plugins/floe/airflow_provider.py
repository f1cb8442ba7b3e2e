"""What the distribution tells Airflow of itself, by the entry point ``apache_airflow_provider``: nothing else is imported."""

from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

import floe

DISTRIBUTION = "airflow-provider-floe"
CODE = "FLOE-101"

_LINKS = "floe.operators.dags.links"


def _option(description: str, *, kind: str = "string", default: str = "", is_secret: bool = False) -> dict[str, Any]:
    return {
        "description": description,
        "version_added": floe.__version__,
        "type": kind,
        "example": None,
        "default": default,
        **({"sensitive": True} if is_secret else {}),
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "connectors_dir": _option("Folder of connector files; empty: ``connectors`` in the DAGs folder."),
    "worker_config": _option("Properties file of a Kafka Connect worker, whose keys are defaults of all connectors."),
    "secret_key": _option("The deployment key, which seals plans: 32 random characters or more.", is_secret=True),
    "cache_dir": _option("Folder of what is kept warm; empty: ``floe`` in ``~/.cache``."),
    "config_providers": _option("Config providers that connectors may use, with commas between."),
    "overridable_keys": _option("Keys that a run may set beside those that it may anyway, with commas between."),
    "transform_modules": _option("Modules that transforms in Python may be of, with commas between."),
    "callback_modules": _option("Modules that callbacks may be of, with commas between."),
    "extensions": _option("Distributions that add converters, transforms, catalogs or jobs, with commas between."),
    "rest_connectors": _option("Whether connectors may be made by REST.", kind="boolean", default="False"),
    "rest_connections": _option("Connections and identities that connectors made by REST may use."),
    "rest_hosts": _option("Hosts that connectors made by REST may name."),
    "docs_url": _option("Where links to the documentation lead."),
    "preload": _option("Whether the scheduler imports what tasks need, once for all.", kind="boolean", default="True"),
}
"""Options of Airflow's section ``[floe]``; each is also the environment variable ``FLOE_<NAME>``, which goes first."""


def check_import_name() -> None:
    """Raise ImportError where another distribution's package ``floe`` lies over this one's, or this one's over it."""
    try:
        installed = version(DISTRIBUTION)
    except PackageNotFoundError:
        return  # a checkout on the path
    found = getattr(floe, "__version__", None)
    if found == installed:
        return
    others = [name for name in packages_distributions().get("floe", ()) if name != DISTRIBUTION]
    msg = (
        f"{floe.__file__} is of version {found}, and {DISTRIBUTION} {installed} is installed; others that install a package "
        f"floe: {', '.join(others) or 'none'}. Nothing was loaded. Uninstall {' and '.join([*others, DISTRIBUTION])}, then "
        f"install {DISTRIBUTION} alone. See {CODE}."
    )
    raise ImportError(msg)


def get_provider_info() -> dict[str, Any]:
    """Return what Airflow's ``provider_info.schema.json`` has a place for."""
    return {
        "package-name": DISTRIBUTION,
        "name": "floe",
        "description": "Kafka topics into Apache Iceberg tables, exactly once, on Airflow and Spark.",
        "versions": [floe.__version__],
        "integrations": [{"integration-name": "floe", "tags": ["service"]}],
        "operators": [
            {
                "integration-name": "floe",
                "python-modules": ["floe.operators.plan", "floe.operators.write", "floe.operators.commit"],
            }
        ],
        "asset-uris": [
            {
                "schemes": ["iceberg"],
                "handler": "floe.operators.dags.asset_uris.sanitize_uri",
                "factory": "floe.operators.dags.asset_uris.create_asset",
                "to_openlineage_converter": "floe.operators.dags.asset_uris.convert_asset_to_openlineage",
            }
        ],
        "extra-links": [f"{_LINKS}.ConnectorLink", f"{_LINKS}.ReplayLink"],
        "cli": ["floe.cli.airflow_command.commands"],
        "config": {"floe": {"description": "Settings of floe, for all connectors.", "options": OPTIONS}},
    }
