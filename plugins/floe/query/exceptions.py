"""Errors of queries.

QueryError
├── QueryRefused   nothing was run: Spark cannot reach the catalog, a jar is missing, or a statement would change something
└── QueryFailed    Spark did not start, or a statement is wrong or names what is not there
"""


class QueryError(Exception):
    """Any failure of a query; the message names the cause and the next step. No table was changed."""


class QueryRefused(QueryError):
    """Nothing was run."""


class QueryFailed(QueryError):
    """Spark did not start, or a statement is wrong or names what is not there."""
