"""The write modes: how a table gets the rows of each kind of slice."""

from floe.model.slice_kind import SliceKind
from floe.model.slice_scope import SliceScope
from floe.modes.append import Append
from floe.modes.append_again import AppendAgain
from floe.modes.base import WriteMode
from floe.modes.dead_letter_table import DeadLetterTable
from floe.modes.recover import Recover
from floe.modes.replace import Replace

MODES: dict[SliceKind, WriteMode] = {
    SliceKind.LIVE: Append(),
    SliceKind.CATCH_UP: Append(),
    SliceKind.SKIP: Append(),
    SliceKind.APPEND: AppendAgain(),
    SliceKind.REPLACE: Replace(),
    SliceKind.REDRIVE: Recover(),
}


def mode_of(scope: SliceScope, table: str) -> WriteMode:
    """Return how a table gets its rows of a slice; the dead-letter table gets dead letters, however others get their rows."""
    mode = MODES[scope.kind]
    return DeadLetterTable(mode) if scope.is_dead_letter_table(table) else mode
