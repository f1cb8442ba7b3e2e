"""floe: Kafka topics into Apache Iceberg tables, exactly once, on Airflow and Spark."""

from floe.installation import check_installation

__version__ = "0.1.0"

check_installation(__version__)
