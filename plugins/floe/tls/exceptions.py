"""Errors of stores."""


class StoreUnusable(ValueError):
    """A key or trust store cannot be used. The message names the option, the path and what to do, and no password."""
