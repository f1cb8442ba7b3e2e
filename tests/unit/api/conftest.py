"""Airflow's API server is imported once, with the warnings of the libraries that it imports left out."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import airflow.api_fastapi.core_api.security  # noqa: F401
