"""In a real Airflow."""
