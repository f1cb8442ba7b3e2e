"""The write modes by name: a new mode is one module and one line here."""

from floe.control.table_work import TableWork
from floe.model.slice_kind import WriteModeName
from floe.modes.append import Append
from floe.modes.append_again import AppendAgain
from floe.modes.base import WriteMode
from floe.modes.dead_letter_table import DeadLetterTable
from floe.modes.recover import Recover
from floe.modes.replace import Replace

MODES: dict[WriteModeName, WriteMode] = {
    WriteModeName.APPEND: Append(),
    WriteModeName.APPEND_AGAIN: AppendAgain(),
    WriteModeName.REPLACE: Replace(),
    WriteModeName.RECOVER: Recover(),
}


def mode_of(work: TableWork) -> WriteMode:
    """Return the mode that a table's part of a slice is committed in: the slice's own, or that of dead letters."""
    mode = MODES[work.slice.mode]
    return DeadLetterTable(mode) if work.is_of_dead_letters else mode
