"""No Airflow DAG, but an import error that lists the broken connector files.

Airflow removes the DAGs of a file with an import error. The error is raised in a file of its own, so that no DAG is lost.
"""

from pathlib import Path

from floe import check_connectors

check_connectors(Path(__file__).parent / "connectors")
