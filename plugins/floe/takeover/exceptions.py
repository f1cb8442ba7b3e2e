"""Errors of taking over from a Kafka Connect sink, and of going back to it."""

from floe.exceptions import FloeError, Retryable, Terminal


class TakeoverError(FloeError):
    """Any error of ``floe.takeover``."""


class TakeoverRefused(TakeoverError, Terminal):
    """What the sink left behind cannot be taken over as it is; nothing was changed."""

    code = "FLOE-701"


class TakeoverBlocked(TakeoverError, Retryable):
    """An open transaction hides what the sink left behind; its end is all that is needed."""

    code = "FLOE-702"


class HandBackRefused(TakeoverError, Terminal):
    """The connector is not in a state that the sink could go on from; nothing was changed."""

    code = "FLOE-708"
