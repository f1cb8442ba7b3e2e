from floe.config.connector import Connector as Connector
from floe.config.connector_files import read_connector as read_connector
from floe.config.exceptions import ConfigError as ConfigError
from floe.operators.dags.connector_dags import check_connectors as check_connectors
from floe.operators.dags.connector_dags import connector_dags as connector_dags
from floe.operators.replay import replay as replay

__version__: str
__all__ = ["ConfigError", "Connector", "check_connectors", "connector_dags", "read_connector", "replay"]
