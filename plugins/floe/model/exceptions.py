"""Errors of ranges, plans, ledgers and record counts."""

from collections.abc import Iterable

from floe.exceptions import FloeError, Retryable, Terminal


class OffsetsError(FloeError):
    """Any error of ``floe.model``."""


class PlanRefused(OffsetsError, Terminal):
    """The plan cannot read safely from the state it found. The message says what to do."""

    code = "FLOE-213"


class PositionOwned(PlanRefused):
    """A position belongs to another connector: moving it would make that connector skip records."""

    code = "FLOE-217"


class CountsDoNotAddUp(OffsetsError, Retryable):
    """A range or a table has records that are neither written nor counted."""

    code = "FLOE-516"


class LedgerUnreadable(OffsetsError, Terminal):
    """A table's ledger property was not written by this version of floe."""

    code = "FLOE-410"


class ReplayForgotten(OffsetsError, Terminal):
    """A replay is too old: the table's ledger no longer records whether it was appended."""

    code = "FLOE-308"


class WriteTimeout(OffsetsError, Terminal):
    """The write of a slice took longer than ``floe.write.timeout``. It is final for its run; the next run reads less.

    ``slices``: the ids of all slices of the run that took too long.
    """

    code = "FLOE-512"

    def __init__(self, message: str, slices: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.slices = tuple(slices)


class CodeChanged(OffsetsError, Terminal):
    """The code of a transform in Python is not the one that the plan was made with."""

    code = "FLOE-522"


class SealBroken(OffsetsError, Terminal):
    """A stored plan was not made by its run, or the deployment's key cannot be used."""

    code = "FLOE-109"


class Superseded(OffsetsError, Terminal):
    """The positions are neither at the plan's start nor at its end: another run moved them."""

    code = "FLOE-222"
