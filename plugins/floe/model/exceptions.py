"""Errors of ranges, plans, ledgers and books."""

from collections.abc import Iterable

from floe.exceptions import FloeError, Retryable, Terminal


class OffsetsError(FloeError):
    """Any error of ``floe.model``."""


class PlanRefused(OffsetsError, Terminal):
    """What the plan found cannot be read safely; the message says what to do about it."""

    code = "FLOE-213"


class PositionOwned(PlanRefused):
    """A position belongs to another connector: moving it would let that one pass over records."""

    code = "FLOE-217"


class CountsDoNotAddUp(OffsetsError, Retryable):
    """A range or a table has records that are neither written nor accounted for."""

    code = "FLOE-516"


class LedgerUnreadable(OffsetsError, Terminal):
    """A table's ledger property is not one that this version of floe wrote."""

    code = "FLOE-410"


class ReplayForgotten(OffsetsError, Terminal):
    """A replay is too old for a table to tell whether it was appended."""

    code = "FLOE-308"


class WriteTimeout(OffsetsError, Terminal):
    """The write of a slice took longer than ``floe.write.timeout``. It is final for its run; the next one reads less.

    ``slices``: the ids of all slices of the run that took too long.
    """

    code = "FLOE-512"

    def __init__(self, message: str, slices: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.slices = tuple(slices)


class SealBroken(OffsetsError, Terminal):
    """A stored plan is not the one that its run made, or the deployment's key cannot be used."""

    code = "FLOE-109"


class Superseded(OffsetsError, Terminal):
    """The positions are neither at the plan's start nor at its end: another run went on."""

    code = "FLOE-222"
