"""What ends a command before it has anything to report."""


class UsageError(ValueError):
    """An argument names nothing; the message says what there is."""


class NotLookedUp(LookupError):
    """An Airflow connection or variable could not be looked up, or does not exist; the message says why."""
