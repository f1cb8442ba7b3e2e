"""Checks of the connector's group: may its offsets be read and committed, and does no other consumer use it?"""

from __future__ import annotations

from collections.abc import Iterator

from floe.doctor.case import Case
from floe.doctor.finding import About, Finding


def find_group(case: Case, about: About) -> Iterator[Finding]:
    """Describe the group, and read its committed offsets."""
    group = case.connector.group_id
    if not case.control.may_commit(group):
        yield about.problem(
            f"offsets of group {group!r} may not be committed", f"grant Read on group {group!r}: commits need it"
        )
    case.control.check_no_members(group)
    committed = case.control.positions(group)
    if not committed:
        yield about.ok(f"group {group!r} has no committed offsets: the connector has not run yet")
        return
    own = {tp for tp in committed if tp.topic in case.topics}
    yield about.ok(f"group {group!r} has committed offsets of {len(own)} partition{'' if len(own) == 1 else 's'}")
