"""Resolving a frozen configuration: the settings of the plan, with the current secrets."""

from collections.abc import Mapping

from floe.config.connector import Connector
from floe.config.exceptions import ConfigRestoreError
from floe.config.parser import parse_connector
from floe.config.secrets.detection import reference


def restore_config(frozen: Mapping[str, str], current: Connector) -> Connector:
    """Build the connector from the output of ``Connector.frozen``; references are resolved by ``current``'s values.

    :raises ConfigRestoreError: another connector's configuration, or a secret that the file no longer has.
    """
    if frozen.get("name") != current.name:
        msg = f"the frozen configuration is of connector {frozen.get('name')!r}, not of {current.name!r}"
        raise ConfigRestoreError(msg)
    missing = [key for key, value in frozen.items() if value == reference(key) and key not in current.properties]
    if missing:
        raise ConfigRestoreError(
            *(
                f"{key} was a secret of the connector file when this run was planned, and the file of "
                f"{current.name!r} has it no longer: put it back, or start a new run"
                for key in missing
            )
        )
    resolved = {key: current.properties[key] if value == reference(key) else value for key, value in frozen.items()}
    return parse_connector(resolved, narrowed=True)
