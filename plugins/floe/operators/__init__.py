"""Airflow operators and DAGs: thin shells around ``floe.commit`` and the Spark job.

Imported when Airflow parses the DAGs: nothing heavy at module level.
"""
