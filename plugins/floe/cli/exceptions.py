"""What ends a command before it has anything to report."""


class UsageError(ValueError):
    """An argument names nothing; the message says what there is."""


class NotLookedUp(LookupError):
    """An Airflow connection or variable could not be looked up from here; the message says why."""


class NotUsable(NotLookedUp):
    """An Airflow connection or variable does not exist, or is none: a run would not find it either."""
