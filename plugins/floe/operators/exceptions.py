"""Errors of the operators."""

from floe.exceptions import FloeError, Retryable, Terminal


class OperatorError(FloeError):
    """Any error of ``floe.operators``."""


class ConnectionMissing(OperatorError, Terminal):
    """An Airflow connection that the connector names does not exist."""

    code = "FLOE-107"


class ConnectionUnknown(OperatorError, Retryable):
    """Airflow did not say whether there is a connection, which decides where the brokers are."""

    code = "FLOE-113"


class ConnectionUnsuitable(OperatorError, Terminal):
    """An Airflow connection is of a kind that floe cannot use."""

    code = "FLOE-108"


class ParamsRefused(OperatorError, Terminal):
    """A run has a param that its DAG does not know, or a value that the param does not take."""

    code = "FLOE-106"


class ConnectorBroken(OperatorError, Terminal):
    """The connector's file cannot be used as it is written; the message lists its problems."""

    code = "FLOE-103"


class PlanMissing(OperatorError, Terminal):
    """The plan task of this run left no plan."""

    code = "FLOE-110"


class JobFailed(OperatorError, Retryable):
    """The Spark job failed in a way that may pass."""

    code = "FLOE-513"


class JobRefused(OperatorError, Terminal):
    """The Spark job failed in a way that needs manual action."""

    code = "FLOE-514"


class TablesLate(OperatorError, Terminal):
    """Tables became late by floe.freshness.max-ms; the next run of ``floe.status`` does not fail of them again."""

    code = "FLOE-610"


class TaskFailed(OperatorError, Retryable):
    """A task failed by an error that is not floe's and that quotes a secret; its text is kept, the secret hidden."""

    code = "FLOE-111"
