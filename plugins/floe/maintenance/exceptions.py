"""Errors of maintenance."""

from floe.exceptions import FloeError, Retryable


class MaintenanceError(FloeError):
    """Any error of ``floe.maintenance``."""


class MaintenanceDeferred(MaintenanceError, Retryable):
    """Other programs kept committing to the table; what was due is still due."""

    code = "FLOE-608"
