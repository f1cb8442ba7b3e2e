"""Connectors that the REST API made: kept in Airflow's database, and held to the operator's lists."""
