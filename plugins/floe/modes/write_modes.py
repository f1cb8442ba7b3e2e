"""The write modes: how a table gets the rows of each kind of slice."""

from __future__ import annotations

from floe.model.plan import SliceKind
from floe.model.slice_scope import SliceScope
from floe.modes.append import Append, AppendAgain
from floe.modes.dead_letters import DeadLetterMode, Recover
from floe.modes.replace import Replace
from floe.modes.write_mode import WriteMode

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
    return DeadLetterMode(mode) if scope.is_dead_letter_table(table) else mode
