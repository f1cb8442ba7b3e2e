"""Ranges, plans, positions, ledgers and books: pure values, no Airflow, Spark or Kafka."""
