"""Backlogs after a commit: the tables that are behind, named in one error with the way out."""

import json
from collections.abc import Iterable, Mapping, Sequence

from floe.model.positions import Position
from floe.tables.exceptions import TablesOwe

MAX_NAMED = 5
"""Ranges of one table that an error names."""


def refuse_backlogs(recorded: Iterable[Position], unrecorded: Iterable[Position], refusals: Mapping[str, str]) -> None:
    """Raise TablesOwe when a table is behind.

    ``recorded``: the group's positions. ``unrecorded``: what the positions of partitions would say that the group has no
    longer: no later run knows of it, so this error is all that tells. ``refusals``: why, by table, where it is known.
    """
    told = []
    if backlog := _backlog(recorded):
        told.append(
            f"{_behind(backlog, refusals)}. All other tables went on. Mend the table: the next runs read what it owes, for "
            f"it alone, before it takes anything newer. Or skip these rows: trigger the DAG with "
            f"drop_backlog={json.dumps(sorted(backlog))}."
        )
    if backlog := _backlog(unrecorded):
        told.append(
            f"{_behind(backlog, refusals)}. No position tells so, as the group has none of these partitions any more: the "
            "topic was deleted, or the group's offsets were. All other tables went on. Before the next run, make the table "
            "take commits again and clear the commit task of this run: that commits what was announced for it. If the "
            "topic is still there, a run with `recover` reads it again as well."
        )
    if told:
        raise TablesOwe(" ".join(told))


def _backlog(positions: Iterable[Position]) -> dict[str, list[str]]:
    """Return by table the ranges that it is behind on."""
    ranges: dict[str, list[str]] = {}
    for position in positions:
        for table, debt in position.debts.items():
            ranges.setdefault(table, []).append(f"{position.tp}[{debt.start}, {position.offset})")
    return ranges


def _behind(backlog: Mapping[str, Sequence[str]], refusals: Mapping[str, str]) -> str:
    return "; ".join(
        f"table {table!r} owes {len(ranges)} partition(s): {', '.join(ranges[:MAX_NAMED])}"
        + (f", because {refusals[table].rstrip('.')}" if table in refusals else "")
        for table, ranges in sorted(backlog.items())
    )
