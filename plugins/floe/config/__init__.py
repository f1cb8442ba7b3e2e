"""Connectors: JSON files of Kafka Connect keys, validated once and trusted inside.

Standard library only: this runs whenever Airflow parses the DAGs. A name is loaded when it is first used: Spark's workers get
what was read, and load nothing of what reads connectors.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from floe.config.connector import Connector
    from floe.config.connector_files import ConnectorFile, connectors_folder, load_connectors, read_connector
    from floe.config.exceptions import ConfigError, ConfigRestoreError, MalformedFile, OverrideRefused
    from floe.config.keys.key_class import KeyClass
    from floe.config.overrides.frozen_config import restore_config
    from floe.config.overrides.run_overrides import foreign_changes, override
    from floe.config.parser import parse_connector
    from floe.config.properties import Properties
    from floe.config.secrets.detection import is_secret
    from floe.config.sections.field_terms import PartitionTerm

__all__ = [
    "ConfigError",
    "ConfigRestoreError",
    "Connector",
    "ConnectorFile",
    "KeyClass",
    "MalformedFile",
    "OverrideRefused",
    "PartitionTerm",
    "Properties",
    "connectors_folder",
    "foreign_changes",
    "is_secret",
    "load_connectors",
    "override",
    "parse_connector",
    "read_connector",
    "restore_config",
]

_MODULES = {
    "connector": ("Connector",),
    "connector_files": ("ConnectorFile", "connectors_folder", "read_connector", "load_connectors"),
    "exceptions": ("ConfigError", "ConfigRestoreError", "MalformedFile", "OverrideRefused"),
    "keys.key_class": ("KeyClass",),
    "overrides.frozen_config": ("restore_config",),
    "overrides.run_overrides": ("foreign_changes", "override"),
    "parser": ("parse_connector",),
    "properties": ("Properties",),
    "secrets.detection": ("is_secret",),
    "sections.field_terms": ("PartitionTerm",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    return value
