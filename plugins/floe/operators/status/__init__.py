"""What Airflow keeps of the connectors' status, and the metrics that runs send."""
