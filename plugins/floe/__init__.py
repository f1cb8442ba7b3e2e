"""floe: Kafka topics into Apache Iceberg tables, exactly once, on Airflow and Spark."""

__version__ = "0.1.0"
