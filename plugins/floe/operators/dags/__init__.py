"""The DAGs of a connector."""
