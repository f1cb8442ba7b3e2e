"""Ranges, plans, positions, ledgers and record counts: pure values, no Airflow, Spark or Kafka."""
