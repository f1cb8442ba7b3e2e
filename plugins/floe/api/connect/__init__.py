"""The REST API of Kafka Connect, over the connectors that Airflow runs."""
