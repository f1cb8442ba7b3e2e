"""What Airflow's API server serves of floe: the page, Connect's REST API, metrics. Neither Kafka nor a catalog is asked."""
