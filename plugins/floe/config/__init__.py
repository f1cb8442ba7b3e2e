"""Connectors: JSON files of Kafka Connect keys, validated once and trusted inside.

Standard library only: this runs whenever Airflow parses the DAGs.
"""

from floe.config.connector import Connector
from floe.config.connector_files import ConnectorFile, connectors_folder, load_connector, load_connectors
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
    "load_connector",
    "load_connectors",
    "override",
    "parse_connector",
    "restore_config",
]
