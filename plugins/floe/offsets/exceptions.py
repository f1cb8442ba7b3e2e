"""Errors of ranges, plans, ledgers and books."""

from floe.exceptions import FloeError, Retryable, Terminal


class OffsetsError(FloeError):
    """Any error of ``floe.offsets``."""


class PlanRefused(OffsetsError, Terminal):
    """What the plan found cannot be read safely; the message says what to do about it."""


class PositionOwned(PlanRefused):
    """A position belongs to another connector: moving it would let that one pass over records."""


class BooksDoNotBalance(OffsetsError, Retryable):
    """A range or a table has records that are neither written nor accounted for."""


class LedgerUnreadable(OffsetsError, Terminal):
    """A table's ledger property is not one that this version of floe wrote."""


class ReplayForgotten(OffsetsError, Terminal):
    """A replay is too old for a table to tell whether it was appended."""


class SealBroken(OffsetsError, Terminal):
    """A stored plan is not the one that its run made, or the deployment's key cannot be used."""
