"""Crash points: every durable step of plan, write and commit, by name, so that tests can kill a process beside it.

``FLOE_CRASH_AT=commit.table.landed`` kills the process (SIGKILL) when it gets there, ``…@2`` the second time that it
does, ``…:STOP`` stops it (SIGSTOP) instead. Without the variable nothing happens.
"""

import os
import signal
from collections import Counter
from enum import StrEnum

VARIABLE = "FLOE_CRASH_AT"


class CrashPoint(StrEnum):
    """Every point; each is reached from exactly one place in the code."""

    PLAN_FREEZE = "plan.freeze"
    PLAN_FROZEN = "plan.frozen"
    PLAN_OPEN = "plan.open"
    PLAN_OPENED = "plan.opened"
    WRITE_SCHEMA = "write.schema"
    WRITE_SCHEMA_CHANGED = "write.schema.changed"
    WRITE_FILES = "write.files"
    WRITE_FILES_CLOSED = "write.files.closed"
    WRITE_ANNOUNCE = "write.announce"
    WRITE_ANNOUNCED = "write.announced"
    TRANSACTION_SENT = "transaction.sent"
    TRANSACTION_COMMITTED = "transaction.committed"
    COMMIT_TABLE = "commit.table"
    COMMIT_TABLE_LANDED = "commit.table.landed"
    COMMIT_MARKS = "commit.marks"
    COMMIT_MARKS_LANDED = "commit.marks.landed"
    COMMIT_POSITIONS = "commit.positions"
    COMMIT_POSITIONS_MOVED = "commit.positions.moved"
    AMEND_TABLE = "amend.table"
    AMEND_TABLE_LANDED = "amend.table.landed"
    TAKEOVER_TABLE = "takeover.table"
    TAKEOVER_TABLE_LANDED = "takeover.table.landed"
    TAKEOVER_GROUP = "takeover.group"
    TAKEOVER_GROUP_DELETED = "takeover.group.deleted"


_reached: Counter[str] = Counter()


def reach(point: CrashPoint) -> None:
    """End or stop this process if the environment asks for it here."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    place, _, how = wanted.partition(":")
    name, _, times = place.partition("@")
    if name != point:
        return
    _reached[name] += 1
    if _reached[name] == int(times or 1):
        os.kill(os.getpid(), signal.SIGSTOP if how == "STOP" else signal.SIGKILL)
