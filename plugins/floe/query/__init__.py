"""Read the tables of a connector's catalog by Spark: ``python -m floe query``, and ``make query`` of the repository."""
