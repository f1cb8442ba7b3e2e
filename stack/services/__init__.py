"""The services that are started: Kafka, Kafka Connect, Airflow, Spark Connect, the REST catalog, the schema registry."""
