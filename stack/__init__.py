"""The local stack: a Kafka broker, Airflow and an SQLite catalog, started without Docker and without root."""
